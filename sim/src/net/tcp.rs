//! [`TcpListener`] and [`TcpStream`].

use alloc::{collections::VecDeque, sync::Arc};
use core::{
    fmt,
    future::{poll_fn, ready},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    pin::Pin,
    task::{Context, Poll},
};
use std::{
    io::{self, ErrorKind},
    net::Shutdown,
};

use futures_io::{AsyncRead, AsyncWrite};

use super::{
    address::first,
    connection::{End, Listener},
    network::{Network, Protocol, Waiting, error, gone, poll_by_budget, with_any, with_run},
};
use crate::{
    machine::{Power, ip},
    world::World,
};
use joint_executor::io::ToSocketAddrs;

/// Listens for TCP connections in a simulation, as [`joint_executor::io::TcpListener`] does
/// outside.
///
/// [`joint_executor::io::TcpListener`]: joint_executor::io::TcpListener
///
/// # Example
/// ```
/// use joint_sim::{self as sim, net::{TcpListener, TcpStream}};
///
/// sim::run(1, async {
///     let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
///     let client = joint_executor::spawn(TcpStream::connect("localhost:80"));
///     let (stream, peer) = listener.accept().await.unwrap();
///     let client = client.await.unwrap();
///     assert_eq!(client.local_addr().unwrap(), peer);
///     assert_eq!(client.peer_addr().unwrap(), stream.local_addr().unwrap());
/// });
/// ```
pub struct TcpListener {
    id: u64,
    local: SocketAddr,
    run: Arc<()>,
}

impl TcpListener {
    /// Binds a listener of the current host to the first address for which that succeeds. For port
    /// 0 a port is chosen.
    ///
    /// Up to 1024 connections wait to be accepted.
    ///
    /// # Errors
    /// Returns the error for the last address: [`AddrInUse`](io::ErrorKind::AddrInUse) or
    /// [`AddrNotAvailable`](io::ErrorKind::AddrNotAvailable). If a name is given that no host has:
    /// [`NotFound`](io::ErrorKind::NotFound). Outside of a simulation:
    /// [`Unsupported`](io::ErrorKind::Unsupported).
    ///
    /// # Example
    /// ```
    /// use joint_sim::{self as sim, net::TcpListener};
    /// use std::io::ErrorKind;
    ///
    /// sim::run(1, async {
    ///     let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    ///     let port = listener.local_addr().unwrap().port();
    ///     let error = TcpListener::bind(("0.0.0.0", port)).await.unwrap_err();
    ///     assert_eq!(error.kind(), ErrorKind::AddrInUse);
    /// });
    /// ```
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        first(address, |address| ready(Self::bind_to(address))).await
    }

    fn bind_to(address: SocketAddr) -> io::Result<Self> {
        with_any(|world, network| {
            let id = network.new_id();
            let (host, local) = network.bind(world, Protocol::Tcp, address, id)?;
            let listener = Listener {
                host,
                local,
                backlog: VecDeque::new(),
                acceptors: Waiting::default(),
            };
            network.listeners.insert(id, listener);
            let run = network.machines.run.clone();
            Ok(Self { id, local, run })
        })
    }

    /// Returns the address that the socket is bound to.
    ///
    /// # Errors
    /// None. It is fallible as that of [`joint_executor::io`].
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.local)
    }

    /// Waits for a connection, and accepts it.
    ///
    /// If the future is dropped before it is ready, no connection is lost. Several tasks can accept
    /// from one listener.
    ///
    /// # Errors
    /// [`NotConnected`](io::ErrorKind::NotConnected) if the host of the listener was killed.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{self as sim, Host, net::{TcpListener, TcpStream}};
    ///
    /// sim::run(1, async {
    ///     let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
    ///     let client = Host::new("client");
    ///     client.run(|| async {
    ///         TcpStream::connect("main:80").await.unwrap();
    ///     });
    ///     let (_stream, peer) = listener.accept().await.unwrap();
    ///     assert_eq!(peer.ip(), client.ip());
    /// });
    /// ```
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    /// Polls for a connection, as [`accept`](Self::accept) does. A stream of connections is
    /// `poll_fn(|cx| listener.poll_accept(cx).map(Some))`.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept).
    ///
    /// # Example
    /// ```
    /// use futures_lite::{StreamExt, stream::poll_fn};
    /// use joint_sim::{self as sim, net::{TcpListener, TcpStream}};
    ///
    /// sim::run(1, async {
    ///     let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
    ///     let client = || joint_executor::spawn(TcpStream::connect("127.0.0.1:80"));
    ///     let _clients = [client(), client()];
    ///     let connections = poll_fn(|cx| listener.poll_accept(cx).map(Some));
    ///     assert_eq!(connections.take(2).filter(Result::is_ok).count().await, 2);
    /// });
    /// ```
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        poll_by_budget(cx, |cx| {
            with_run(&self.run, |_, network| {
                let listener = network.listeners.get_mut(&self.id).ok_or_else(gone)?;
                let Some(id) = listener.backlog.pop_front() else {
                    listener.acceptors.add(cx);
                    return Ok(None);
                };
                let [peer, own] = &network.connection(id, 1)?.ends;
                let (local, peer) = (own.address, peer.address);
                let stream = TcpStream {
                    id,
                    side: 1,
                    local,
                    peer,
                    run: self.run.clone(),
                };
                Ok(Some((stream, peer)))
            })
        })
    }
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        let _ = with_run(&self.run, |world, network| {
            network.close_listener(world, self.id, Power::Running);
            Ok(())
        });
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpListener")
            .field("addr", &self.local)
            .finish()
    }
}

