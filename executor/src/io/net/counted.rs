//! [`Counted`]: a stream that saves system calls which would only return `WouldBlock`.

use core::{
    pin::Pin,
    task::{Context, Poll},
};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};

use futures_io::{AsyncRead, AsyncWrite};

use crate::io::AsyncFd;

/// A stream for which a short count means that there is no more data, or no more room, so that the
/// next call waits without a system call. [`AsyncFd::poll_read_stream`] says where that would be
/// wrong.
pub(super) struct Counted<'a, T>(pub(super) &'a AsyncFd<T>);

/// Implements methods of a trait, each by the corresponding function of the standard library's
/// trait.
macro_rules! counted {
    ($poll:ident; $($method:ident by $call:ident($argument:ident: $type:ty), asked $asked:expr;)*) => {$(
        #[inline]
        fn $method(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            $argument: $type,
        ) -> Poll<io::Result<usize>> {
            let asked = $asked;
            self.0.$poll(cx, asked, |mut inner| inner.$call($argument))
        }
    )*};
}

impl<T> AsyncRead for Counted<'_, T>
where
    for<'b> &'b T: Read,
{
    counted! {
        poll_read_stream;
        poll_read by read(buffer: &mut [u8]), asked buffer.len();
        poll_read_vectored by read_vectored(buffers: &mut [IoSliceMut<'_>]),
            asked buffers.iter().map(|buffer| buffer.len()).sum();
    }
}

impl<'a, T> AsyncWrite for Counted<'a, T>
where
    for<'b> &'b T: Write,
{
    counted! {
        poll_write_stream;
        poll_write by write(bytes: &[u8]), asked bytes.len();
        poll_write_vectored by write_vectored(slices: &[IoSlice<'_>]),
            asked slices.iter().map(|slice| slice.len()).sum();
    }

    forwards! {
        |fd: &&'a AsyncFd<T>| *fd;
        poll_flush() -> ();
        poll_close() -> ();
    }
}

/// Returns the result of closing a socket by `shutdown`. If the peer is gone, there is nothing to
/// shut down, and that is not an error.
pub(super) fn closed(shutdown: io::Result<()>) -> io::Result<()> {
    match shutdown {
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
        result => result,
    }
}
