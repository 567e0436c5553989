//! [`UdpSocket`].

use alloc::{collections::VecDeque, rc::Rc, sync::Arc};
use core::{
    fmt,
    future::{poll_fn, ready},
    net::SocketAddr,
    task::{Context, Poll},
};
use std::io::{self, ErrorKind};

use super::{
    address::first,
    link::Way,
    network::{
        Network, Protocol, Waiting, accepts, error, gone, poll_by_budget, with_any, with_run,
    },
};
use crate::{machine::ip, traffic::Event, world::World};
use joint_executor::io::ToSocketAddrs;

/// The longest message.
const LONGEST: usize = 65_507;

/// The size of a socket's receive buffer, in bytes.
const ROOM: usize = 208 << 10;

/// The state of a socket for datagrams.
pub(super) struct Datagrams {
    pub(super) host: usize,
    local: SocketAddr,
    peer: Option<SocketAddr>,
    queue: VecDeque<(Rc<[u8]>, SocketAddr)>,
    queued: usize,
    error: Option<ErrorKind>,
    pub(super) waiting: Waiting,
}

/// Sends and receives UDP messages in a simulation, as [`joint_executor::io::UdpSocket`] does
/// outside.
///
/// [`joint_executor::io::UdpSocket`]: joint_executor::io::UdpSocket
///
/// # Example
/// ```
/// use joint_sim::{self as sim, Host, net::UdpSocket};
///
/// sim::check(|| async {
///     let socket = UdpSocket::bind("0.0.0.0:7").await.unwrap();
///     Host::new("client").run(|| async {
///         let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
///         socket.send_to(b"ping", "main:7").await.unwrap();
///         assert_eq!(socket.recv(&mut [0; 16]).await.unwrap(), 4);
///     });
///     let mut buffer = [0; 16];
///     let (length, sender) = socket.recv_from(&mut buffer).await.unwrap();
///     socket.send_to(&buffer[..length], sender).await.unwrap();
///     Host::find("client").unwrap().ended().await;
/// });
/// ```
pub struct UdpSocket {
    id: u64,
    local: SocketAddr,
    run: Arc<()>,
}

