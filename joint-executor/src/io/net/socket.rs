//! [`Socket`]: a descriptor of the system, or a socket of the [`Host`](hosted::Host) that the
//! thread has entered. And [`Inner`]: what operations are called on. `inner.rs` has its functions,
//! which are those of the standard library's sockets.

use alloc::boxed::Box;
use core::{
    future::{Future, poll_fn},
    mem::MaybeUninit,
    task::{Context, Poll, ready},
};
use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
};

use crate::{
    driver::reactor::{Found, Interest, Open, Ready, Registration, SharedTurn, Way, would_block},
    hosted::{self, SocketKind},
    io::{
        AsyncFd,
        uninit::{ReadUninit, initialized},
    },
};
use joint::budget;

pub(super) type Hosted = dyn hosted::Socket;

pub(super) enum Socket<T> {
    System(AsyncFd<T>),
    Hosted(Box<Hosted>, SharedTurn),
}

/// What an operation is called on.
pub(super) enum Inner<'a, T> {
    System(&'a T),
    Hosted(&'a Hosted),
}

/// What tells that a socket is ready.
pub(super) enum Readiness<'a> {
    System(&'a Registration),
    Hosted(&'a Hosted, &'a SharedTurn),
}

impl<T> From<AsyncFd<T>> for Socket<T> {
    fn from(fd: AsyncFd<T>) -> Self {
        Self::System(fd)
    }
}

impl<T> From<Box<Hosted>> for Socket<T> {
    fn from(socket: Box<Hosted>) -> Self {
        Self::Hosted(socket, SharedTurn::default())
    }
}

impl<T> Socket<T> {
    /// Opens a socket of this thread's host, if it has a network.
    pub(super) fn hosted(kind: SocketKind, address: SocketAddr) -> Option<io::Result<Self>> {
        let opened = hosted::host()?.open(kind, address)?;
        Some(opened.map(Self::from))
    }

    /// The standard library's socket.
    ///
    /// # Panics
    /// If it is hosted.
    pub(super) fn get_ref(&self) -> &T {
        match self {
            Self::System(fd) => fd.get_ref(),
            Self::Hosted(..) => panic!(
                "a socket of a host has no descriptor; use the methods of its type in \
                 `joint_executor::io` instead of `get_ref`, `as_fd` and the like"
            ),
        }
    }

    pub(super) fn into_inner(self) -> io::Result<T> {
        match self {
            Self::System(fd) => fd.into_inner(),
            Self::Hosted(..) => Err(io::Error::new(
                ErrorKind::Unsupported,
                "a socket of a host has no descriptor, so it stays one of \
                 `joint_executor::io`",
            )),
        }
    }

    #[inline]
    pub(super) fn inner(&self) -> Inner<'_, T> {
        match self {
            Self::System(fd) => Inner::System(fd.get_ref()),
            Self::Hosted(socket, _) => Inner::Hosted(&**socket),
        }
    }

    pub(super) fn readiness(&self) -> Readiness<'_> {
        match self {
            Self::System(fd) => Readiness::System(&fd.registration),
            Self::Hosted(socket, turn) => Readiness::Hosted(&**socket, turn),
        }
    }

    pub(super) fn read_with<R>(
        &self,
        read: impl FnMut(Inner<'_, T>) -> io::Result<R>,
    ) -> impl Future<Output = io::Result<R>> {
        self.done(Way::Read, read, |_| false)
    }

    pub(super) fn write_with<R>(
        &self,
        write: impl FnMut(Inner<'_, T>) -> io::Result<R>,
    ) -> impl Future<Output = io::Result<R>> {
        self.done(Way::Write, write, |_| false)
    }

    pub(super) async fn done<R>(
        &self,
        way: Way,
        mut operation: impl FnMut(Inner<'_, T>) -> io::Result<R>,
        fell_short: impl Fn(&R) -> bool,
    ) -> io::Result<R> {
        match self {
            Self::System(fd) => {
                fd.done(way, |inner| operation(Inner::System(inner)), fell_short)
                    .await
            }
            Self::Hosted(..) => {
                poll_fn(|cx| self.poll_with(way, cx, &mut operation, |_| false)).await
            }
        }
    }

    #[inline]
    pub(super) fn poll_with<R>(
        &self,
        way: Way,
        cx: &mut Context<'_>,
        mut operation: impl FnMut(Inner<'_, T>) -> io::Result<R>,
        fell_short: impl Fn(&R) -> bool,
    ) -> Poll<io::Result<R>> {
        match self {
            Self::System(fd) => {
                fd.poll_with(way, cx, |inner| operation(Inner::System(inner)), fell_short)
            }
            Self::Hosted(socket, turn) => {
                ready!(turn.poll_proceed(cx));
                let mut operation = || operation(Inner::Hosted(&**socket));
                poll_hosted(&**socket, way, cx, &mut operation)
            }
        }
    }

    /// Polls with a function that the type does not depend on, so that this is compiled once for
    /// each type of result.
    pub(super) fn poll_by<R>(
        &self,
        way: Way,
        cx: &mut Context<'_>,
        operation: &mut dyn FnMut(Inner<'_, T>) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_with(way, cx, operation, |_| false)
    }

    pub(super) fn try_io<R>(
        &self,
        interest: Interest,
        operation: impl FnOnce(Inner<'_, T>) -> io::Result<R>,
    ) -> io::Result<R> {
        (self.readiness()).attempt(interest, || operation(self.inner()))
    }
}

impl<T: Open> ReadUninit for Inner<'_, T> {
    #[inline]
    fn read_uninit(self, buffer: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
        match self {
            Self::System(socket) => socket.read_uninit(buffer),
            Self::Hosted(socket) => {
                buffer.fill(MaybeUninit::new(0));
                // SAFETY: all of it is initialised now.
                let buffer = unsafe { initialized(buffer) };
                Ok(socket.receive(buffer, false)?.0)
            }
        }
    }
}

/// Does an operation that the budget allows, as [`Registration::poll`] does.
#[cold]
fn poll_hosted<R>(
    socket: &Hosted,
    way: Way,
    cx: &mut Context<'_>,
    operation: &mut dyn FnMut() -> io::Result<R>,
) -> Poll<io::Result<R>> {
    loop {
        let done = operation();
        if !would_block(&done) {
            budget::spend();
            return Poll::Ready(done);
        }
        ready!(socket.poll_ready(interest(way), cx))?;
    }
}

fn interest(way: Way) -> Interest {
    match way {
        Way::Write => Interest::WRITABLE,
        Way::Read | Way::Exception => Interest::READABLE,
    }
}

impl Readiness<'_> {
    pub(super) async fn ready(self, interest: Interest) -> io::Result<Ready> {
        match self {
            Self::System(registration) => Ok(registration.ready(interest).await?.ready),
            Self::Hosted(socket, turn) => {
                poll_fn(|cx| poll_ready(socket, turn, interest, cx)).await
            }
        }
    }

    pub(super) async fn known(self, way: Way) -> io::Result<()> {
        match self {
            Self::System(registration) => registration.known(way).await,
            Self::Hosted(..) => poll_fn(|cx| self.poll_known(way, cx)).await,
        }
    }

    pub(super) fn poll_known(&self, way: Way, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::System(registration) => registration.poll_known(way, cx),
            Self::Hosted(socket, turn) => poll_ready(*socket, turn, interest(way), cx).map_ok(drop),
        }
    }

    pub(super) fn attempt<R>(
        &self,
        interest: Interest,
        operation: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        let found = self.look(interest);
        let result = operation();
        self.attempted(found, would_block(&result));
        result
    }

    fn look(&self, interest: Interest) -> Found {
        match self {
            Self::System(registration) => registration.look(interest),
            Self::Hosted(..) => Found::default(),
        }
    }

    fn attempted(&self, found: Found, would_block: bool) {
        match self {
            Self::System(registration) => registration.attempted(found, would_block),
            Self::Hosted(..) if would_block => {}
            Self::Hosted(..) => budget::spend(),
        }
    }
}

fn poll_ready(
    socket: &Hosted,
    turn: &SharedTurn,
    interest: Interest,
    cx: &mut Context<'_>,
) -> Poll<io::Result<Ready>> {
    ready!(turn.poll_proceed(cx));
    socket.poll_ready(interest, cx)
}

/// So that the macros in `wrap.rs` serve the sockets of `unix`, too.
#[cfg(unix)]
impl<T> AsyncFd<T> {
    #[inline]
    pub(super) fn inner(&self) -> &T {
        self.get_ref()
    }

    pub(super) fn poll_by<R>(
        &self,
        way: Way,
        cx: &mut Context<'_>,
        operation: &mut dyn FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_with(way, cx, operation, |_| false)
    }

    pub(super) fn readiness(&self) -> Readiness<'_> {
        Readiness::System(&self.registration)
    }
}
