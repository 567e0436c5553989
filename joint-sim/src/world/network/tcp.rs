//! Listeners and streams, as [`io`](joint_executor::io) uses them.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind},
    mem,
    net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr},
    task::{Context, Poll},
};

use super::{
    Bound, Network, Protocol,
    connection::{End, Failing, Listener},
    error, pending_if_none, take_error, with_run,
};
use crate::{
    chance::About,
    machine::{Power, Waiting, ip},
    world::World,
};
use joint_executor::{
    hosted::{Socket, StreamOptions},
    io::{Interest, Ready},
};

pub(super) struct TcpListener(Bound);

impl TcpListener {
    pub(super) fn bind(
        world: &World,
        network: &mut Network,
        address: SocketAddr,
    ) -> io::Result<Self> {
        let (host, own) = network.bind(world, Protocol::Tcp, address)?;
        let listener = Listener {
            host,
            local: own.local,
            backlog: VecDeque::new(),
            acceptors: Waiting::default(),
        };
        network.listeners.insert(own.id, listener);
        Ok(Self(own))
    }

    fn with<R>(
        &self,
        f: impl FnOnce(&World, &mut Network, &mut Listener) -> io::Result<R>,
    ) -> io::Result<R> {
        self.0.with(|network| &mut network.listeners, f)
    }
}

impl Socket for TcpListener {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.local)
    }

    fn poll_ready(&self, _: Interest, cx: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        let ready = self.with(|_, _, listener| match listener.backlog.is_empty() {
            true => {
                listener.acceptors.add(cx);
                Ok(Ready::EMPTY)
            }
            false => Ok(Ready::READABLE),
        });
        pending_if_none(ready?)
    }

    fn accept(&self) -> io::Result<(Box<dyn Socket>, SocketAddr)> {
        self.with(|world, network, listener| {
            let id = *listener.backlog.front().ok_or(ErrorKind::WouldBlock)?;
            let fails = network.fails(world);
            if fails == Some(Failing::Stays) {
                return Err(too_many_files());
            }
            listener.backlog.pop_front();
            if fails.is_some() {
                network.close_by(world, id, 1, true);
                return Err(ErrorKind::ConnectionAborted.into());
            }
            let [peer, own] = &network.connection(id, 1)?.ends;
            let stream = TcpStream {
                id,
                side: 1,
                local: own.address,
                peer: peer.address,
                run: self.0.run,
            };
            let peer = stream.peer;
            Ok((Box::new(stream) as _, peer))
        })
    }
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        let _ = with_run(self.0.run, |world, network| {
            network.close_listener(world, self.0.id, Power::Running);
            network.keep_port(world, &self.0);
            Ok(())
        });
    }
}

pub(super) struct TcpStream {
    id: u64,
    side: usize,
    local: SocketAddr,
    peer: SocketAddr,
    run: u64,
}

impl TcpStream {
    pub(super) fn begin(
        world: &World,
        network: &mut Network,
        address: SocketAddr,
    ) -> io::Result<Self> {
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
        let port = network.take_port(world, (host, Protocol::Tcp, 0), id)?;
        let stream = Self {
            id,
            side: 0,
            local: SocketAddr::new(own, port),
            peer: SocketAddr::new(peer, address.port()),
            run: world.number(),
        };
        network.connect(world, id, (host, stream.local), (to, stream.peer));
        Ok(stream)
    }

    fn end<'a>(&self, network: &'a mut Network) -> io::Result<&'a mut End> {
        let connection = network.connection(self.id, self.side)?;
        Ok(&mut connection.ends[self.side])
    }

    fn with_end<R>(&self, f: impl FnOnce(&mut End) -> io::Result<R>) -> io::Result<R> {
        with_run(self.run, |_, network| f(self.end(network)?))
    }
}

