//! hyper's traits for joint: a stream, an executor and timers.
//!
//! Reads are made into hyper's own buffer, which is never zeroed. [`JointIo`] is for the streams of
//! `joint-executor`. [`FuturesIo`] is for all other streams of `futures-io`, such as those of TLS,
//! and copies what it reads, because that trait asks for an initialised buffer.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use futures_lite::{
    AsyncRead, AsyncWrite,
    io::{AsyncBufRead, BufReader},
};
use hyper::rt::{Executor, Read, ReadBufCursor, Sleep, Timer, Write};
use joint_executor::io::TcpStream;
#[cfg(unix)]
use joint_executor::io::UnixStream;

/// A head and a body that are not longer than this together are written as one slice: copying them
/// takes less than the system needs for several.
const SMALL: usize = 512;

/// A stream of `joint-executor`, for hyper.
///
/// # Example
/// ```
/// use http_server::glue::{JointIo, JointTimer};
/// use hyper::{Response, server::conn::http1, service::service_fn};
/// use joint_executor::io::TcpListener;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let listener = TcpListener::bind("127.0.0.1:8080").await?;
/// let (stream, _) = listener.accept().await?;
/// let hello = async |_| Ok::<_, std::io::Error>(Response::new("hello".to_owned()));
/// http1::Builder::new()
///     .timer(JointTimer)
///     .serve_connection(JointIo(stream), service_fn(hello))
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct JointIo<S>(pub S);

/// A stream of `futures-io`, for hyper.
#[derive(Debug)]
pub struct FuturesIo<S>(BufReader<S>);

/// The executor of the task that calls it, for hyper. On other threads it is the global executor.
#[derive(Clone, Copy, Debug, Default)]
pub struct JointExecutor;

/// The timers of `joint-executor`, for hyper.
#[derive(Clone, Copy, Debug, Default)]
pub struct JointTimer;

#[derive(Debug)]
struct JointSleep(joint_executor::time::Sleep);

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

impl<S: AsyncWrite + Unpin> Write for JointIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
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

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}

impl<S: AsyncRead> FuturesIo<S> {
    /// Reads up to 16 KiB at a time, the length of a record of TLS.
    pub fn new(stream: S) -> Self {
        Self(BufReader::with_capacity(16 << 10, stream))
    }

    /// Returns the stream. Data that was read from it, but not yet by hyper, is lost.
    pub fn into_inner(self) -> S {
        self.0.into_inner()
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
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(self.0.get_mut()).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.0.get_mut()).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.0.get_mut()).poll_close(cx)
    }
}

impl<F> Executor<F> for JointExecutor
where
    F: Future + Send + 'static,
{
    fn execute(&self, future: F) {
        joint_executor::spawn_detached(future);
    }
}

impl Timer for JointTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(JointSleep(joint_executor::time::sleep(duration)))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(JointSleep(joint_executor::time::sleep_until(deadline)))
    }

    fn now(&self) -> Instant {
        joint_executor::time::now()
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<JointSleep>() {
            Some(mut ours) => ours.0.reset(deadline),
            None => *sleep = self.sleep_until(deadline),
        }
    }
}

impl Sleep for JointSleep {}

impl Future for JointSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx)
    }
}
