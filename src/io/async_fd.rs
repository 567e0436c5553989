//! [`AsyncFd`]: a descriptor that tasks wait for.

#[cfg(unix)]
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
#[cfg(windows)]
use std::os::windows::io::{AsRawSocket, AsSocket, BorrowedSocket, RawSocket};

use core::task::{Context, Poll};
use std::io;

use crate::executor::{
    DriverHandle,
    driver::reactor::{Interest, Raw, Registration},
};

/// A descriptor, or on Windows a socket, that tasks wait for.
///
/// Anything that the system can wait for: sockets, pipes, terminals, `timerfd`s, `inotify` and so on, by the value that owns it or
/// a reference to that. Not the files of a disk, which are always ready and block all the same:
/// [`spawn_blocking`](crate::spawn_blocking) is for them.
///
/// Where `&T` can be read and written, `AsyncFd<T>` and `&AsyncFd<T>` have `futures-io`'s `AsyncRead` and `AsyncWrite`. Closing by
/// `poll_close` flushes, and neither shuts down nor closes anything: the descriptor is closed when its owner is dropped. Everything
/// else is done by [`read_with`](AsyncFd::read_with) and [`write_with`](AsyncFd::write_with).
///
/// Dropped, it is deregistered first, even while somebody waits for it by a `poll_…` function: that one is not woken.
///
/// See the [module](super) for who serves it, and who may wait.
///
/// # Example
/// ```
/// use std::net::UdpSocket;
///
/// use joint::io::AsyncFd;
///
/// # fn main() -> std::io::Result<()> {
/// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
/// let address = other.local_addr()?;
/// let (one, other) = (AsyncFd::new(one)?, AsyncFd::new(other)?);
/// let received = joint::spawn(async move {
///     let mut buffer = [0; 16];
///     let count = other.read_with(|socket| socket.recv(&mut buffer)).await?;
///     std::io::Result::Ok(buffer[..count].to_vec())
/// });
/// joint::block_on(one.write_with(|socket| socket.send_to(b"ping", address)))?;
/// assert_eq!(joint::block_on(received)?, b"ping");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AsyncFd<T> {
    /// The first to be dropped: while the descriptor is open.
    registration: Registration,
    inner: T,
}

/// The value is never pinned.
impl<T> Unpin for AsyncFd<T> {}

#[cfg(unix)]
impl<T: AsFd> AsyncFd<T> {
    /// Makes a descriptor awaitable, and sets it to non-blocking. It stays non-blocking after it was taken out again; and so is whatever
    /// shares it by then: duplicates, and the other programs that have inherited it, such as those on the same terminal as this one's
    /// standard input.
    ///
    /// # Cost
    /// Three system calls, or four. The first in an executor makes what waits for descriptors.
    ///
    /// # Errors
    /// What the system says, such as that there are no descriptors left. Of kind `Unsupported`, when the system cannot wait for the
    /// like of it; of kind `AlreadyExists`, when the executor serves that descriptor already.
    ///
    /// # Panics
    /// Where the global executor is needed and cannot be started.
    ///
    /// # Example
    /// ```
    /// # #[cfg(unix)] fn main() -> std::io::Result<()> {
    /// use joint::io::AsyncFd;
    ///
    /// let file = std::fs::File::open("Cargo.toml")?;
    /// # #[cfg(target_os = "linux")] {
    /// let error = AsyncFd::new(file).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
    /// # }
    /// # Ok(())
    /// # }
    /// # #[cfg(not(unix))] fn main() {}
    /// ```
    pub fn new(inner: T) -> io::Result<Self> {
        use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

        let flags = fcntl_getfl(&inner)?;
        if !flags.contains(OFlags::NONBLOCK) {
            fcntl_setfl(&inner, flags | OFlags::NONBLOCK)?;
        }
        Self::new_nonblocking(inner)
    }