impl Socket for TcpStream {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.local)
    }

    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.with_end(|end| match end.is_over() {
            true => Err(not_connected()),
            false => Ok(self.peer),
        })
    }

    fn connect(&self, _: SocketAddr) -> io::Result<()> {
        self.with_end(|end| match end.is_established {
            true => Ok(()),
            false => take_error(&mut end.error).and(Err(ErrorKind::WouldBlock.into())),
        })
    }

    fn poll_ready(&self, interest: Interest, cx: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        let ready = with_run(self.run, |_, network| {
            let connection = network.connection(self.id, self.side)?;
            let has_room = connection.room(self.side) > 0;
            let end = &mut connection.ends[self.side];
            let mut ready = Ready::EMPTY;
            if interest.is_readable() {
                if !end.inbox.is_empty() || end.error.is_some() {
                    ready = ready | Ready::READABLE;
                }
                if end.has_all || end.is_broken || end.is_read_shut {
                    ready = ready | Ready::READ_CLOSED;
                }
            }
            if interest.is_writable() {
                if end.is_established && has_room || end.error.is_some() {
                    ready = ready | Ready::WRITABLE;
                }
                if end.is_broken || end.is_write_shut {
                    ready = ready | Ready::WRITE_CLOSED;
                }
            }
            if ready.is_empty() && interest.is_readable() {
                end.readers.add(cx);
            }
            if ready.is_empty() && interest.is_writable() {
                end.writers.add(cx);
            }
            Ok(ready)
        });
        pending_if_none(ready?)
    }

    fn receive(&self, buffer: &mut [u8], peeks: bool) -> io::Result<(usize, SocketAddr)> {
        with_run(self.run, |world, network| {
            let end = self.end(network)?;
            if buffer.is_empty() {
                return Ok((0, self.peer));
            }
            if end.inbox.is_empty() {
                if !end.has_all {
                    take_error(&mut end.error)?;
                }
                return match end.has_all || end.is_broken || end.is_read_shut {
                    true => Ok((0, self.peer)),
                    false => Err(ErrorKind::WouldBlock.into()),
                };
            }
            let (first, second) = end.inbox.as_slices();
            let count = end.inbox.len().min(buffer.len());
            let count = world.part(About::Network, count);
            let from_first = first.len().min(count);
            let from_second = count - from_first;
            buffer[..from_first].copy_from_slice(&first[..from_first]);
            buffer[from_first..count].copy_from_slice(&second[..from_second]);
            if !peeks {
                end.inbox.drain(..count);
                let connection = network.connection(self.id, self.side)?;
                if connection.free(self.side, count) {
                    network.tell_room(world, self.id, self.side);
                }
            }
            Ok((count, self.peer))
        })
    }

    fn send(&self, bytes: &[u8], _: Option<SocketAddr>) -> io::Result<usize> {
        with_run(self.run, |world, network| {
            let connection = network.connection(self.id, self.side)?;
            let room = connection.room(self.side);
            let end = &mut connection.ends[self.side];
            take_error(&mut end.error)?;
            if end.is_broken || end.is_write_shut {
                let message = "the connection does not take any more bytes";
                return Err(error(ErrorKind::BrokenPipe, message));
            }
            if bytes.is_empty() {
                return Ok(0);
            }
            if room == 0 {
                return Err(ErrorKind::WouldBlock.into());
            }
            let count = world.part(About::Network, bytes.len().min(room));
            network.put_data(world, self.id, self.side, &bytes[..count]);
            Ok(count)
        })
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        with_run(self.run, |world, network| {
            let end = self.end(network)?;
            if end.is_over() {
                return Err(not_connected());
            }
            if how != Shutdown::Write {
                end.is_read_shut = true;
                let mut readers = mem::take(&mut end.readers);
                readers.wake(&mut network.machines.wakers);
            }
            if how != Shutdown::Read {
                network.end_writing(world, self.id, self.side);
            }
            Ok(())
        })
    }

    fn with_options(&self, f: &mut dyn FnMut(&mut StreamOptions)) -> io::Result<()> {
        self.with_end(|end| {
            f(&mut end.options);
            Ok(())
        })
    }
}

fn too_many_files() -> io::Error {
    match cfg!(unix) {
        // EMFILE, which has no kind.
        true => io::Error::from_raw_os_error(24),
        false => io::Error::other("too many open files"),
    }
}

fn not_connected() -> io::Error {
    error(ErrorKind::NotConnected, "the connection is over")
}

impl Drop for TcpStream {
    fn drop(&mut self) {
        let _ = with_run(self.run, |world, network| {
            network.close(world, self.id, self.side);
            Ok(())
        });
    }
}