/// A TCP connection in a simulation, as [`joint_executor::io::TcpStream`] is outside.
///
/// Read and write it by [`AsyncRead`] and [`AsyncWrite`], which references implement too. Closing
/// it, by `poll_close`, shuts down the writing direction, and the peer reads up to the end.
/// Dropping it ends both directions: with a reset if something has arrived that was not read.
///
/// [`joint_executor::io::TcpStream`]: joint_executor::io::TcpStream
///
/// # Errors
/// An operation fails with [`ConnectionReset`](io::ErrorKind::ConnectionReset) once the peer has
/// answered that it has no such connection, for example after a crash, or because it had dropped
/// its end before it received everything. It fails with [`TimedOut`](io::ErrorKind::TimedOut) if
/// what was written has not arrived after 15 minutes. Each error is reported once. After it, or
/// after the writing direction has been shut down, writes fail with
/// [`BrokenPipe`](io::ErrorKind::BrokenPipe), and reads return 0.
///
/// # Example
/// ```
/// use futures_lite::{AsyncReadExt, AsyncWriteExt};
/// use joint_sim::{self as sim, net::{TcpListener, TcpStream}};
///
/// sim::run(1, async {
///     let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
///     let server = joint_executor::spawn(async move {
///         let (mut stream, _) = listener.accept().await.unwrap();
///         let mut text = String::new();
///         stream.read_to_string(&mut text).await.unwrap();
///         text
///     });
///     let mut stream = TcpStream::connect("127.0.0.1:80").await.unwrap();
///     stream.write_all(b"hello").await.unwrap();
///     stream.close().await.unwrap();
///     assert_eq!(server.await, "hello");
/// });
/// ```
pub struct TcpStream {
    id: u64,
    side: usize,
    local: SocketAddr,
    peer: SocketAddr,
    run: Arc<()>,
}

impl TcpStream {
    /// Connects to the first address for which that succeeds.
    ///
    /// Dropping the future cancels the attempt. An attempt to which there is no answer takes 127
    /// seconds.
    ///
    /// # Errors
    /// Returns the error for the last address:
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if there is no listener,
    /// [`TimedOut`](io::ErrorKind::TimedOut) if there is no answer, or
    /// [`NetworkUnreachable`](io::ErrorKind::NetworkUnreachable) if no host has the address. If a
    /// name is given that no host has: [`NotFound`](io::ErrorKind::NotFound).
    ///
    /// # Example
    /// ```
    /// use joint_sim::{self as sim, Host, net::TcpStream};
    /// use std::io::ErrorKind;
    ///
    /// sim::run(1, async {
    ///     let host = Host::new("a");
    ///     let error = TcpStream::connect("a:80").await.unwrap_err();
    ///     assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    ///     host.cut_power();
    ///     let error = TcpStream::connect("a:80").await.unwrap_err();
    ///     assert_eq!(error.kind(), ErrorKind::TimedOut);
    ///     let error = TcpStream::connect("b:80").await.unwrap_err();
    ///     assert_eq!(error.kind(), ErrorKind::NotFound);
    /// });
    /// ```
    pub async fn connect(address: impl ToSocketAddrs) -> io::Result<Self> {
        first(address, async |address| {
            let stream = Self::begin(address)?;
            poll_fn(|cx| stream.poll_connected(cx)).await?;
            Ok(stream)
        })
        .await
    }

