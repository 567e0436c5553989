//! A server: carries messages, time and the disk to its [`Node`] and back.

use std::time::Duration;

use joint_executor::time::{now, timeout_at};

use crate::{
    chance::Chance,
    disk::Disk,
    link::{Link, Sent},
    observer::Observer,
    protocol::{Node, Timer, bug::Bug, message::Id},
    setup::{ELECTION, Setup},
};

const HEARTBEAT: Duration = Duration::from_millis(50);

#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) id: Id,
    pub(crate) setup: Setup,
    pub(crate) chance: Chance,
    pub(crate) disk: Disk,
    pub(crate) sent: Sent,
    pub(crate) bug: Option<Bug>,
    pub(crate) observer: Observer,
}

impl Server {
    /// Runs until the machine crashes.
    pub(crate) async fn run(self) {
        let link = Link::bind(self.id, self.setup.machines(), self.sent).await;
        let link = link.expect("the port is free after a crash");
        let disk = self.disk.read();
        let servers: Vec<_> = self.setup.servers().collect();
        let mut node = Node::new(self.id, &servers, disk, self.setup.most_entries, self.bug);
        let mut chance = self.chance.clone();
        let mut deadline = now();
        loop {
            let output = node.take_output();
            self.observer.saw(self.id, &node, output.write);
            // "Updated on stable storage before responding" (figure 2).
            if output.write {
                self.disk.write(node.to_write(), &mut chance).await;
            }
            for (to, message) in output.messages {
                let sent = link.send(to, message).await;
                sent.expect("a datagram is sent or lost");
            }
            match output.timer {
                // Random, so that few servers start an election together (section 5.2). It is the
                // same for the whole term, so a lost heartbeat does not change later elections.
                Some(Timer::Election) => {
                    let mut of_term = self.chance.of(node.persistent.current_term);
                    deadline = now() + of_term.between(ELECTION, self.setup.election);
                }
                Some(Timer::Heartbeat) => deadline = now() + HEARTBEAT,
                None => {}
            }
            match timeout_at(deadline, link.receive()).await {
                Ok(received) => {
                    let (from, message) = received.expect("the socket is open");
                    node.receive(from, message);
                }
                Err(_) => node.timer_expired(),
            }
        }
    }
}