impl UdpSocket {
    /// Binds a socket of the current host to the first address for which that succeeds. For port 0
    /// a port is chosen.
    ///
    /// # Errors
    /// Returns the error for the last address: [`AddrInUse`](io::ErrorKind::AddrInUse) or
    /// [`AddrNotAvailable`](io::ErrorKind::AddrNotAvailable). If a name is given that no host has:
    /// [`NotFound`](io::ErrorKind::NotFound). Outside of a simulation:
    /// [`Unsupported`](io::ErrorKind::Unsupported).
    ///
    /// # Example
    /// ```
    /// use joint_sim::{self as sim, Host, net::UdpSocket};
    ///
    /// sim::run(1, async {
    ///     let socket = UdpSocket::bind("main:0").await.unwrap();
    ///     assert_eq!(socket.local_addr().unwrap().to_string(), "10.0.0.1:49152");
    /// });
    /// ```
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        first(address, |address| ready(Self::bind_to(address))).await
    }

    fn bind_to(address: SocketAddr) -> io::Result<Self> {
        with_any(|world, network| {
            let id = network.new_id();
            let (host, local) = network.bind(world, Protocol::Udp, address, id)?;
            let socket = Datagrams {
                host,
                local,
                peer: None,
                queue: VecDeque::new(),
                queued: 0,
                error: None,
                waiting: Waiting::default(),
            };
            network.datagrams.insert(id, socket);
            let run = network.machines.run.clone();
            Ok(Self { id, local, run })
        })
    }

    fn with<R>(
        &self,
        f: impl FnOnce(&World, &mut Network, &mut Datagrams) -> io::Result<R>,
    ) -> io::Result<R> {
        with_run(&self.run, |world, network| {
            // It is taken out meanwhile, because it may send to itself.
            let mut socket = network.datagrams.remove(&self.id).ok_or_else(gone)?;
            let result = f(world, network, &mut socket);
            network.datagrams.insert(self.id, socket);
            result
        })
    }

    /// Returns the address that the socket is bound to.
    ///
    /// # Errors
    /// None. It is fallible as that of [`joint_executor::io`].
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.local)
    }

    /// Returns the address that the socket is connected to.
    ///
    /// # Errors
    /// [`NotConnected`](io::ErrorKind::NotConnected) if the socket is not connected.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.with(|_, _, socket| socket.peer())
    }

    /// Connects to the first address for which that succeeds. [`send`](Self::send) then sends to
    /// that address, and messages from other addresses are not received.
    ///
    /// # Errors
    /// Returns the error for the last address. A missing peer is reported only after a message has
    /// been sent.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{self as sim, Host, net::UdpSocket};
    /// use std::io::ErrorKind;
    ///
    /// sim::run(1, async {
    ///     Host::new("a");
    ///     let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
    ///     socket.connect("a:7").await.unwrap();
    ///     // Nobody receives there, and the machine says so.
    ///     socket.send(b"ping").await.unwrap();
    ///     let error = socket.recv(&mut [0; 8]).await.unwrap_err();
    ///     assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    /// });
    /// ```
    pub async fn connect(&self, address: impl ToSocketAddrs) -> io::Result<()> {
        first(address, |address| {
            ready(self.with(|_, network, socket| {
                let to = network.at(address.ip(), socket.host)?;
                let peer = match address.ip() {
                    ip if ip.is_unspecified() => ip_of(to, socket.local),
                    ip => ip,
                };
                socket.peer = Some(SocketAddr::new(peer, address.port()));
                Ok(())
            }))
        })
        .await
    }

    /// Sends a message to the address that the socket is connected to. The message is sent as a
    /// whole. Returns its length in bytes.
    ///
    /// # Errors
    /// [`NotConnected`](io::ErrorKind::NotConnected) if the socket is not connected,
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if the message is longer than 65,507 bytes,
    /// and
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if nobody received an earlier
    /// message and the machine has said so.
    pub async fn send(&self, message: &[u8]) -> io::Result<usize> {
        let send = || {
            self.with(|world, network, socket| {
                socket.take_error()?;
                let to = socket.peer()?;
                network.send(world, self.id, socket, message, to).map(Some)
            })
        };
        poll_fn(|cx| poll_by_budget(cx, |_| send())).await
    }

    /// Sends a message to the first of the given addresses for which that succeeds. The message is
    /// sent as a whole. Returns its length in bytes.
    ///
    /// # Errors
    /// Returns the error for the last address: those of [`send`](Self::send), or
    /// [`NetworkUnreachable`](io::ErrorKind::NetworkUnreachable) if no host has the address.
    pub async fn send_to(&self, message: &[u8], to: impl ToSocketAddrs) -> io::Result<usize> {
        first(to, |to| {
            let send = move || {
                self.with(|world, network, socket| {
                    socket.take_error()?;
                    network.send(world, self.id, socket, message, to).map(Some)
                })
            };
            poll_fn(move |cx| poll_by_budget(cx, |_| send()))
        })
        .await
    }

    /// Receives the next message, and returns how many of its bytes are in the buffer. The bytes
    /// that do not fit are lost.
    ///
    /// If the future is dropped before it is ready, no message is lost.
    ///
    /// # Errors
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) as for [`send`](Self::send).
    ///
    /// # Example
    /// ```
    /// use joint_sim::{self as sim, net::UdpSocket};
    ///
    /// sim::run(1, async {
    ///     let socket = UdpSocket::bind("127.0.0.1:7").await.unwrap();
    ///     socket.send_to(b"too long", "127.0.0.1:7").await.unwrap();
    ///     socket.send_to(b"next", "127.0.0.1:7").await.unwrap();
    ///     let mut buffer = [0; 3];
    ///     for start in [b"too", b"nex"] {
    ///         socket.recv(&mut buffer).await.unwrap();
    ///         assert_eq!(&buffer, start);
    ///     }
    /// });
    /// ```
    pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.recv_from(buffer).await.map(|(length, _)| length)
    }

    /// Receives the next message as [`recv`](Self::recv) does, and also returns the address of its
    /// sender.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        poll_fn(|cx| self.poll_receive(cx, buffer, true)).await
    }

    /// Receives a message as [`recv`](Self::recv) does, but leaves it in the queue: the next call
    /// gets the same message again, as a whole.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    ///
    /// # Example
    /// ```
    /// use joint_sim::{self as sim, net::UdpSocket};
    ///
    /// sim::run(1, async {
    ///     let socket = UdpSocket::bind("127.0.0.1:7").await.unwrap();
    ///     socket.send_to(b"hello", "127.0.0.1:7").await.unwrap();
    ///     assert_eq!(socket.peek(&mut [0; 2]).await.unwrap(), 2);
    ///     assert_eq!(socket.recv(&mut [0; 8]).await.unwrap(), 5);
    /// });
    /// ```
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.peek_from(buffer).await.map(|(length, _)| length)
    }

    /// Receives a message as [`recv_from`](Self::recv_from) does, but leaves it in the queue: the
    /// next call gets the same message again.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub async fn peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        poll_fn(|cx| self.poll_receive(cx, buffer, false)).await
    }

    fn poll_receive(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
        takes: bool,
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        poll_by_budget(cx, |cx| {
            self.with(|_, _, socket| {
                socket.take_error()?;
                let Some((message, sender)) = socket.queue.front() else {
                    socket.waiting.add(cx);
                    return Ok(None);
                };
                let length = message.len().min(buffer.len());
                buffer[..length].copy_from_slice(&message[..length]);
                let sender = *sender;
                if takes {
                    let taken = socket.queue.pop_front();
                    socket.queued -= taken.map_or(0, |(message, _)| message.len());
                }
                Ok(Some((length, sender)))
            })
        })
    }
}

