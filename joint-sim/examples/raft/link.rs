//! A machine's socket, which carries messages.

use std::{cell::RefCell, collections::BTreeMap, io, net::SocketAddr, rc::Rc};

use joint_executor::io::UdpSocket;
use joint_sim::net::lookup;

use crate::protocol::message::{Id, Message};

const PORT: u16 = 7000;

/// All messages that were sent in a run. All machines are in one process, so a datagram has only
/// the number of its message. It may be lost, doubled or overtaken as any other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent(Rc<RefCell<Vec<Message>>>);

#[derive(Debug)]
pub(crate) struct Link {
    socket: UdpSocket,
    machines: BTreeMap<SocketAddr, Id>,
    addresses: BTreeMap<Id, SocketAddr>,
    sent: Sent,
}

impl Link {
    /// Binds the socket of this machine.
    ///
    /// # Errors
    /// If there is no such machine, or its port is in use.
    pub(crate) async fn bind(
        id: Id,
        machines: impl Iterator<Item = Id>,
        sent: Sent,
    ) -> io::Result<Self> {
        let addresses = machines.filter_map(|id| {
            let ip = lookup(&id.to_string())?;
            Some((id, SocketAddr::new(ip, PORT)))
        });
        let addresses: BTreeMap<_, _> = addresses.collect();
        Ok(Self {
            socket: UdpSocket::bind((id.to_string(), PORT)).await?,
            machines: addresses.iter().map(|(&id, &to)| (to, id)).collect(),
            addresses,
            sent,
        })
    }

    /// Sends a message, which may be lost.
    ///
    /// # Errors
    /// As the socket's.
    pub(crate) async fn send(&self, to: Id, message: Message) -> io::Result<()> {
        let number = {
            let mut sent = self.sent.0.borrow_mut();
            sent.push(message);
            sent.len() - 1
        };
        let datagram = number.to_le_bytes();
        self.socket.send_to(&datagram, self.addresses[&to]).await?;
        Ok(())
    }

    /// Receives the next message.
    ///
    /// # Errors
    /// As the socket's.
    pub(crate) async fn receive(&self) -> io::Result<(Id, Message)> {
        let mut number = [0; size_of::<usize>()];
        let (_, from) = self.socket.recv_from(&mut number).await?;
        let message = self.sent.0.borrow()[usize::from_le_bytes(number)].clone();
        Ok((self.machines[&from], message))
    }
}
