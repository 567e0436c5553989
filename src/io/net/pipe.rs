//! [`pipe`]: bytes from one [`PipeWriter`] to one [`PipeReader`], within a process or between two.

use core::{
    pin::Pin,
    task::{Context, Poll},
};
use std::{
    fs::File,
    io::{self, IoSliceMut, Read},
    os::fd::OwnedFd,
};

use futures_io::AsyncRead;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{FileType, OFlags, fcntl_getfl, fstat},
};

use crate::io::AsyncFd;

/// A new pipe. Its descriptors are not handed down to programs that are started.
///
/// # Errors
/// What the system says: no descriptor is free.
///
/// # Example
/// ```
/// use futures_lite::{AsyncReadExt, AsyncWriteExt};
///
/// # joint::block_on(async {
/// let (mut reader, mut writer) = joint::io::pipe()?;
/// writer.write_all(b"hello").await?;
/// drop(writer);
/// let mut text = String::new();
/// reader.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok::<(), std::io::Error>(())
/// # })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = descriptors()?;
    Ok((reader.try_into()?, writer.try_into()?))
}

#[cfg(not(any(
    target_vendor = "apple",
    target_os = "aix",
    target_os = "haiku",
    target_os = "nto"
)))]
fn descriptors() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::pipe::{PipeFlags, pipe_with};

    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// Where the system cannot make them close on exec in one step.
#[cfg(any(
    target_vendor = "apple",
    target_os = "aix",
    target_os = "haiku",
    target_os = "nto"
))]
fn descriptors() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::io::{FdFlags, fcntl_setfd};

    let (reader, writer) = rustix::pipe::pipe()?;
    fcntl_setfd(&reader, FdFlags::CLOEXEC)?;
    fcntl_setfd(&writer, FdFlags::CLOEXEC)?;
    Ok((reader, writer))
}

/// The end of a pipe that is read, by [`AsyncRead`], also by reference.
///
/// It comes to the end, 0 bytes, when all writers have gone and everything is read. Any descriptor whose bytes are read one after
/// the other can be made one of these: a child's output, or the end of a pipe with modes of its own.
///
/// # Named pipes
/// A FIFO that is opened as non-blocking can be opened for reading before anybody has opened it for
/// writing. A read then waits for the first writer, and does not end at once. When all writers have
/// gone, a read comes to the end. What a later writer sends can be read after that. A FIFO that is
/// opened for both reading and writing never comes to the end.
///
/// # Example
/// ```
/// use std::{os::fd::OwnedFd, process::{Command, Stdio}};
///
/// use futures_lite::AsyncReadExt;
/// use joint::io::PipeReader;
///
/// let mut child = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn()?;
/// let output = OwnedFd::from(child.stdout.take().unwrap());
/// let mut reader = PipeReader::try_from(output)?;
/// let mut text = String::new();
/// joint::block_on(reader.read_to_string(&mut text))?;
/// assert_eq!(text, "hello\n");
/// child.wait()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct PipeReader(AsyncFd<File>);

/// The end of a pipe that is written, by [`AsyncWrite`](futures_io::AsyncWrite), also by reference.
///
/// It waits while the pipe is full. Up to 512 bytes (`PIPE_BUF`, on Linux 4096) are written all at once, and never mixed with those of
/// other writers. Dropping it is what ends it for the reader: `poll_close` does nothing.
///
/// # Errors
/// A write fails with [`BrokenPipe`](io::ErrorKind::BrokenPipe) when all readers have gone. The system sends the signal `SIGPIPE` too,
/// which programs in Rust ignore unless they say otherwise.
///
/// # Example
/// ```
/// use futures_lite::AsyncWriteExt;
///
/// # joint::block_on(async {
/// let (reader, mut writer) = joint::io::pipe()?;
/// drop(reader);
/// let error = writer.write_all(b"hello").await.unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
/// # Ok::<(), std::io::Error>(())
/// # })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct PipeWriter(AsyncFd<File>);

/// What both ends are to their descriptors, which must not be open for the other direction alone.
macro_rules! owns {
    ($($name:ident, not $wrong:ident, which is for $other:literal;)*) => {$(
        impl $name {
            /// Takes the descriptor back. It stays non-blocking.
            ///
            /// # Errors
            /// What the system says when it is asked to look after it no longer.
            pub fn into_owned_fd(self) -> io::Result<OwnedFd> {
                self.0.into_inner().map(OwnedFd::from)
            }
        }

        /// Makes it non-blocking, also for whoever has the same end elsewhere.
        ///
        /// A descriptor that is open for the other direction alone is an error of the kind
        /// [`InvalidInput`](io::ErrorKind::InvalidInput).
        impl TryFrom<OwnedFd> for $name {
            type Error = io::Error;

            fn try_from(descriptor: OwnedFd) -> io::Result<Self> {
                if fcntl_getfl(&descriptor)? & OFlags::RWMODE == OFlags::$wrong {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidInput,
                        concat!(
                            "this descriptor is open for the other direction alone: make it a `",
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

        holds!($name);
    )*};
}

owns! {
    PipeReader, not WRONLY, which is for "PipeWriter";
    PipeWriter, not RDONLY, which is for "PipeReader";
}
reads!(PipeReader by Begun);
writes!(PipeWriter by core::convert::identity, closed by |_| Ok(()));

/// A pipe that is read once it has begun: not before there was a writer.
///
/// It is tried each time, and not [counted](super::counted): a read of a pipe that keeps packets
/// apart falls short, though there is more.
struct Begun<'a>(&'a AsyncFd<File>);

impl AsyncRead for Begun<'_> {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        (self.0).poll_read_with(cx, |mut file| match file.read(buffer) {
            Ok(0) if !buffer.is_empty() => end(file),
            read => read,
        })
    }

    #[inline]
    fn poll_read_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        (self.0).poll_read_with(cx, |mut file| match file.read_vectored(buffers) {
            Ok(0) if buffers.iter().any(|buffer| !buffer.is_empty()) => end(file),
            read => read,
        })
    }
}

/// What a read of 0 bytes means: that it has come to the end, or that it has to wait for a writer.
///
/// The system lets a FIFO without a writer be read to its end at any time. But it calls one ready
/// to be read only if there is something, or if there was a writer.
#[cold]
fn end(file: &File) -> io::Result<usize> {
    let mut asked = [PollFd::new(file, PollFlags::IN)];
    let is_ready = poll(&mut asked, Some(&Timespec::default()))? > 0;
    // A terminal, for example, may end more than once, and is not ready after each end.
    if is_ready || !FileType::from_raw_mode(fstat(file)?.st_mode).is_fifo() {
        return Ok(0);
    }
    Err(io::ErrorKind::WouldBlock.into())
}
