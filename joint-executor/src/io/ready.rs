//! Waiting until an [`AsyncFd`] is ready, and the guards that report what its user has found.

use core::{
    fmt,
    task::{Context, Poll},
};
use std::io;

use super::AsyncFd;
use crate::driver::reactor::{Found, Interest, Ready, Way, would_block};
use joint::budget;

/// What a wait for an [`AsyncFd`] has found. Operations on the descriptor are tried by it.
///
/// Dropping it forgets nothing. The next wait asks the system again, and ends at once if the
/// descriptor is still ready.
#[derive(Debug)]
pub struct AsyncFdReadyGuard<'a, T> {
    fd: &'a AsyncFd<T>,
    found: Found,
}

/// The operation of a [guard](AsyncFdReadyGuard::try_io) would block.
#[derive(Debug)]
pub struct TryIoError(());

impl fmt::Display for TryIoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the operation would block; wait until the descriptor is ready again")
    }
}

impl core::error::Error for TryIoError {}

impl<T> AsyncFd<T> {
    /// Waits until the descriptor can be read without blocking, or has hung up, or has an error.
    ///
    /// Each call asks the system again, so it never reports data that has been read meanwhile, by
    /// any reader. Another waiter may still be faster, so that a read after this call would block.
    /// [`read_with`](AsyncFd::read_with) does not need the extra system call.
    ///
    /// # Errors
    /// Returns an error if the descriptor was closed by other means, or if the executor that serves
    /// it is gone, even if the descriptor is ready.
    ///
    /// # Example
    /// ```
    /// use joint_executor::io::AsyncFd;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
    /// socket.send_to(b"self", socket.local_addr()?)?;
    /// let socket = AsyncFd::new(socket)?;
    /// let received = joint_executor::block_on(async {
    ///     loop {
    ///         let mut guard = socket.readable().await?;
    ///         match guard.try_io(|socket| socket.get_ref().recv(&mut [0; 16])) {
    ///             Ok(received) => return received,
    ///             Err(_would_block) => {}
    ///         }
    ///     }
    /// })?;
    /// assert_eq!(received, 4);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn readable(&self) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.ready(Interest::READABLE).await
    }

    /// Waits until the descriptor can be written without blocking, or has no reader left, or has an
    /// error. Otherwise it works as [`readable`](AsyncFd::readable).
    ///
    /// # Errors
    /// As for [`readable`](AsyncFd::readable).
    pub async fn writable(&self) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        self.ready(Interest::WRITABLE).await
    }

    /// Waits until the descriptor is ready for anything of a set. The guard names what it is ready
    /// for, but may leave out what has become ready just before this call. Otherwise it works as
    /// [`readable`](AsyncFd::readable).
    ///
    /// # Errors
    /// As for [`readable`](AsyncFd::readable).
    pub async fn ready(&self, interest: Interest) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        let found = self.registration.ready(interest).await?;
        Ok(AsyncFdReadyGuard { fd: self, found })
    }

    /// Polls for what [`readable`](AsyncFd::readable) waits for. If several tasks call this or
    /// another `poll_…` function that reads, only the task of the last caller is woken.
    ///
    /// # Errors
    /// As for [`readable`](AsyncFd::readable).
    #[doc(alias = "poll_readable")]
    pub fn poll_read_ready(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'_, T>>> {
        self.poll_ready(Way::Read, cx)
    }

    /// Polls for what [`writable`](AsyncFd::writable) waits for. If several tasks call this or
    /// another `poll_…` function that writes, only the task of the last caller is woken.
    ///
    /// # Errors
    /// As for [`readable`](AsyncFd::readable).
    #[doc(alias = "poll_writable")]
    pub fn poll_write_ready(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'_, T>>> {
        self.poll_ready(Way::Write, cx)
    }

    fn poll_ready(
        &self,
        way: Way,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'_, T>>> {
        let found = self.registration.poll_asked(way, cx);
        found.map_ok(|found| AsyncFdReadyGuard { fd: self, found })
    }

    /// Calls an operation once. If it returns `WouldBlock`, operations and waiters in these
    /// directions wait for the next event. The operation must pass on `WouldBlock` exactly when the
    /// system returns it, or they may wait forever.
    ///
    /// # Errors
    /// Returns the operation's error.
    pub fn try_io<R>(
        &self,
        interest: Interest,
        operation: impl FnOnce(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        let found = self.registration.look(interest);
        let result = operation(self.get_ref());
        self.registration.attempted(found, would_block(&result));
        result
    }

    /// Waits until the descriptor is [ready](AsyncFd::ready) and calls an operation, until it no
    /// longer returns `WouldBlock`. If the operation only reads or only writes,
    /// [`read_with`](AsyncFd::read_with) and [`write_with`](AsyncFd::write_with) save the wait.
    ///
    /// # Errors
    /// As for [`ready`](AsyncFd::ready), or any other error of the operation.
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut operation: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        loop {
            let mut guard = self.ready(interest).await?;
            if let Ok(result) = guard.try_io(|fd| operation(fd.get_ref())) {
                return result;
            }
        }
    }
}

impl<'a, T> AsyncFdReadyGuard<'a, T> {
    /// Forgets that the descriptor was ready, unless an event has arrived since. The next wait ends
    /// at the next event, so call this only if an operation of this guard would have blocked. That
    /// is what [`try_io`](Self::try_io) does.
    pub fn clear_ready(&mut self) {
        self.clear_ready_matching(Ready::ALL);
    }

    /// Forgets a part of what was found, as [`clear_ready`](Self::clear_ready) does.
    pub fn clear_ready_matching(&mut self, ready: Ready) {
        self.fd.registration.clear(&mut self.found, ready);
    }

    /// Says that an operation was done, so that nothing is to be forgotten. The
    /// [budget](super#fairness) counts it.
    pub fn retain_ready(&mut self) {
        budget::spend();
    }

    /// Returns what was found, without what has been cleared.
    #[must_use]
    pub fn ready(&self) -> Ready {
        self.found.ready
    }

    /// Calls an operation, and [forgets](Self::clear_ready) that the descriptor was ready if the
    /// operation returns `WouldBlock`. It must pass that on exactly when the system returns it.
    ///
    /// # Errors
    /// Returns a [`TryIoError`] if the operation would block. All other errors of the operation are
    /// in the result.
    ///
    /// # Example
    /// See [`readable`](AsyncFd::readable).
    pub fn try_io<R>(
        &mut self,
        operation: impl FnOnce(&'a AsyncFd<T>) -> io::Result<R>,
    ) -> Result<io::Result<R>, TryIoError> {
        let result = operation(self.fd);
        if would_block(&result) {
            self.clear_ready();
            return Err(TryIoError(()));
        }
        self.retain_ready();
        Ok(result)
    }

    /// Returns the descriptor that was waited for.
    #[must_use]
    pub fn get_ref(&self) -> &'a AsyncFd<T> {
        self.fd
    }

    /// Returns the value that the descriptor belongs to.
    #[must_use]
    pub fn get_inner(&self) -> &'a T {
        self.fd.get_ref()
    }
}
