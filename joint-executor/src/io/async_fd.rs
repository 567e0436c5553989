//! [`AsyncFd`]: a descriptor that tasks can wait for.

#[cfg(unix)]
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
#[cfg(windows)]
use std::os::windows::io::{AsRawSocket, AsSocket, BorrowedSocket, RawSocket};

use core::{
    fmt,
    task::{Context, Poll},
};
use std::io;

use socket2::SockRef;

use crate::{
    DriverHandle,
    driver::reactor::{Interest, Open, Raw, Registration, Way, borrow, number},
};

/// A descriptor, or on Windows a socket, that tasks can wait for.
///
/// It wraps a value that owns a descriptor, or a reference to such a value. The descriptor can be
/// anything that the system can wait for: a socket, a pipe, a terminal, a `timerfd`, an `inotify`
/// and so on. Files on a disk are always ready but block nevertheless, so use
/// [`spawn_blocking`](crate::spawn_blocking) for them, or on Linux the package `joint-ring`.
///
/// If `&T` can be read and written, `AsyncFd<T>` has `read` and `write`, and it and `&AsyncFd<T>`
/// implement `AsyncRead` and `AsyncWrite` of `futures-io`. Their `poll_close` flushes, but neither
/// shuts down nor closes anything. The descriptor is closed when its owner is dropped. For all
/// other operations use [`read_with`](AsyncFd::read_with) and [`write_with`](AsyncFd::write_with).
///
/// Dropping it deregisters the descriptor first. A task that waits for it by a `poll_…` function is
/// not woken.
///
/// The [module](super) says which executor serves it, and which tasks may wait for it.
///
/// # Example
/// ```
/// use std::net::UdpSocket;
///
/// use joint_executor::io::AsyncFd;
///
/// # fn main() -> std::io::Result<()> {
/// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
/// let address = other.local_addr()?;
/// let (one, other) = (AsyncFd::new(one)?, AsyncFd::new(other)?);
/// let received = joint_executor::spawn(async move {
///     let mut buffer = [0; 16];
///     let count = other.read_with(|socket| socket.recv(&mut buffer)).await?;
///     std::io::Result::Ok(buffer[..count].to_vec())
/// });
/// joint_executor::block_on(one.write_with(|socket| socket.send_to(b"ping", address)))?;
/// assert_eq!(joint_executor::block_on(received)?, b"ping");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AsyncFd<T> {
    /// Comes first so that it is dropped first, while the descriptor is still open.
    pub(super) registration: Registration,
    inner: T,
}

/// The error of [`AsyncFd::try_new`] and of [`AsyncFd::try_with_interest`], with the value that
/// could not be made awaitable.
pub struct AsyncFdTryNewError<T> {
    inner: T,
    error: io::Error,
}

impl<T> AsyncFdTryNewError<T> {
    /// Returns the value, and why the system refused it.
    pub fn into_parts(self) -> (T, io::Error) {
        (self.inner, self.error)
    }
}

/// Drops the value.
impl<T> From<AsyncFdTryNewError<T>> for io::Error {
    fn from(failed: AsyncFdTryNewError<T>) -> Self {
        failed.error
    }
}

impl<T> fmt::Debug for AsyncFdTryNewError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T> fmt::Display for AsyncFdTryNewError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T> core::error::Error for AsyncFdTryNewError<T> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        self.error.source()
    }
}

/// Registers a descriptor for an interest with the executor that this code belongs to. If it
/// `is_blocking`, sets it to non-blocking before.
///
/// # Safety
/// As for [`Reactor::register`](crate::driver::reactor::Reactor::register).
unsafe fn register(raw: Raw, is_blocking: bool, interest: Interest) -> io::Result<Registration> {
    if is_blocking {
        // SAFETY: the caller promises that it is open.
        SockRef::from(&unsafe { borrow(raw) }).set_nonblocking(true)?;
    }
    let reactor = DriverHandle::with(|handle, _| handle.reactor())?;
    // SAFETY: the caller promises it.
    unsafe { reactor.register(raw, interest) }
}

/// The value is never pinned.
impl<T> Unpin for AsyncFd<T> {}

impl<T: Open> AsyncFd<T> {
    /// Makes a descriptor awaitable, and sets it to non-blocking.
    ///
    /// The descriptor stays non-blocking after [`into_inner`](AsyncFd::into_inner). The mode is
    /// shared with its duplicates, and with other programs that have inherited it, such as those
    /// that use the same terminal as the standard input of this program.
    ///
    /// # Cost
    /// Three or four system calls. The first `AsyncFd` of an executor also creates its source of
    /// events.
    ///
    /// # Errors
    /// Returns the system's error, for example if no descriptor is free. The kind is `Unsupported`
    /// if the system cannot wait for this type of descriptor, and `AlreadyExists` if the executor
    /// serves this descriptor already.
    ///
    /// # Panics
    /// Panics if the global executor is needed and cannot be started.
    pub fn new(inner: T) -> io::Result<Self> {
        Self::try_new(inner).map_err(io::Error::from)
    }

    /// Makes a descriptor awaitable as [`new`](AsyncFd::new) does, and gives it back if that fails.
    ///
    /// # Errors
    /// As for [`new`](AsyncFd::new), with `inner`. It may have been set to non-blocking.
    ///
    /// # Panics
    /// As for [`new`](AsyncFd::new).
    ///
    /// # Example
    /// ```
    /// # #[cfg(target_os = "linux")] {
    /// use joint_executor::io::AsyncFd;
    ///
    /// // The system cannot wait for a file on a disk.
    /// let file = std::fs::File::open("Cargo.toml")?;
    /// let (file, error) = AsyncFd::try_new(file).unwrap_err().into_parts();
    /// assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
    /// assert!(file.metadata()?.is_file());
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_new(inner: T) -> Result<Self, AsyncFdTryNewError<T>> {
        Self::register(inner, true, Interest::ALL)
    }

