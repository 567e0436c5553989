//! [`OwnedReadHalf`] and [`OwnedWriteHalf`]: a stream for two owners, one for each direction.

use alloc::sync::Arc;
use core::{
    fmt,
    ops::Deref,
    pin::Pin,
    task::{Context, Poll},
};
use std::io::{self, IoSlice, IoSliceMut};

use futures_io::{AsyncRead, AsyncWrite};

/// The half of a stream that reads, made by its `into_split`.
///
/// It dereferences to the stream, for its addresses, `read`, `peek`, `try_read` and so on. The
/// connection is closed when both halves are dropped.
#[derive(Debug)]
pub struct OwnedReadHalf<S>(Arc<S>);

/// The half of a stream that writes, made by its `into_split`.
///
/// Its drop shuts down the writing direction, so that the peer reads up to the end. It dereferences
/// to the stream, for `write` and so on.
#[derive(Debug)]
pub struct OwnedWriteHalf<S> {
    stream: Arc<S>,
    /// Called by the drop, unless the half was forgotten.
    end: Option<fn(&S)>,
}

/// Two halves that cannot be reunited because they are of different streams.
#[derive(Debug)]
pub struct ReuniteError<S>(pub OwnedReadHalf<S>, pub OwnedWriteHalf<S>);

impl<S> fmt::Display for ReuniteError<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("these halves are of different streams")
    }
}

impl<S: fmt::Debug> core::error::Error for ReuniteError<S> {}

/// Splits a stream. `end` shuts down the writing direction.
pub(super) fn split<S>(stream: S, end: fn(&S)) -> (OwnedReadHalf<S>, OwnedWriteHalf<S>) {
    let stream = Arc::new(stream);
    let end = Some(end);
    (
        OwnedReadHalf(stream.clone()),
        OwnedWriteHalf { stream, end },
    )
}

impl<S> OwnedReadHalf<S> {
    /// Puts the halves together again.
    ///
    /// # Errors
    /// Returns both halves if they are of different streams.
    pub fn reunite(self, other: OwnedWriteHalf<S>) -> Result<S, ReuniteError<S>> {
        if !Arc::ptr_eq(&self.0, &other.stream) {
            return Err(ReuniteError(self, other));
        }
        other.forget();
        match Arc::into_inner(self.0) {
            Some(stream) => Ok(stream),
            None => unreachable!("a stream has two halves, and the other is dropped"),
        }
    }
}

/// Implements reading to the end, which needs no trait, and precedes those of the same name.
macro_rules! reads_to_end {
    ($stream:ty) => {
        impl crate::io::OwnedReadHalf<$stream> {
            /// Reads until the end, and appends the bytes to `buffer`, as the function of the
            /// stream does. Returns their number.
            ///
            /// # Errors
            /// As for the function of the stream.
            pub async fn read_to_end(
                &mut self,
                buffer: &mut alloc::vec::Vec<u8>,
            ) -> std::io::Result<usize> {
                (**self).read_to_end(buffer).await
            }
        }
    };
}

pub(super) use reads_to_end;

impl<S> OwnedWriteHalf<S> {
    /// Puts the halves together again.
    ///
    /// # Errors
    /// Returns both halves if they are of different streams.
    pub fn reunite(self, other: OwnedReadHalf<S>) -> Result<S, ReuniteError<S>> {
        other.reunite(self)
    }

    /// Drops this half without shutting down the writing direction.
    pub fn forget(mut self) {
        self.end = None;
    }
}

impl<S> Drop for OwnedWriteHalf<S> {
    fn drop(&mut self) {
        if let Some(end) = self.end {
            end(&self.stream);
        }
    }
}

impl<S> Deref for OwnedReadHalf<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S> Deref for OwnedWriteHalf<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.stream
    }
}

impl<S> AsyncRead for OwnedReadHalf<S>
where
    for<'a> &'a S: AsyncRead,
{
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self.0).poll_read(cx, buffer)
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self.0).poll_read_vectored(cx, buffers)
    }
}

impl<S> AsyncWrite for OwnedWriteHalf<S>
where
    for<'a> &'a S: AsyncWrite,
{
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self.stream).poll_write_vectored(cx, slices)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut &*self.stream).poll_flush(cx)
    }

    /// Shuts down the writing direction, which the drop does not do again.
    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut &*self.stream).poll_close(cx);
        if let Poll::Ready(Ok(())) = closed {
            self.end = None;
        }
        closed
    }
}
