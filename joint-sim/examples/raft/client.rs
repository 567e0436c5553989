//! A client: calls operations one after the other, and repeats each until it is done (section 8).

use std::time::Duration;

use joint_executor::time::{now, sleep, timeout_at};

use crate::{
    chance::Chance,
    link::{Link, Sent},
    observer::Observer,
    protocol::message::{Id, Message, Operation, Request},
    setup::Setup,
};

/// How long a client waits for an answer before it asks another server.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(300));
const PAUSE: (Duration, Duration) = (Duration::ZERO, Duration::from_millis(100));
const OPERATIONS: u64 = 24;
const KEYS: u64 = 2;

#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) id: Id,
    pub(crate) setup: Setup,
    pub(crate) chance: Chance,
    pub(crate) sent: Sent,
    pub(crate) observer: Observer,
}

impl Client {
    pub(crate) async fn run(self) {
        let link = Link::bind(self.id, self.setup.machines(), self.sent.clone()).await;
        let link = link.expect("the port is free");
        let servers: Vec<_> = self.setup.servers().collect();
        let mut server = servers[0];
        let mut found = 0;
        for serial in 1..=OPERATIONS {
            let mut chance = self.chance.of(serial);
            sleep(chance.between(PAUSE.0, PAUSE.1)).await;
            let request = Request {
                client: self.id,
                serial,
                key: chance.below(KEYS),
                operation: self.operation(&mut chance, serial, found),
            };
            let call = (self.observer).called(self.id, request.key, request.operation);
            found = self
                .ask(&link, &servers, &mut server, &mut chance, request)
                .await;
            self.observer.returned(self.id, call, found);
        }
    }

    /// Each value is written once at most, so that a read tells which write it has seen.
    fn operation(&self, chance: &mut Chance, serial: u64, found: u64) -> Operation {
        let value = self.id.number() * 100 + serial;
        match chance.below(8) {
            // The first client only reads, and the last one mostly writes.
            case if case >= 3 * (self.id.number() - 1) => Operation::Read,
            0 | 1 | 3 | 5 => Operation::Write(value),
            _ => Operation::Swap(found, value),
        }
    }

    /// Asks one server after the other until the operation is done. Returns what it has found.
    async fn ask(
        &self,
        link: &Link,
        servers: &[Id],
        server: &mut Id,
        chance: &mut Chance,
        request: Request,
    ) -> u64 {
        loop {
            let sent = link.send(*server, Message::Request(request)).await;
            sent.expect("a datagram is sent or lost");
            let deadline = now() + chance.between(PATIENCE.0, PATIENCE.1);
            loop {
                let received = timeout_at(deadline, link.receive()).await;
                match received.map(|received| received.expect("the socket is open")) {
                    Ok((_, Message::Done { serial, found })) if serial == request.serial => {
                        return found;
                    }
                    Ok((from, Message::Elsewhere { serial, leader }))
                        if serial == request.serial && from == *server =>
                    {
                        match leader {
                            Some(leader) => *server = leader,
                            // There is an election. Its end is worth waiting for.
                            None => continue,
                        }
                    }
                    // An answer to an earlier request.
                    Ok(_) => continue,
                    Err(_) => *server = chance.one_of(servers),
                }
                break;
            }
        }
    }
}