    /// Makes a descriptor awaitable as [`new`](AsyncFd::new) does, but only for what is in the
    /// interest. Without one in writing, for example, a worker that waits for descriptors is not
    /// woken each time that there is room to write. Hang-ups and errors wake it in any case.
    ///
    /// An operation in a direction that is not in the interest is tried all the same. If it would
    /// have to wait, it fails with an error of the kind `InvalidInput`, and so do the functions
    /// that only wait, such as [`writable`](AsyncFd::writable). Urgent data and errors are one
    /// direction.
    ///
    /// # Errors
    /// As for [`new`](AsyncFd::new).
    ///
    /// # Panics
    /// As for [`new`](AsyncFd::new).
    ///
    /// # Example
    /// ```
    /// # #[cfg(unix)] {
    /// use std::{io::Write, os::unix::net::UnixStream};
    ///
    /// use joint_executor::{block_on, io::{AsyncFd, Interest}};
    ///
    /// let (ours, mut other) = UnixStream::pair()?;
    /// let ours = AsyncFd::with_interest(ours, Interest::READABLE)?;
    /// other.write_all(b"ping")?;
    /// assert!(block_on(ours.readable())?.ready().is_readable());
    /// let error = block_on(ours.writable()).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn with_interest(inner: T, interest: Interest) -> io::Result<Self> {
        Self::try_with_interest(inner, interest).map_err(io::Error::from)
    }

    /// Makes a descriptor awaitable as [`with_interest`](AsyncFd::with_interest) does, and gives it
    /// back if that fails.
    ///
    /// # Errors
    /// As for [`try_new`](AsyncFd::try_new).
    ///
    /// # Panics
    /// As for [`new`](AsyncFd::new).
    pub fn try_with_interest(inner: T, interest: Interest) -> Result<Self, AsyncFdTryNewError<T>> {
        Self::register(inner, true, interest)
    }

    /// Makes a descriptor awaitable that is non-blocking already.
    ///
    /// If it is in blocking mode, its operations block the worker.
    ///
    /// # Errors
    /// As for [`new`](AsyncFd::new).
    ///
    /// # Panics
    /// As for [`new`](AsyncFd::new).
    pub fn new_nonblocking(inner: T) -> io::Result<Self> {
        Self::register(inner, false, Interest::ALL).map_err(io::Error::from)
    }

    fn register(
        inner: T,
        is_blocking: bool,
        interest: Interest,
    ) -> Result<Self, AsyncFdTryNewError<T>> {
        // SAFETY: the descriptor of `inner` is open as long as `inner` is not dropped or changed,
        // and `inner` is given out only by shared reference until the registration has been
        // dropped.
        match unsafe { register(number(&inner), is_blocking, interest) } {
            Ok(registration) => Ok(Self {
                registration,
                inner,
            }),
            Err(error) => Err(AsyncFdTryNewError { inner, error }),
        }
    }
}

impl<T> AsyncFd<T> {
    /// Returns the value that the descriptor belongs to.
    ///
    /// There is no method for an exclusive reference, because with one the descriptor could be
    /// replaced.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// Deregisters the descriptor, and returns its owner. The descriptor stays non-blocking.
    ///
    /// # Errors
    /// Currently none.
    pub fn into_inner(self) -> io::Result<T> {
        drop(self.registration);
        Ok(self.inner)
    }

    /// Calls a function that reads, until it no longer returns `WouldBlock`.
    ///
    /// After a `WouldBlock`, `read` is called again once the system reports the descriptor as
    /// ready. After an `Interrupted`, `read` is called again at once. It must read from this
    /// descriptor, and must pass on `WouldBlock` exactly when the system returns it, or the task
    /// may wait forever.
    ///
    /// If the future is dropped before it is ready, nothing has been read.
    ///
    /// # Errors
    /// Returns any other error of `read`. If `read` has to wait and the executor that serves the
    /// descriptor is gone, returns an error that says so.
    ///
    /// # Example
    /// See [`AsyncFd`].
    pub async fn read_with<R>(&self, read: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.done(Way::Read, read, |_| false).await
    }

    /// Calls a function that writes, until it no longer returns `WouldBlock`. Otherwise it works as
    /// [`read_with`](AsyncFd::read_with).
    ///
    /// # Errors
    /// As for [`read_with`](AsyncFd::read_with).
    ///
    /// # Example
    /// See [`AsyncFd`].
    pub async fn write_with<R>(&self, write: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.done(Way::Write, write, |_| false).await
    }

    /// Does an operation as [`read_with`](AsyncFd::read_with) does. `Registration::poll` says what
    /// `fell_short` is for.
    pub(super) async fn done<R>(
        &self,
        way: Way,
        mut operation: impl FnMut(&T) -> io::Result<R>,
        fell_short: impl Fn(&R) -> bool,
    ) -> io::Result<R> {
        let operation = || operation(&self.inner);
        self.registration.done(way, operation, fell_short).await
    }

    /// Polls as [`done`](AsyncFd::done) does, but of several callers only the last one's task is
    /// woken.
    #[inline]
    pub(super) fn poll_with<R>(
        &self,
        way: Way,
        cx: &mut Context<'_>,
        mut operation: impl FnMut(&T) -> io::Result<R>,
        fell_short: impl Fn(&R) -> bool,
    ) -> Poll<io::Result<R>> {
        self.registration
            .poll(way, cx, || operation(&self.inner), fell_short)
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
