//! Reading into buffers and writing from them: the operations that files and sockets share.

use core::ops::RangeFrom;
use std::{io, net, os::fd::AsRawFd, sync::Arc};

use io_uring::{opcode, squeue::Entry, types::Fd};

use crate::{
    block::Data,
    buffer::{Buffer, BufferMut},
    ring::{Request, started},
};

/// What bytes are read from or written to. It keeps the descriptor open.
#[derive(Clone)]
pub(crate) enum Place {
    /// A file, at an offset.
    File(Arc<std::fs::File>, u64),
    Stream(Arc<net::TcpStream>),
}

/// The most bytes that one operation takes, as in Linux's `read`.
fn count(length: usize) -> u32 {
    const MOST: u32 = 0x7fff_f000;
    u32::try_from(length).map_or(MOST, |length| length.min(MOST))
}

/// The offset in a request, where the largest number would mean the file's own position. The kernel
/// refuses the number before it, as `pread` refuses both.
fn from_offset(offset: u64) -> u64 {
    offset.min(u64::MAX - 1)
}

pub(crate) struct Read<B> {
    place: Place,
    buffer: B,
}

// SAFETY: a buffer's memory stays valid and in its place until the buffer is used or dropped.
unsafe impl<B: BufferMut> Data for Read<B> {
    type Entry = Entry;
    type Output = (io::Result<usize>, B);

    fn entry(&mut self) -> Entry {
        let room = self.buffer.room();
        let (start, length) = (room.cast(), count(room.len()));
        match &self.place {
            Place::File(file, offset) => opcode::Read::new(Fd(file.as_raw_fd()), start, length)
                .offset(from_offset(*offset))
                .build(),
            Place::Stream(stream) => {
                opcode::Recv::new(Fd(stream.as_raw_fd()), start, length).build()
            }
        }
    }

    fn output(mut self, answer: io::Result<u32>) -> Self::Output {
        let answer = answer.map(|count| count as usize);
        if let Ok(count) = answer {
            // SAFETY: the kernel has written this many bytes to the start of the memory.
            unsafe { self.buffer.set_filled(count) };
        }
        (answer, self.buffer)
    }
}

struct Write<B> {
    place: Place,
    buffer: B,
    from: RangeFrom<usize>,
}

// SAFETY: as for `Read`.
unsafe impl<B: Buffer> Data for Write<B> {
    type Entry = Entry;
    type Output = (io::Result<usize>, B);

    fn entry(&mut self) -> Entry {
        let bytes = &self.buffer.bytes()[self.from.clone()];
        let (start, length) = (bytes.as_ptr(), count(bytes.len()));
        match &self.place {
            Place::File(file, offset) => opcode::Write::new(Fd(file.as_raw_fd()), start, length)
                .offset(from_offset(*offset))
                .build(),
            Place::Stream(stream) => opcode::Send::new(Fd(stream.as_raw_fd()), start, length)
                .flags(libc::MSG_NOSIGNAL)
                .build(),
        }
    }

    fn output(self, answer: io::Result<u32>) -> Self::Output {
        (answer.map(|count| count as usize), self.buffer)
    }
}

/// Reads once, into all of the buffer's memory.
pub(crate) fn read<B: BufferMut>(place: Place, buffer: B) -> Request<Read<B>> {
    started(Read { place, buffer })
}

/// Writes once, from an index of the buffer on.
pub(crate) async fn write<B: Buffer>(
    place: Place,
    buffer: B,
    from: usize,
) -> (io::Result<usize>, B) {
    let from = from..;
    started(Write {
        place,
        buffer,
        from,
    })
    .await
}

/// Writes all of the buffer, in as many operations as that takes.
pub(crate) async fn write_all<B: Buffer>(place: Place, mut buffer: B) -> (io::Result<()>, B) {
    let mut written = 0;
    while written < buffer.bytes().len() {
        let place = match &place {
            Place::File(file, offset) => {
                Place::File(file.clone(), offset.saturating_add(written as u64))
            }
            stream => stream.clone(),
        };
        let result;
        (result, buffer) = write(place, buffer, written).await;
        match result {
            Ok(0) => return (Err(io::ErrorKind::WriteZero.into()), buffer),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (Err(error), buffer),
        }
    }
    (Ok(()), buffer)
}