    fn begin(address: SocketAddr) -> io::Result<Self> {
        with_any(|world, network| {
            let host = network.running(world)?;
            let to = network.at(address.ip(), host)?;
            let peer = match address.ip() {
                ip if ip.is_unspecified() => IpAddr::from(Ipv4Addr::LOCALHOST),
                ip => ip,
            };
            let own = if peer.is_loopback() {
                peer
            } else {
                ip(host).into()
            };
            let id = network.new_id();
            let port = network.take_port(host, Protocol::Tcp, 0, id)?;
            let stream = Self {
                id,
                side: 0,
                local: SocketAddr::new(own, port),
                peer: SocketAddr::new(peer, address.port()),
                run: network.machines.run.clone(),
            };
            network.connect(world, id, (host, stream.local), (to, stream.peer));
            Ok(stream)
        })
    }

    fn poll_connected(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(cx, |cx, _, network| {
            let end = self.end(network)?;
            if end.is_established {
                return Ok(Some(()));
            }
            take_error(end)?;
            end.writers.add(cx);
            Ok(None)
        })
    }

    /// Does an operation, which gives `None` if it has to wait.
    fn poll<R>(
        &self,
        cx: &mut Context<'_>,
        f: impl FnOnce(&Context<'_>, &World, &mut Network) -> io::Result<Option<R>>,
    ) -> Poll<io::Result<R>> {
        poll_by_budget(cx, |cx| {
            with_run(&self.run, |world, network| f(cx, world, network))
        })
    }

    fn end<'a>(&self, network: &'a mut Network) -> io::Result<&'a mut End> {
        let connection = network.connection(self.id, self.side)?;
        Ok(&mut connection.ends[self.side])
    }

    fn with_end<R>(&self, f: impl FnOnce(&mut End) -> R) -> io::Result<R> {
        with_run(&self.run, |_, network| self.end(network).map(f))
    }

    /// Returns the address of this end.
    ///
    /// # Errors
    /// None. It is fallible as that of [`joint_executor::io`].
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.local)
    }

    /// Returns the address that the socket is connected to.
    ///
    /// # Errors
    /// [`NotConnected`](io::ErrorKind::NotConnected) if the connection has failed, or the host was
    /// killed.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        match self.with_end(|end| end.is_broken)? {
            true => Err(not_connected()),
            false => Ok(self.peer),
        }
    }

    /// Receives bytes without removing them, so that the next read gets the same bytes again.
    /// Returns 0 at the end of the stream.
    ///
    /// # Errors
    /// As a read.
    ///
    /// # Example
    /// ```
    /// use futures_lite::{AsyncReadExt, AsyncWriteExt};
    /// use joint_sim::{self as sim, net::{TcpListener, TcpStream}};
    ///
    /// sim::run(1, async {
    ///     let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
    ///     let mut client = TcpStream::connect("127.0.0.1:80").await.unwrap();
    ///     client.write_all(b"GET /").await.unwrap();
    ///     let (mut stream, _) = listener.accept().await.unwrap();
    ///     let mut buffer = [0; 3];
    ///     stream.peek(&mut buffer).await.unwrap();
    ///     assert_eq!(&buffer[..1], b"G");
    ///     stream.read_exact(&mut buffer).await.unwrap();
    ///     assert_eq!(&buffer, b"GET");
    /// });
    /// ```
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_receive(cx, buffer, false)).await
    }

    /// Returns what [`set_nodelay`](Self::set_nodelay) has set, and false before.
    ///
    /// # Errors
    /// [`NotConnected`](io::ErrorKind::NotConnected) if the host was killed.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.with_end(|end| end.nodelay)
    }

    /// Sets whether small writes are sent at once. In a simulation all writes are.
    ///
    /// # Errors
    /// [`NotConnected`](io::ErrorKind::NotConnected) if the host was killed.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.with_end(|end| end.nodelay = nodelay)
    }

    /// Returns what [`set_ttl`](Self::set_ttl) has set, and 64 before.
    ///
    /// # Errors
    /// [`NotConnected`](io::ErrorKind::NotConnected) if the host was killed.
    pub fn ttl(&self) -> io::Result<u32> {
        self.with_end(|end| end.ttl)
    }

    /// Sets how many routers a packet may pass. A simulation has no routers.
    ///
    /// # Errors
    /// [`NotConnected`](io::ErrorKind::NotConnected) if the host was killed.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.with_end(|end| end.ttl = ttl)
    }

    /// Shuts down one direction or both, for every user of the socket. After the writing direction
    /// is shut down, the peer reads up to the end, and writes on this side fail.
    ///
    /// # Errors
    /// [`NotConnected`](io::ErrorKind::NotConnected) if the connection has failed, or the host was
    /// killed.
    ///
    /// # Example
    /// ```
    /// use futures_lite::{AsyncReadExt, AsyncWriteExt};
    /// use joint_sim::{self as sim, net::{TcpListener, TcpStream}};
    /// use std::{io::ErrorKind, net::Shutdown};
    ///
    /// sim::run(1, async {
    ///     let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
    ///     let mut client = TcpStream::connect("127.0.0.1:80").await.unwrap();
    ///     client.shutdown(Shutdown::Write).unwrap();
    ///     let error = client.write(b"late").await.unwrap_err();
    ///     assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    ///     let (mut stream, _) = listener.accept().await.unwrap();
    ///     assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0);
    /// });
    /// ```
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        with_run(&self.run, |world, network| {
            let end = self.end(network)?;
            if end.is_broken {
                return Err(not_connected());
            }
            if how != Shutdown::Write {
                end.is_read_shut = true;
                let mut readers = core::mem::take(&mut end.readers);
                readers.wake(&mut network.machines.wakers);
            }
            if how != Shutdown::Read {
                network.end_writing(world, self.id, self.side);
            }
            Ok(())
        })
    }

    fn poll_receive(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
        takes: bool,
    ) -> Poll<io::Result<usize>> {
        self.poll(cx, |cx, world, network| {
            let end = self.end(network)?;
            if buffer.is_empty() {
                return Ok(Some(0));
            }
            if end.inbox.is_empty() {
                take_error(end)?;
                if end.has_all || end.is_broken || end.is_read_shut {
                    return Ok(Some(0));
                }
                end.readers.add(cx);
                return Ok(None);
            }
            let (first, second) = end.inbox.as_slices();
            let from_first = first.len().min(buffer.len());
            let from_second = second.len().min(buffer.len() - from_first);
            let count = from_first + from_second;
            buffer[..from_first].copy_from_slice(&first[..from_first]);
            buffer[from_first..count].copy_from_slice(&second[..from_second]);
            if takes {
                end.inbox.drain(..count);
                let connection = network.connection(self.id, self.side)?;
                if connection.free(self.side, count) {
                    network.tell_room(world, self.id, self.side);
                }
            }
            Ok(Some(count))
        })
    }

    fn poll_send(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll(cx, |cx, world, network| {
            let connection = network.connection(self.id, self.side)?;
            let room = connection.room(self.side);
            let end = &mut connection.ends[self.side];
            take_error(end)?;
            if end.is_broken || end.is_write_shut {
                let message = "the connection does not take any more bytes";
                return Err(error(ErrorKind::BrokenPipe, message));
            }
            if bytes.is_empty() {
                return Ok(Some(0));
            }
            if room == 0 {
                end.writers.add(cx);
                return Ok(None);
            }
            let count = bytes.len().min(room);
            network.put_data(world, self.id, self.side, &bytes[..count]);
            Ok(Some(count))
        })
    }

    /// Closes the writing direction. A connection that has failed is closed.
    fn close(&self) -> io::Result<()> {
        match self.shutdown(Shutdown::Write) {
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(()),
            result => result,
        }
    }
}

fn take_error(end: &mut End) -> io::Result<()> {
    end.error.take().map_or(Ok(()), |kind| Err(kind.into()))
}

fn not_connected() -> io::Error {
    error(ErrorKind::NotConnected, "the connection has failed")
}

impl Drop for TcpStream {
    fn drop(&mut self) {
        let _ = with_run(&self.run, |world, network| {
            network.close(world, self.id, self.side);
            Ok(())
        });
    }
}

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpStream")
            .field("addr", &self.local)
            .field("peer", &self.peer)
            .finish()
    }
}

/// Implements the traits of readers and writers for a type that gives a stream.
macro_rules! reads_and_writes {
    ($($type:ty)*) => {$(
        impl AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffer: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                self.poll_receive(cx, buffer, true)
            }
        }

        impl AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.poll_send(cx, bytes)
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.close())
            }
        }
    )*};
}

reads_and_writes!(TcpStream & TcpStream);