/// Returns the address of a host as its own sockets see it.
fn ip_of(host: usize, local: SocketAddr) -> core::net::IpAddr {
    match local.ip() {
        own if own.is_unspecified() => ip(host).into(),
        own => own,
    }
}

impl Drop for UdpSocket {
    fn drop(&mut self) {
        let _ = with_run(&self.run, |_, network| {
            if let Some(mut socket) = network.datagrams.remove(&self.id) {
                let port = (socket.host, Protocol::Udp, self.local.port());
                network.free_port(port, self.id);
                socket.waiting.wake(&mut network.machines.wakers);
            }
            Ok(())
        });
    }
}

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UdpSocket")
            .field("addr", &self.local)
            .finish()
    }
}

impl Datagrams {
    fn peer(&self) -> io::Result<SocketAddr> {
        let none = || error(ErrorKind::NotConnected, "the socket is not connected");
        self.peer.ok_or_else(none)
    }

    fn take_error(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), |kind| Err(kind.into()))
    }

    fn receives(&self, from: SocketAddr, to: SocketAddr) -> bool {
        accepts(self.local, to.ip()) && self.peer.is_none_or(|peer| peer == from)
    }
}

/// A message on its way.
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
        self.note(world, Event::Sent, way, message.len());
        let [first, double] = self.links.datagram_delays(world, way);
        if first.is_none() || self.links.is_cut(way) {
            self.note(world, Event::Lost, way, message.len());
        } else {
            for delay in first.into_iter().chain(double) {
                flying.clone().arrive_after(world, delay);
            }
        }
        Ok(message.len())
    }

    fn receive(&mut self, world: &World, flying: Flying) {
        if let Some(until) = self.links.clogged_until(world, flying.way) {
            let delay = until - world.now() + self.links.latency(world, flying.way);
            return flying.arrive_after(world, delay);
        }
        let Flying {
            message,
            from,
            to,
            way,
            sender,
        } = flying;
        let length = message.len();
        if !self.is_open(way) {
            return self.note(world, Event::Lost, way, length);
        }
        let port = (way.1, Protocol::Udp, to.port());
        let receiver = self
            .ports
            .get(&port)
            .and_then(|id| self.datagrams.get_mut(id));
        match receiver.filter(|receiver| receiver.receives(from, to)) {
            Some(receiver) if receiver.queued + length <= ROOM => {
                receiver.queued += length;
                receiver.queue.push_back((message, from));
                receiver.waiting.wake(&mut self.machines.wakers);
                self.note(world, Event::Delivered, way, length);
            }
            Some(_) => self.note(world, Event::Lost, way, length),
            None => {
                self.note(world, Event::Lost, way, length);
                if let Some(sender) = sender {
                    self.refuse(world, way, sender);
                }
            }
        }
    }

    /// Tells a connected sender that nobody receives its message.
    fn refuse(&self, world: &World, way: Way, sender: u64) {
        let back = (way.1, way.0);
        let [Some(delay), _] = self.links.datagram_delays(world, back) else {
            return;
        };
        world.at(world.now().saturating_add(delay), move |world| {
            world.network(|network| {
                if !network.is_open(back) {
                    return;
                }
                if let Some(socket) = network.datagrams.get_mut(&sender) {
                    socket.error = Some(ErrorKind::ConnectionRefused);
                    socket.waiting.wake(&mut network.machines.wakers);
                }
            });
        });
    }
}

impl Flying {
    fn arrive_after(self, world: &World, delay: u64) {
        let at = world.now().saturating_add(delay);
        world.at(at, |world| {
            world.network(|network| network.receive(world, self))
        });
    }
}
