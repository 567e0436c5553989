//! Sockets for datagrams, as [`io`](joint_executor::io) uses them.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind},
    net::{IpAddr, SocketAddr},
    rc::Rc,
    task::{Context, Poll},
};

use super::{
    Bound, Network, Protocol, accepts, error, link::Way, pending_if_none, take_error, with_run,
};
use crate::{
    machine::{Waiting, ip},
    traffic::{End, Event},
    world::World,
};
use joint_executor::{
    hosted::Socket,
    io::{Interest, Ready},
};

const LONGEST: usize = 65_507;

/// The size of a socket's receive buffer, in bytes.
const ROOM: usize = 208 << 10;

pub(super) struct Datagrams {
    pub(super) host: usize,
    local: SocketAddr,
    peer: Option<SocketAddr>,
    queue: VecDeque<(Rc<[u8]>, SocketAddr)>,
    queued: usize,
    error: Option<ErrorKind>,
    pub(super) waiting: Waiting,
}

pub(super) struct UdpSocket(Bound);

impl UdpSocket {
    pub(super) fn bind(
        world: &World,
        network: &mut Network,
        address: SocketAddr,
    ) -> io::Result<Self> {
        let (host, own) = network.bind(world, Protocol::Udp, address)?;
        let socket = Datagrams {
            host,
            local: own.local,
            peer: None,
            queue: VecDeque::new(),
            queued: 0,
            error: None,
            waiting: Waiting::default(),
        };
        network.datagrams.insert(own.id, socket);
        Ok(Self(own))
    }

    fn with<R>(
        &self,
        f: impl FnOnce(&World, &mut Network, &mut Datagrams) -> io::Result<R>,
    ) -> io::Result<R> {
        self.0.with(|network| &mut network.datagrams, f)
    }
}

impl Socket for UdpSocket {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.local)
    }

    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.with(|_, _, socket| socket.peer())
    }

    fn connect(&self, address: SocketAddr) -> io::Result<()> {
        self.with(|_, network, socket| {
            let to = network.at(address.ip(), socket.host)?;
            let peer = match address.ip() {
                ip if ip.is_unspecified() => ip_of(to, socket.local),
                ip => ip,
            };
            socket.peer = Some(SocketAddr::new(peer, address.port()));
            Ok(())
        })
    }

    fn poll_ready(&self, interest: Interest, cx: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        let ready = self.with(|_, _, socket| {
            let mut ready = Ready::EMPTY;
            if interest.is_writable() {
                ready = ready | Ready::WRITABLE;
            }
            if interest.is_readable() && (socket.error.is_some() || !socket.queue.is_empty()) {
                ready = ready | Ready::READABLE;
            }
            if ready.is_empty() {
                socket.waiting.add(cx);
            }
            Ok(ready)
        });
        pending_if_none(ready?)
    }

    fn send(&self, message: &[u8], to: Option<SocketAddr>) -> io::Result<usize> {
        self.with(|world, network, socket| {
            take_error(&mut socket.error)?;
            let to = to.map_or_else(|| socket.peer(), Ok)?;
            network.send(world, self.0.id, socket, message, to)
        })
    }

    fn receive(&self, buffer: &mut [u8], peeks: bool) -> io::Result<(usize, SocketAddr)> {
        self.with(|_, _, socket| {
            take_error(&mut socket.error)?;
            let next = socket.queue.front();
            let (message, sender) = next.ok_or(ErrorKind::WouldBlock)?;
            let length = message.len().min(buffer.len());
            buffer[..length].copy_from_slice(&message[..length]);
            let sender = *sender;
            if !peeks {
                let taken = socket.queue.pop_front();
                socket.queued -= taken.map_or(0, |(message, _)| message.len());
            }
            Ok((length, sender))
        })
    }
}

/// Returns the address of a host as its own sockets see it.
fn ip_of(host: usize, local: SocketAddr) -> IpAddr {
    match local.ip() {
        own if own.is_unspecified() => ip(host).into(),
        own => own,
    }
}

impl Drop for UdpSocket {
    fn drop(&mut self) {
        let _ = with_run(self.0.run, |_, network| {
            if let Some(mut socket) = network.datagrams.remove(&self.0.id) {
                let port = (socket.host, Protocol::Udp, self.0.local.port());
                network.free_port(port, self.0.id);
                socket.waiting.wake(&mut network.machines.wakers);
            }
            Ok(())
        });
    }
}

