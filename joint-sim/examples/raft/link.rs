//! A machine's socket, which carries messages.

use std::{collections::BTreeMap, io, net::SocketAddr};

use joint_executor::io::UdpSocket;
use joint_sim::net::lookup;

use crate::protocol::{
    message::{Id, Message},
    wire,
};

const PORT: u16 = 7000;

/// More than the longest message.
const BUFFER: usize = 4096;

#[derive(Debug)]
pub(crate) struct Link {
    socket: UdpSocket,
    machines: BTreeMap<SocketAddr, Id>,
    addresses: BTreeMap<Id, SocketAddr>,
}

impl Link {
    /// Binds the socket of this machine.
    ///
    /// # Errors
    /// If there is no such machine, or its port is in use.
    pub(crate) async fn bind(id: Id, machines: impl Iterator<Item = Id>) -> io::Result<Self> {
        let addresses = machines.filter_map(|id| {
            let ip = lookup(&id.to_string())?;
            Some((id, SocketAddr::new(ip, PORT)))
        });
        let addresses: BTreeMap<_, _> = addresses.collect();
        Ok(Self {
            socket: UdpSocket::bind((id.to_string(), PORT)).await?,
            machines: addresses.iter().map(|(&id, &to)| (to, id)).collect(),
            addresses,
        })
    }

    /// Sends a message, which may be lost.
    ///
    /// # Errors
    /// As the socket's.
    pub(crate) async fn send(&self, to: Id, message: &Message) -> io::Result<()> {
        let datagram = wire::encode(message);
        self.socket.send_to(&datagram, self.addresses[&to]).await?;
        Ok(())
    }

    /// Receives the next message, and skips what is not one.
    ///
    /// # Errors
    /// As the socket's.
    pub(crate) async fn receive(&self) -> io::Result<(Id, Message)> {
        let mut buffer = [0; BUFFER];
        loop {
            let (length, from) = self.socket.recv_from(&mut buffer).await?;
            let from = self.machines.get(&from);
            if let (Some(&from), Some(message)) = (from, wire::decode(&buffer[..length])) {
                return Ok((from, message));
            }
        }
    }
}