    /// As [`new`](AsyncFd::new), for a descriptor that is set to non-blocking already.
    ///
    /// Operations on one that is not block their worker.
    ///
    /// # Errors
    /// As [`new`](AsyncFd::new).
    ///
    /// # Panics
    /// As [`new`](AsyncFd::new).
    pub fn new_nonblocking(inner: T) -> io::Result<Self> {
        let raw = inner.as_fd().as_raw_fd();
        Self::register(inner, raw)
    }
}

#[cfg(windows)]
impl<T: AsSocket> AsyncFd<T> {
    /// Makes a socket awaitable, and sets it to non-blocking. It stays non-blocking after it was taken out again.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// Where the global executor is needed and cannot be started.
    pub fn new(inner: T) -> io::Result<Self> {
        socket2::SockRef::from(&inner).set_nonblocking(true)?;
        Self::new_nonblocking(inner)
    }

    /// As [`new`](AsyncFd::new), for a socket that is set to non-blocking already.
    ///
    /// Operations on one that is not block their worker.
    ///
    /// # Errors
    /// As [`new`](AsyncFd::new).
    ///
    /// # Panics
    /// As [`new`](AsyncFd::new).
    pub fn new_nonblocking(inner: T) -> io::Result<Self> {
        let raw = inner.as_socket().as_raw_socket();
        Self::register(inner, raw)
    }
}

impl<T> AsyncFd<T> {
    /// The descriptor that `inner` owns or borrows.
    fn register(inner: T, raw: Raw) -> io::Result<Self> {
        let reactor = DriverHandle::with(|handle, _| handle.reactor())?;
        // SAFETY: what `inner` lends is open for as long as it is not dropped or changed, and it is handed out by shared reference alone
        // until the registration was dropped.
        let registration = unsafe { reactor.register(raw) }?;
        Ok(Self {
            registration,
            inner,
        })
    }

