//! The network between simulated hosts.
//!
//! The sockets are those of [`joint_executor::io`], which are simulated here: a program runs in a
//! simulation as it is.
//!
//! A connection to a host that does not listen yet is refused, as on a real network. Hosts that are
//! started together therefore try again.
//!
//! # Addresses
//! Each [`Host`](super::Host) has an IPv4 address, and names are looked up without delay
//! ([`lookup`]). Addresses of the loopback network, and `localhost`, stand for the host itself. The
//! unspecified addresses `0.0.0.0` and `[::]` can be bound too. Port 0 is replaced by a port from
//! 49152 on.
//!
//! # What is simulated
//! Each message between two hosts takes a time that the seed decides, according to the [`Link`]
//! between them. Between sockets of one host it takes 10 µs. Links can be cut ([`partition()`]) and
//! clogged ([`clog`]), and hosts can be [killed](super::Host::kill).
//!
//! A stream keeps its order and loses nothing, as with TCP. What is lost or cut off is sent again
//! until it arrives. If it has not arrived after 15 minutes, the connection fails with
//! [`TimedOut`](std::io::ErrorKind::TimedOut). An attempt to connect fails in this way after 127
//! seconds. One write may arrive as two parts. A writer waits while the reader has 64 KiB to read,
//! or they are on their way. After the reading direction has been shut down, what arrives can still
//! be read, as on Linux. After both directions have been, it ends the connection with a reset.
//!
//! A datagram arrives once, or twice, or never, and in any order. Up to 208 KiB wait for the
//! receiver, and further datagrams are lost.
//!
//! # Errors
//! The errors are those of Linux. A host that is [killed](super::Host::kill) and that something
//! still uses a socket of, such as the poll that kills it, gets
//! [`NotConnected`](std::io::ErrorKind::NotConnected). A name that no host has is
//! [`NotFound`](std::io::ErrorKind::NotFound), and an address that none has
//! [`NetworkUnreachable`](std::io::ErrorKind::NetworkUnreachable).
//!
//! An operation of a stream fails with [`ConnectionReset`](std::io::ErrorKind::ConnectionReset)
//! once the peer has answered that it has no such connection, for example after a crash, or because
//! it had dropped its end before it received everything. Each error is reported once. After it, or
//! after the writing direction has been shut down, writes fail with
//! [`BrokenPipe`](std::io::ErrorKind::BrokenPipe), and reads return 0. If the end of the stream has
//! arrived before the answer, that is what the first write says, too, and reads return 0 at once.
//! Once both directions have ended, or the connection has failed, `peer_addr` and `shutdown` fail
//! with [`NotConnected`](std::io::ErrorKind::NotConnected). A test of the repository holds 1,200
//! random dialogues against the sockets of Linux.
//!
//! # Panics
//! Each function here panics outside of a simulation, and all but [`lookup`] if there is no host
//! with this name.
//!
//! # What is not
//! Bandwidth, packets and their headers, keep-alive, urgent data, broadcast and multicast. Two
//! sockets of one protocol on one host cannot have the same port, even with different addresses. A
//! port can be bound again as soon as its socket is dropped, but for
//! [`busy_ports`](super::Faults::busy_ports). There are no descriptors: `get_ref`
//! and the traits for descriptors panic, and conversions to and from the standard library's
//! sockets, Unix sockets and `AsyncFd` are errors of the kind
//! [`Unsupported`](std::io::ErrorKind::Unsupported).

use std::{mem, net::IpAddr, time::Duration};

use crate::{
    clock::after,
    world::{self, Network, World},
};

pub use crate::world::{Latency, Link};
#[doc(no_inline)]
pub use joint_executor::io::{TcpListener, TcpStream, UdpSocket};

fn with_two<R>(a: &str, b: &str, f: impl FnOnce(&World, &mut Network, usize, usize) -> R) -> R {
    with_network(|world, network| {
        let [a, b] = [a, b].map(|name| network.number(name));
        f(world, network, a, b)
    })
}

fn with_network<R>(f: impl FnOnce(&World, &mut Network) -> R) -> R {
    world::with(|world| {
        let world = world.expect("there is a network only inside a simulation");
        world.network(|network| f(world, network))
    })
}

/// Returns the address of the host with this name.
///
/// # Example
/// ```
/// use joint_sim::{self as sim, Host, net};
///
/// sim::run(1, async {
///     let host = Host::new("a");
///     assert_eq!(net::lookup("a"), Some(host.ip()));
///     assert_eq!(net::lookup("b"), None);
/// });
/// ```
pub fn lookup(name: &str) -> Option<IpAddr> {
    with_network(|_, network| network.host_ip(name))
}

