//! Reads into memory that need not be initialised.

use alloc::vec::Vec;
use core::{
    mem::MaybeUninit,
    task::{Context, Poll},
};
use std::io;
#[cfg(unix)]
use std::os::fd::AsRawFd;

use super::{
    AsyncFd,
    by_name::{reads_to_end, short},
};
use crate::driver::reactor::{Open, Way};

impl<T: Open> AsyncFd<T> {
    /// Polls for bytes as `poll_read` of `AsyncRead` does, but into memory that need not be
    /// initialised. Returns the bytes, which are the beginning of `buffer`; none at the end.
    ///
    /// Buffers that are reused need no zeroing this way. That is what the readers of other crates
    /// are made of, such as hyper's `ReadBufCursor` and the `BufMut` of `bytes`.
    ///
    /// # Errors
    /// Returns the system's error, as a read does. On Windows the socket must be connected.
    ///
    /// # Example
    /// ```
    /// # #[cfg(unix)] fn main() -> std::io::Result<()> {
    /// use std::{future::poll_fn, io::Write, os::unix::net::UnixStream};
    ///
    /// use joint_executor::{block_on, io::AsyncFd};
    ///
    /// let (one, mut other) = UnixStream::pair()?;
    /// other.write_all(b"hello")?;
    ///
    /// let one = AsyncFd::new(one)?;
    /// let mut bytes = Vec::with_capacity(4096);
    /// let read = block_on(poll_fn(|cx| {
    ///     let read = one.poll_read_uninit(cx, bytes.spare_capacity_mut());
    ///     read.map_ok(|read| read.len())
    /// }))?;
    /// // SAFETY: these bytes are initialised.
    /// unsafe { bytes.set_len(read) };
    /// assert_eq!(bytes, b"hello");
    /// # Ok(())
    /// # }
    /// # #[cfg(not(unix))] fn main() {}
    /// ```
    pub fn poll_read_uninit<'a>(
        &self,
        cx: &mut Context<'_>,
        buffer: &'a mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<&'a mut [u8]>> {
        let read = self.poll_with(Way::Read, cx, |inner| inner.read_uninit(buffer), |_| false);
        // SAFETY: the read has initialised this part of the buffer.
        read.map_ok(|count| unsafe { initialized(&mut buffer[..count]) })
    }

    reads_to_end!(self by self, counted: false);
}

/// A source of bytes.
pub(super) trait ReadUninit {
    /// Returns how many bytes at the beginning of the buffer are initialised.
    fn read_uninit(self, buffer: &mut [MaybeUninit<u8>]) -> io::Result<usize>;
}

/// Returns the memory that the next bytes are read into. `given` is the capacity that the caller
/// has chosen: if the contents just fit, the last read, which finds the end, needs little more.
#[inline]
pub(super) fn room(buffer: &mut Vec<u8>, given: usize) -> &mut [MaybeUninit<u8>] {
    if buffer.len() == buffer.capacity() {
        match given > 0 && given == buffer.len() {
            true => buffer.reserve_exact(32),
            false => buffer.reserve(8 << 10),
        }
    }
    buffer.spare_capacity_mut()
}

/// Returns the bytes of a buffer.
///
/// # Safety
/// All of them are initialised.
pub(super) unsafe fn initialized(buffer: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    let buffer: *mut [MaybeUninit<u8>] = buffer;
    // SAFETY: the bytes are initialised, as the caller says, and borrowed for as long as the
    // result.
    unsafe { &mut *(buffer as *mut [u8]) }
}

impl<T: Open> ReadUninit for &T {
    #[cfg(unix)]
    #[inline]
    fn read_uninit(self, buffer: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
        // Some systems refuse more at once.
        let most = buffer.len().min(i32::MAX as usize - 1);
        let raw = self.as_fd().as_raw_fd();
        #[cfg(target_os = "linux")]
        // By its number, because the C library's `read` may cancel the thread, and switches that on
        // and off by two exchanges.
        // SAFETY: the system writes into the buffer alone.
        let read = unsafe { libc::syscall(libc::SYS_read, raw, buffer.as_mut_ptr(), most) };
        #[cfg(not(target_os = "linux"))]
        // SAFETY: the system writes into the buffer alone.
        let read = unsafe { libc::read(raw, buffer.as_mut_ptr().cast(), most) };
        usize::try_from(read).map_err(|_| io::Error::last_os_error())
    }

    #[cfg(windows)]
    fn read_uninit(self, buffer: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
        socket2::SockRef::from(self).recv(buffer)
    }
}