impl Datagrams {
    pub(super) fn port(&self) -> u16 {
        self.local.port()
    }

    fn peer(&self) -> io::Result<SocketAddr> {
        let none = || error(ErrorKind::NotConnected, "the socket is not connected");
        self.peer.ok_or_else(none)
    }

    fn receives(&self, from: SocketAddr, to: SocketAddr) -> bool {
        accepts(self.local, to.ip()) && self.peer.is_none_or(|peer| peer == from)
    }
}

#[derive(Clone)]
struct Flying {
    message: Rc<[u8]>,
    from: SocketAddr,
    to: SocketAddr,
    way: Way,
    /// The sending socket, if it learns that no socket receives the message.
    sender: Option<u64>,
}

impl Network {
    fn send(
        &mut self,
        world: &World,
        id: u64,
        socket: &Datagrams,
        message: &[u8],
        to: SocketAddr,
    ) -> io::Result<usize> {
        if message.len() > LONGEST {
            return Err(error(ErrorKind::InvalidInput, "the message is too long"));
        }
        let host = self.at(to.ip(), socket.host)?;
        let way = (socket.host, host);
        let own = match to.ip() {
            to if to.is_loopback() && socket.local.ip().is_unspecified() => to,
            _ => ip_of(socket.host, socket.local),
        };
        let flying = Flying {
            message: Rc::from(message),
            from: SocketAddr::new(own, socket.local.port()),
            to,
            way,
            sender: socket.peer.map(|_| id),
        };
        let between = flying.between();
        self.note_sent(world, between, message);
        let arrivals = self.links.datagram_arrivals(world, way);
        let is_cut = self.links.is_cut(way);
        if is_cut || arrivals[0].after.is_none() {
            if !is_cut {
                self.tell_fault(world, between, arrivals[0]);
            }
            self.note(world, Event::Lost, between, message);
        } else {
            for arrival in arrivals {
                self.tell_fault(world, between, arrival);
                if let Some(delay) = arrival.after {
                    flying.clone().arrive_after(world, delay);
                }
            }
        }
        Ok(message.len())
    }

    fn receive(&mut self, world: &World, flying: Flying) {
        if let Some(until) = self.links.clogged_until(world, flying.way) {
            let delay = until - world.now() + self.links.latency(world, flying.way);
            return flying.arrive_after(world, delay);
        }
        let (between, message, way) = (flying.between(), flying.message, flying.way);
        if !self.is_open(way) {
            return self.note(world, Event::Lost, between, &message);
        }
        let id = self.ports.get(&(way.1, Protocol::Udp, flying.to.port()));
        let receiver = id.and_then(|id| self.datagrams.get_mut(id));
        match receiver.filter(|receiver| receiver.receives(flying.from, flying.to)) {
            Some(receiver) if receiver.queued + message.len() <= ROOM => {
                receiver.queued += message.len();
                receiver.queue.push_back((message.clone(), flying.from));
                receiver.waiting.wake(&mut self.machines.wakers);
                self.note(world, Event::Delivered, between, &message);
            }
            Some(_) => self.note(world, Event::Lost, between, &message),
            None => {
                self.note(world, Event::Lost, between, &message);
                if let Some(sender) = flying.sender {
                    self.refuse(world, way, sender);
                }
            }
        }
    }

    /// Tells a connected sender that nobody receives its message.
    fn refuse(&self, world: &World, way: Way, sender: u64) {
        let back = (way.1, way.0);
        let Some(delay) = self.links.datagram_arrivals(world, back)[0].after else {
            return;
        };
        world.network_at(world.now().saturating_add(delay), move |_, network| {
            if !network.is_open(back) {
                return;
            }
            if let Some(socket) = network.datagrams.get_mut(&sender) {
                socket.error = Some(ErrorKind::ConnectionRefused);
                socket.waiting.wake(&mut network.machines.wakers);
            }
        });
    }
}

impl Flying {
    fn between(&self) -> [End; 2] {
        [(self.way.0, self.from.port()), (self.way.1, self.to.port())]
    }

    fn arrive_after(self, world: &World, delay: u64) {
        let at = world.now().saturating_add(delay);
        world.network_at(at, |world, network| network.receive(world, self));
    }
}
