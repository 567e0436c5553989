//! Pipes that keep packets apart: a read returns what one write has written, and nothing else.

use std::io;
use std::sync::Arc;

#[cfg(target_os = "linux")]
use self::pipe::PipeFd;
use crate::memory::Queue;

#[derive(Debug)]
pub(crate) enum Writer {
    #[cfg(target_os = "linux")]
    Pipe(PipeFd),
    Memory(Arc<Queue>),
}

#[derive(Debug)]
pub(crate) enum Reader {
    #[cfg(target_os = "linux")]
    Pipe(PipeFd),
    Memory(Arc<Queue>),
}

/// A pipe that holds some packets, in the kernel or in memory.
pub(crate) fn pipe(memory: bool) -> io::Result<(Reader, Writer)> {
    #[cfg(target_os = "linux")]
    if !memory {
        let (reader, writer) = pipe::new()?;
        return Ok((Reader::Pipe(reader), Writer::Pipe(writer)));
    }
    let _always = memory;
    let queue = Arc::<Queue>::default();
    Ok((Reader::Memory(queue.clone()), Writer::Memory(queue)))
}

impl Writer {
    /// Puts a packet in, as soon as there is room for it.
    pub(crate) async fn put(&self, packet: &'static [u8]) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Pipe(fd) => fd.write_with(|fd| pipe::write(fd, packet)).await,
            Self::Memory(queue) => {
                queue.put(packet).await;
                Ok(())
            }
        }
    }
}

impl Reader {
    /// Takes the next packet, as soon as there is one.
    pub(crate) async fn take(&self) -> io::Result<Vec<u8>> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Pipe(fd) => fd.read_with(pipe::read).await,
            Self::Memory(queue) => Ok(queue.take().await.to_vec()),
        }
    }
}

/// Packet pipes: see `O_DIRECT` in `man 2 pipe`.
#[cfg(target_os = "linux")]
mod pipe {
    use std::io;
    use std::os::fd::OwnedFd;

    use joint_executor::io::AsyncFd;
    use rustix::pipe::{PipeFlags, pipe_with};

    pub(super) type PipeFd = AsyncFd<OwnedFd>;

    /// Longer than any packet here, because bytes that do not fit would be lost.
    const ROOM: usize = 16;

    pub(super) fn new() -> io::Result<(PipeFd, PipeFd)> {
        let flags = PipeFlags::DIRECT | PipeFlags::NONBLOCK | PipeFlags::CLOEXEC;
        let (reader, writer) = pipe_with(flags)?;
        Ok((
            AsyncFd::new_nonblocking(reader)?,
            AsyncFd::new_nonblocking(writer)?,
        ))
    }

    /// A packet is written whole or not at all.
    pub(super) fn write(pipe: &OwnedFd, packet: &[u8]) -> io::Result<()> {
        rustix::io::write(pipe, packet)?;
        Ok(())
    }

    pub(super) fn read(pipe: &OwnedFd) -> io::Result<Vec<u8>> {
        let mut packet = vec![0; ROOM];
        match rustix::io::read(pipe, &mut packet)? {
            0 => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "a writer has ended",
            )),
            length => {
                packet.truncate(length);
                Ok(packet)
            }
        }
    }
}
