//! Reading from a stream, so that a future that is dropped loses no bytes.
//!
//! A read that is dropped while the kernel has it stays with its stream, which the next read waits
//! for first. Its bytes are then copied, because they lie in the buffer of the dropped one.

use core::{
    future::poll_fn,
    pin::Pin,
    ptr, slice,
    task::{Context, Poll},
};
use std::{io, net, sync::Arc};

use joint::budget;

use crate::{
    buffer::BufferMut,
    ring::Request,
    transfer::{self, Place, Read},
    turns::{Keep, Turn, Turns},
};

/// The bytes that dropped reads have left behind.
pub(crate) enum Input {
    /// A read that the kernel has, or has answered.
    Read(Box<dyn Left>),
    /// Bytes for which the next read had no room.
    Bytes(Vec<u8>),
}

/// A read with a buffer of any type.
pub(crate) trait Left: Keep + Send {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>>;
}

impl<B: BufferMut> Left for Request<Read<B>> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        Pin::new(self).poll(cx).map(|(count, mut buffer)| {
            let start = buffer.room().cast::<u8>();
            // SAFETY: the kernel has written this many bytes to the start of the buffer's memory.
            count.map(|count| unsafe { slice::from_raw_parts(start, count) }.to_vec())
        })
    }
}

impl Keep for Input {
    fn rest(&mut self) -> bool {
        match self {
            Self::Read(read) => read.rest(),
            Self::Bytes(_) => true,
        }
    }
}

/// Returns whether the thread on which an operation was started has ended.
pub(crate) fn is_cancelled(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ECANCELED)
}

/// A read in its turn. Dropping it leaves the read to the next one.
struct Reading<'a, B: BufferMut> {
    turn: Turn<'a, Input>,
    read: Request<Read<B>>,
}

impl<B: BufferMut> Drop for Reading<'_, B> {
    fn drop(&mut self) {
        // A read into no memory has left there what it found, and loses nothing itself.
        if self.turn.kept.is_none() && self.read.rest() {
            self.turn.kept = Some(Input::Read(Box::new(self.read.take())));
        }
    }
}

/// Reads once, into all of the buffer's memory.
pub(crate) async fn read<B: BufferMut>(
    turns: &Turns<Input>,
    socket: &Arc<net::TcpStream>,
    mut buffer: B,
) -> (io::Result<usize>, B) {
    let mut turn = turns.turn().await;
    // A read into no memory waits for nothing.
    if !buffer.room().is_empty() {
        match copied(&mut turn, &mut buffer).await {
            Ok(0) => {}
            result => return (result, buffer),
        }
    }
    let read = transfer::read(Place::Stream(socket.clone()), buffer);
    let mut reading = Reading { turn, read };
    (&mut reading.read).await
}

/// Copies into a buffer what was left, and returns how many bytes that is.
async fn copied(turn: &mut Turn<'_, Input>, buffer: &mut impl BufferMut) -> io::Result<usize> {
    if let Some(Input::Read(read)) = &mut turn.kept {
        let result = poll_fn(|cx| read.poll(cx)).await;
        turn.kept = match result {
            Ok(bytes) => Some(Input::Bytes(bytes)),
            Err(error) if is_cancelled(&error) => None,
            Err(error) => {
                turn.kept = None;
                return Err(error);
            }
        };
    }
    if turn.kept.is_none() {
        return Ok(0);
    }
    let mut proceeds = budget::Turn::new();
    poll_fn(|cx| proceeds.poll_proceed(cx)).await;
    budget::spend();
    let Some(Input::Bytes(mut bytes)) = turn.kept.take() else {
        return Ok(0);
    };
    let room = buffer.room();
    let count = bytes.len().min(room.len());
    // SAFETY: the buffer's memory is valid and its own, and has room for this many bytes.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), room.cast(), count) };
    // SAFETY: this many bytes have just been written.
    unsafe { buffer.set_filled(count) };
    bytes.drain(..count);
    if !bytes.is_empty() {
        turn.kept = Some(Input::Bytes(bytes));
    }
    Ok(count)
}
