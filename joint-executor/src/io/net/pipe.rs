//! [`pipe`]: a byte stream from a [`PipeWriter`] to a [`PipeReader`], within a process or between
//! two.

use std::{
    fs::File,
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use libc::{F_GETFL, O_ACCMODE, O_RDONLY, O_WRONLY};

use crate::{driver::reactor::checked, io::AsyncFd};

/// Creates a pipe. Programs that are started do not inherit its descriptors.
///
/// # Errors
/// Returns the system's error, for example if no descriptor is free.
///
/// # Example
/// ```
/// use futures_lite::AsyncReadExt;
///
/// # joint_executor::block_on(async {
/// let (mut reader, writer) = joint_executor::io::pipe()?;
/// writer.write_all(b"hello").await?;
/// drop(writer);
/// let mut text = String::new();
/// reader.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok::<(), std::io::Error>(())
/// # })?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[inline]
pub fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = descriptors()?;
    Ok((reader.try_into()?, writer.try_into()?))
}

#[inline]
fn descriptors() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut both = [0; 2];
    create(&mut both)?;
    // SAFETY: they have just been opened, and nobody else closes them.
    let owned = |raw| unsafe { OwnedFd::from_raw_fd(raw) };
    Ok((owned(both[0]), owned(both[1])))
}

#[cfg(not(any(
    target_vendor = "apple",
    target_os = "aix",
    target_os = "haiku",
    target_os = "nto"
)))]
fn create(both: &mut [libc::c_int; 2]) -> io::Result<()> {
    // SAFETY: there is room for two descriptors.
    checked(unsafe { libc::pipe2(both.as_mut_ptr(), libc::O_CLOEXEC) })?;
    Ok(())
}

/// For systems that cannot create the descriptors with close-on-exec in one step.
#[cfg(any(
    target_vendor = "apple",
    target_os = "aix",
    target_os = "haiku",
    target_os = "nto"
))]
fn create(both: &mut [libc::c_int; 2]) -> io::Result<()> {
    // SAFETY: there is room for two descriptors.
    checked(unsafe { libc::pipe(both.as_mut_ptr()) })?;
    for raw in *both {
        // It cannot fail for a descriptor that is open.
        // SAFETY: the flag is what this operation takes.
        unsafe { libc::fcntl(raw, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok(())
}

/// The reading end of a pipe. It implements [`AsyncRead`](futures_io::AsyncRead), and so do
/// references to it.
///
/// A read returns 0 bytes, which is the end, when all writers are closed and everything has been
/// read. Any descriptor that is a stream of bytes can be converted to a `PipeReader`, such as the
/// output of a child process, or the end of a pipe with other modes.
///
/// # Named pipes
/// A FIFO that is opened for reading in non-blocking mode before a writer has opened it reads as
/// ended. The bytes of a later writer can still be read after that. A FIFO that is opened for both
/// reading and writing never returns the end.
///
/// # Example
/// ```
/// use std::{os::fd::OwnedFd, process::{Command, Stdio}};
///
/// use futures_lite::AsyncReadExt;
/// use joint_executor::io::PipeReader;
///
/// let mut child = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn()?;
/// let output = OwnedFd::from(child.stdout.take().unwrap());
/// let mut reader = PipeReader::try_from(output)?;
/// let mut text = String::new();
/// joint_executor::block_on(reader.read_to_string(&mut text))?;
/// assert_eq!(text, "hello\n");
/// child.wait()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct PipeReader(pub(super) AsyncFd<File>);

/// The writing end of a pipe. It implements [`AsyncWrite`](futures_io::AsyncWrite), and so do
/// references to it.
///
/// A write waits while the pipe is full. Up to `PIPE_BUF` bytes (at least 512, on Linux 4096) are
/// written at once, and are never interleaved with those of other writers. The reader sees the end
/// when the `PipeWriter` is dropped. `poll_close` does nothing.
///
/// # Errors
/// A write fails with [`BrokenPipe`](io::ErrorKind::BrokenPipe) if all readers are closed. The
/// system also sends the signal `SIGPIPE`, which Rust programs ignore by default.
pub struct PipeWriter(pub(super) AsyncFd<File>);

/// Implements the conversions of both ends from and to descriptors. A descriptor that is open only
/// for the other direction is refused.
macro_rules! owns {
    ($($name:ident, not $wrong:ident, which is for $other:literal;)*) => {$(
        impl $name {
            /// Converts it back to the descriptor, which stays non-blocking.
            ///
            /// # Errors
            /// Returns the system's error if the descriptor cannot be deregistered.
            #[inline]
            pub fn into_owned_fd(self) -> io::Result<OwnedFd> {
                self.0.into_inner().map(OwnedFd::from)
            }
        }

        /// Sets the descriptor to non-blocking, also for other programs that share this end of the
        /// pipe.
        ///
        /// A descriptor that is open only for the other direction is an error of the kind
        /// [`InvalidInput`](io::ErrorKind::InvalidInput).
        impl TryFrom<OwnedFd> for $name {
            type Error = io::Error;

            #[inline]
            fn try_from(descriptor: OwnedFd) -> io::Result<Self> {
                // SAFETY: this operation takes no argument.
                let flags = checked(unsafe { libc::fcntl(descriptor.as_raw_fd(), F_GETFL) })?;
                if flags & O_ACCMODE == $wrong {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidInput,
                        concat!(
                            "this descriptor is open only for the other direction; make it a `",
                            $other,
                            "`"
                        ),
                    ));
                }
                AsyncFd::new(File::from(descriptor)).map(Self)
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_tuple(stringify!($name)).field(self.0.get_ref()).finish()
            }
        }
    )*};
}

owns! {
    PipeReader, not O_WRONLY, which is for "PipeWriter";
    PipeWriter, not O_RDONLY, which is for "PipeReader";
}