/// Sets how messages travel between two hosts, in both directions. They are hosts or their names.
///
/// # Example
/// ```
/// use joint_sim::{self as sim, Host, net::{self, Latency, Link, TcpStream}};
/// use joint_executor::time::now;
/// use std::time::Duration;
///
/// sim::run(1, async {
///     let second = Duration::from_secs(1);
///     let moon = Host::new("moon");
///     net::set_link(&moon, "main", Link::new().latency(Latency::Constant(second)));
///     let start = now();
///     // Nobody listens there. The refusal takes one second each way.
///     TcpStream::connect("moon:80").await.unwrap_err();
///     assert_eq!(now() - start, 2 * second);
/// });
/// ```
pub fn set_link(a: impl AsRef<str>, b: impl AsRef<str>, link: Link) {
    set_link_one_way(&a, &b, link.clone());
    set_link_one_way(b, a, link);
}

/// Sets how messages travel from one host to another. The other direction is unchanged.
pub fn set_link_one_way(from: impl AsRef<str>, to: impl AsRef<str>, link: Link) {
    with_two(from.as_ref(), to.as_ref(), |_, network, from, to| {
        network.links.own.insert((from, to), link);
    });
}

/// Sets how messages travel between all hosts whose link is not set.
pub fn set_default_link(link: Link) {
    with_network(|_, network| network.links.default = link);
}

/// Cuts the link between two hosts. Nothing that is sent or under way arrives, until the link is
/// [healed](heal).
///
/// Datagrams are lost. Streams send again what does not arrive, and give up after a time (see the
/// [module](self#what-is-simulated)).
///
/// # Example
/// ```
/// use std::time::Duration;
///
/// use joint_sim::{self as sim, Host, net::{self, UdpSocket}};
/// use joint_executor::time::timeout;
///
/// sim::run(1, async {
///     let host = Host::new("a");
///     net::partition(&host, "main");
///     host.run(|| async {
///         let socket = UdpSocket::bind("a:0").await.unwrap();
///         socket.send_to(b"lost", "main:80").await.unwrap();
///     });
///     let socket = UdpSocket::bind("main:80").await.unwrap();
///     let mut buffer = [0; 8];
///     assert!(timeout(Duration::from_secs(1), socket.recv(&mut buffer)).await.is_err());
/// });
/// ```
pub fn partition(a: impl AsRef<str>, b: impl AsRef<str>) {
    partition_one_way(&a, &b);
    partition_one_way(b, a);
}

/// Cuts the link from one host to another. The other direction is unchanged.
pub fn partition_one_way(from: impl AsRef<str>, to: impl AsRef<str>) {
    with_two(from.as_ref(), to.as_ref(), |_, network, from, to| {
        network.links.cut((from, to));
    });
}

/// Cuts the links between a host and all hosts that exist.
pub fn isolate(host: impl AsRef<str>) {
    with_network(|_, network| {
        let host = network.number(host.as_ref());
        for other in 0..network.machines.all.len() {
            network.links.cut((host, other));
            network.links.cut((other, host));
        }
    });
}

/// Heals the link between two hosts, in both directions. Streams go on soon.
///
/// # Example
/// ```
/// use joint_sim::{self as sim, Host, net::{self, TcpStream}};
/// use joint_executor::{spawn, time::sleep};
/// use std::{io::ErrorKind, time::Duration};
///
/// sim::run(1, async {
///     let host = Host::new("a");
///     net::partition(&host, "main");
///     let connection = spawn(TcpStream::connect("a:80"));
///     sleep(Duration::from_secs(60)).await;
///     net::heal(&host, "main");
///     // The request arrives after all. Nobody listens there.
///     assert_eq!(connection.await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
/// });
/// ```
pub fn heal(a: impl AsRef<str>, b: impl AsRef<str>) {
    with_two(a.as_ref(), b.as_ref(), |world, network, a, b| {
        for way in [(a, b), (b, a)] {
            if network.links.cut.remove(&way) {
                network.resume(world, |of| of == way);
            }
        }
    });
}

/// Heals all links. Clogged links stay clogged.
pub fn heal_all() {
    with_network(|world, network| {
        let healed = mem::take(&mut network.links.cut);
        network.resume(world, |way| healed.contains(&way));
    });
}

/// Clogs the link between two hosts, in both directions. Nothing arrives for this time. All of it
/// arrives after that. A link that is clogged already stays so until the later of the two ends.
///
/// # Example
/// ```
/// use joint_sim::{self as sim, Host, net::{self, TcpStream}};
/// use joint_executor::time::now;
/// use std::{io::ErrorKind, time::Duration};
///
/// sim::run(1, async {
///     let minute = Duration::from_secs(60);
///     let host = Host::new("a");
///     net::clog(&host, "main", minute);
///     let start = now();
///     // Nobody listens there. The refusal arrives late.
///     let error = TcpStream::connect("a:80").await.unwrap_err();
///     assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
///     assert!(now() - start >= minute);
/// });
/// ```
pub fn clog(a: impl AsRef<str>, b: impl AsRef<str>, time: Duration) {
    with_two(a.as_ref(), b.as_ref(), |world, network, a, b| {
        let until = after(world.now(), time);
        network.links.clog((a, b), until);
        network.links.clog((b, a), until);
    });
}
