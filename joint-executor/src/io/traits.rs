//! `futures-io`'s traits for [`AsyncFd`], and what it reads and writes with by name.

use core::{
    pin::Pin,
    task::{Context, Poll},
};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};

use futures_io::{AsyncRead, AsyncWrite};

use super::{
    AsyncFd,
    by_name::{reads_by_name, short, writes_by_name},
};
use crate::driver::reactor::Way;

/// Implements a method by an operation on what the descriptor belongs to.
macro_rules! tries {
    ($way:ident: $($method:ident by $call:ident($($argument:ident: $type:ty)?) -> $result:ty;)*) => {$(
        fn $method(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            $($argument: $type)?
        ) -> Poll<io::Result<$result>> {
            self.poll_with(Way::$way, cx, |mut inner| inner.$call($($argument)?), |_| false)
        }
    )*};
}

/// Implements both traits for a type that is an `AsyncFd`, or a reference to one.
macro_rules! reads_and_writes {
    ($($type:ty;)*) => {$(
        impl<T> AsyncRead for $type
        where
            for<'a> &'a T: Read,
        {
            tries! {
                Read:
                poll_read by read(buffer: &mut [u8]) -> usize;
                poll_read_vectored by read_vectored(buffers: &mut [IoSliceMut<'_>]) -> usize;
            }
        }

        impl<T> AsyncWrite for $type
        where
            for<'a> &'a T: Write,
        {
            tries! {
                Write:
                poll_write by write(buffer: &[u8]) -> usize;
                poll_write_vectored by write_vectored(buffers: &[IoSlice<'_>]) -> usize;
                poll_flush by flush() -> ();
            }

            /// Flushes, and leaves the descriptor open.
            fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.poll_flush(cx)
            }
        }
    )*};
}

impl<T> AsyncFd<T>
where
    for<'a> &'a T: Read,
{
    reads_by_name!(self by self, counted: false);
}

impl<T> AsyncFd<T>
where
    for<'a> &'a T: Write,
{
    writes_by_name!(self by self, counted: false);
}

reads_and_writes! {
    AsyncFd<T>;
    &AsyncFd<T>;
}
