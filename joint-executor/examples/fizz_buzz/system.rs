//! Descriptors of Linux that tasks wait for: packet pipes and timers.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use joint_executor::io::AsyncFd;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// One end of a pipe that keeps packets apart: a read returns what one write has written, and
/// nothing else. See `O_DIRECT` in `man 2 pipe`.
pub(crate) struct Pipe(AsyncFd<OwnedFd>);

/// A timer of the kernel: a descriptor that is readable when the timer has expired.
pub(crate) struct Clock(AsyncFd<OwnedFd>);

/// Longer than any packet here, because bytes that do not fit would be lost.
const ROOM: usize = 16;

/// The reader and the writer of a pipe, which holds 16 packets.
pub(crate) fn pipe() -> io::Result<[Pipe; 2]> {
    let flags = PipeFlags::DIRECT | PipeFlags::NONBLOCK | PipeFlags::CLOEXEC;
    let (reader, writer) = pipe_with(flags)?;
    Ok([
        Pipe(AsyncFd::new_nonblocking(reader)?),
        Pipe(AsyncFd::new_nonblocking(writer)?),
    ])
}

impl Pipe {
    /// Puts a packet in, as soon as there is room for it. It is written whole or not at all.
    pub(crate) async fn put(&self, packet: &[u8]) -> io::Result<()> {
        let write = |pipe: &OwnedFd| Ok(rustix::io::write(pipe, packet)?);
        self.0.write_with(write).await.map(drop)
    }

    /// Takes the next packet, as soon as there is one.
    pub(crate) async fn take(&self) -> io::Result<Vec<u8>> {
        let mut packet = vec![0; ROOM];
        let read = |pipe: &OwnedFd| Ok(rustix::io::read(pipe, &mut packet)?);
        match self.0.read_with(read).await? {
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

impl Clock {
    /// Makes a clock that ticks for the first time after one period.
    pub(crate) fn new(period: Duration) -> io::Result<Self> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        let period = Timespec::try_from(period).map_err(io::Error::other)?;
        let each = Itimerspec {
            it_interval: period,
            it_value: period,
        };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &each)?;
        AsyncFd::new(timer).map(Self)
    }

    /// Waits for a tick. Returns how many there have been since the last call, at least one.
    pub(crate) async fn ticks(&self) -> io::Result<u64> {
        let mut count = [0; 8];
        let read = |timer: &OwnedFd| Ok(rustix::io::read(timer, &mut count)?);
        self.0.read_with(read).await?;
        Ok(u64::from_ne_bytes(count))
    }
}
