//! hyper's traits of streams, for streams of joint and of `futures-io`, and the reverse.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_lite::{
    AsyncRead, AsyncWrite,
    io::{AsyncBufRead, BufReader},
};
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use joint_executor::io::TcpStream;
#[cfg(unix)]
use joint_executor::io::UnixStream;

/// A head and a body that are not longer than this together are written as one slice: copying them
/// takes less than the system needs for several.
const SMALL: usize = 512;

/// The most that `FuturesIo` reads at a time: the length of a record of TLS.
const RECORD: usize = 16 << 10;

/// A stream of `joint-executor`, for hyper.
///
/// It reads into hyper's own buffer, which is never zeroed. Several slices are written by one
/// system call; those of up to 512 bytes together are copied into one first. The shutdown closes
/// the writing direction, and the drop closes both.
///
/// It also works the other way round: around a stream of hyper's, which is
/// `hyper::upgrade::Upgraded`, it implements [`AsyncRead`] and [`AsyncWrite`]. To get back the
/// stream itself, `downcast::<JointIo<TcpStream>>` it.
///
/// # Example
/// ```
/// # #[cfg(all(unix, feature = "http1", feature = "server"))]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use futures_lite::{AsyncReadExt, AsyncWriteExt};
/// use hyper::{Response, server::conn::http1, service::service_fn};
/// use joint_executor::{block_on, io::UnixStream, spawn_detached};
/// use joint_hyper::{JointIo, JointTimer};
///
/// let (one, mut other) = UnixStream::pair()?;
/// let hello = service_fn(async |_| hyper::Result::Ok(Response::new("hello".to_owned())));
/// let mut http = http1::Builder::new();
/// let server = http.timer(JointTimer).serve_connection(JointIo(one), hello);
/// spawn_detached(async move { server.await.unwrap() });
///
/// let mut text = String::new();
/// block_on(async {
///     other.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
///     other.read_to_string(&mut text).await
/// })?;
/// assert!(text.ends_with("\r\n\r\nhello"));
/// # Ok(())
/// # }
/// # #[cfg(not(all(unix, feature = "http1", feature = "server")))] fn main() {}
/// ```
#[derive(Debug)]
pub struct JointIo<S>(pub S);

/// A stream of `futures-io`, for hyper.
///
/// It is for streams that are not `joint-executor`'s, such as those of TLS. It reads up to 16 KiB
/// at a time into a buffer of its own and copies from there, because the trait [`AsyncRead`] asks
/// for a buffer that is initialised.
///
/// # Example
/// ```
/// # #[cfg(unix)] fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use joint_executor::io::UnixStream;
/// use joint_hyper::FuturesIo;
///
/// let (one, _other) = UnixStream::pair()?;
/// let encrypted = one; // as `futures_rustls::TlsAcceptor::accept(&acceptor, one).await?` does
/// let io = FuturesIo::new(encrypted);
/// # let _ = io.into_inner();
/// # Ok(())
/// # }
/// # #[cfg(not(unix))] fn main() {}
/// ```
#[derive(Debug)]
pub struct FuturesIo<S>(BufReader<S>);

impl<S: AsyncRead> FuturesIo<S> {
    /// Wraps a stream. This allocates the buffer.
    pub fn new(stream: S) -> Self {
        Self(BufReader::with_capacity(RECORD, stream))
    }

    /// Returns the stream. Data that was read from it, but not yet by hyper, is lost.
    pub fn into_inner(self) -> S {
        self.0.into_inner()
    }
}

/// Reads from a stream of this type by its `poll_read_uninit`.
macro_rules! reads_from {
    ($stream:ty) => {
        impl Read for JointIo<$stream> {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                mut cursor: ReadBufCursor<'_>,
            ) -> Poll<io::Result<()>> {
                // SAFETY: `poll_read_uninit` leaves no byte uninitialised that was initialised
                // before.
                let buffer = unsafe { cursor.as_mut() };
                let count = ready!(self.0.poll_read_uninit(cx, buffer))?.len();
                // SAFETY: `poll_read_uninit` has returned the initialised bytes, which begin the
                // buffer.
                unsafe { cursor.advance(count) };
                Poll::Ready(Ok(()))
            }
        }
    };
}

reads_from!(TcpStream);
#[cfg(unix)]
reads_from!(UnixStream);

/// Methods that a stream inside answers.
macro_rules! pass_on {
    (|$this:ident| $inner:expr;
        $($name:ident($($given:ident: $Given:ty)?) -> $Answer:ty = $method:ident;)*) => {$(
        fn $name(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            $($given: $Given,)?
        ) -> Poll<io::Result<$Answer>> {
            let $this = self.get_mut();
            Pin::new($inner).$method(cx, $($given)?)
        }
    )*};
}

impl<S: AsyncWrite + Unpin> Write for JointIo<S> {
    pass_on! { |it| &mut it.0;
        poll_write(bytes: &[u8]) -> usize = poll_write;
        poll_flush() -> () = poll_flush;
        poll_shutdown() -> () = poll_close;
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = slices.iter().map(|slice| slice.len()).sum();
        let mut joined = [0; SMALL];
        let Some(mut rest) = joined.get_mut(..length) else {
            return Pin::new(&mut self.0).poll_write_vectored(cx, slices);
        };
        for slice in slices {
            let (room, behind) = rest.split_at_mut(slice.len());
            room.copy_from_slice(slice);
            rest = behind;
        }
        Pin::new(&mut self.0).poll_write(cx, &joined[..length])
    }
}

impl<S: AsyncRead + Unpin> Read for FuturesIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.0).poll_fill_buf(cx))?;
        let count = read.len().min(cursor.remaining());
        cursor.put_slice(&read[..count]);
        Pin::new(&mut self.0).consume(count);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Write for FuturesIo<S> {
    pass_on! { |it| it.0.get_mut();
        poll_write(bytes: &[u8]) -> usize = poll_write;
        poll_flush() -> () = poll_flush;
        poll_shutdown() -> () = poll_close;
    }
}

impl<S: Read + Unpin> AsyncRead for JointIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        ready!(Pin::new(&mut self.0).poll_read(cx, buffer.unfilled()))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }
}

impl<S: Write + Unpin> AsyncWrite for JointIo<S> {
    pass_on! { |it| &mut it.0;
        poll_write(bytes: &[u8]) -> usize = poll_write;
        poll_write_vectored(slices: &[IoSlice<'_>]) -> usize = poll_write_vectored;
        poll_flush() -> () = poll_flush;
        poll_close() -> () = poll_shutdown;
    }
}