    /// The value that the descriptor belongs to.
    ///
    /// There is no exclusive reference, by which the descriptor could be exchanged for another.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// Deregisters the descriptor, and gives it back, non-blocking as it is.
    ///
    /// # Errors
    /// None, at present.
    ///
    /// # Example
    /// ```
    /// use joint::io::AsyncFd;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// let socket = AsyncFd::new(std::net::UdpSocket::bind("127.0.0.1:0")?)?;
    /// let socket = socket.into_inner()?;
    /// socket.set_nonblocking(false)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_inner(self) -> io::Result<T> {
        let Self {
            registration,
            inner,
        } = self;
        drop(registration);
        Ok(inner)
    }

    /// Waits until the descriptor can be read without blocking, or has hung up, or has an error.
    ///
    /// It asks the system anew each time. So it never reports what was there before and is used up by now, whoever has used it; and
    /// another waiter may be faster, so that a read blocks all the same. [`read_with`](AsyncFd::read_with) does without asking.
    ///
    /// # Errors
    /// That the descriptor was closed under it; or that the executor that serves it is gone, even
    /// if the descriptor is ready.
    ///
    /// # Example
    /// ```
    /// use joint::io::AsyncFd;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
    /// socket.send_to(b"self", socket.local_addr()?)?;
    /// let socket = AsyncFd::new(socket)?;
    /// joint::block_on(socket.readable())?;
    /// assert_eq!(socket.get_ref().recv(&mut [0; 16])?, 4);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn readable(&self) -> io::Result<()> {
        self.registration.ready(Interest::Read).await
    }

    /// As [`readable`](AsyncFd::readable), for writing: there is room, or nobody will ever read it.
    ///
    /// # Errors
    /// As [`readable`](AsyncFd::readable).
    ///
    /// # Example
    /// ```
    /// use joint::io::AsyncFd;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// let socket = AsyncFd::new(std::net::UdpSocket::bind("127.0.0.1:0")?)?;
    /// joint::block_on(socket.writable())?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn writable(&self) -> io::Result<()> {
        self.registration.ready(Interest::Write).await
    }

    /// As [`readable`](AsyncFd::readable). Of several callers that wait, the last one's task alone is woken, and that of nobody who calls
    /// `poll_read` or the like beside it.
    ///
    /// # Errors
    /// As [`readable`](AsyncFd::readable).
    pub fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registration.poll_ready(Interest::Read, cx)
    }

    /// As [`writable`](AsyncFd::writable). Of several callers that wait, the last one's task alone is woken, and that of nobody who calls
    /// `poll_write` or the like beside it.
    ///
    /// # Errors
    /// As [`readable`](AsyncFd::readable).
    pub fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.registration.poll_ready(Interest::Write, cx)
    }

    /// Does something that reads, as soon as it does not block.
    ///
    /// `read` is tried; when it says `WouldBlock`, it is tried again after the system has told of the descriptor. `Interrupted` is tried
    /// again at once. It must read this descriptor, and give `WouldBlock` on as the system says it, or the task may wait for ever.
    ///
    /// Dropped before it is ready, nothing has been read.
    ///
    /// # Errors
    /// What `read` says beside that; and that the executor that serves the descriptor is gone, when it has to wait.
    ///
    /// # Example
    /// See [`AsyncFd`].
    pub async fn read_with<R>(&self, mut read: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        let registration = &self.registration;
        registration
            .done(Interest::Read, || read(&self.inner))
            .await
    }

    /// As [`read_with`](AsyncFd::read_with), for something that writes.
    ///
    /// # Errors
    /// As [`read_with`](AsyncFd::read_with).
    ///
    /// # Example
    /// See [`AsyncFd`].
    pub async fn write_with<R>(&self, mut write: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        let registration = &self.registration;
        registration
            .done(Interest::Write, || write(&self.inner))
            .await
    }

    /// As [`read_with`](AsyncFd::read_with), for one caller: of several, the last one's task is woken.
    #[inline]
    pub(super) fn poll_read_with<R>(
        &self,
        cx: &mut Context<'_>,
        mut read: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.registration
            .poll(Interest::Read, cx, || read(&self.inner))
    }

    /// As [`write_with`](AsyncFd::write_with), for one caller: of several, the last one's task is woken.
    #[inline]
    pub(super) fn poll_write_with<R>(
        &self,
        cx: &mut Context<'_>,
        mut write: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.registration
            .poll(Interest::Write, cx, || write(&self.inner))
    }

    /// As `poll_read_with`, for a byte stream that `read` reads up to `asked` bytes of. When it reads fewer, the next call waits
    /// without trying, if the system is known to tell of what follows. For TCP alone: see `Registration::poll_stream`.
    #[inline]
    pub(super) fn poll_read_stream(
        &self,
        cx: &mut Context<'_>,
        asked: usize,
        mut read: impl FnMut(&T) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        self.registration
            .poll_stream(Interest::Read, cx, asked, || read(&self.inner))
    }

    /// As `poll_write_with`, for a byte stream that `write` writes up to `asked` bytes to. When it writes fewer, the next call waits
    /// without trying. For TCP and Unix streams.
    #[inline]
    pub(super) fn poll_write_stream(
        &self,
        cx: &mut Context<'_>,
        asked: usize,
        mut write: impl FnMut(&T) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        self.registration
            .poll_stream(Interest::Write, cx, asked, || write(&self.inner))
    }
}

#[cfg(unix)]
impl<T: AsFd> AsFd for AsyncFd<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

#[cfg(unix)]
impl<T: AsRawFd> AsRawFd for AsyncFd<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.inner.as_raw_fd()
    }
}

#[cfg(windows)]
impl<T: AsSocket> AsSocket for AsyncFd<T> {
    fn as_socket(&self) -> BorrowedSocket<'_> {
        self.inner.as_socket()
    }
}

#[cfg(windows)]
impl<T: AsRawSocket> AsRawSocket for AsyncFd<T> {
    fn as_raw_socket(&self) -> RawSocket {
        self.inner.as_raw_socket()
    }
}
