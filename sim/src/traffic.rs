//! The record of a run's network.

use core::fmt;

use super::machine::ip;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Sent,
    Delivered,
    Lost,
    Connected,
    Refused,
    Reset,
    TimedOut,
    Started,
    Stopped,
    Paused,
    Resumed,
}

/// Something that has happened between two hosts, or to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Traffic {
    event: Event,
    from: u16,
    to: u16,
    bytes: u32,
}

impl Traffic {
    pub(super) fn new(event: Event, (from, to): (usize, usize), bytes: usize) -> Self {
        Self {
            event,
            from: from as u16,
            to: to as u16,
            bytes: bytes as u32,
        }
    }

    /// All of it but the number of bytes.
    pub(super) fn kind(self) -> u64 {
        Self { bytes: 0, ..self }.word()
    }

    /// All of it in 56 bits.
    pub(super) fn word(self) -> u64 {
        let hosts = u64::from(self.from) << 4 | u64::from(self.to) << 20;
        self.event as u64 | hosts | u64::from(self.bytes & 0xf_ffff) << 36
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to, bytes) = (ip(self.from.into()), ip(self.to.into()), self.bytes);
        match self.event {
            Event::Sent => write!(f, "{from} sent {bytes} bytes to {to}"),
            Event::Delivered => write!(f, "{to} received {bytes} bytes from {from}"),
            Event::Lost => write!(f, "{bytes} bytes from {from} to {to} were lost"),
            Event::Connected => write!(f, "{from} connected to {to}"),
            Event::Refused => write!(f, "{from} was refused a connection by {to}"),
            Event::Reset => write!(f, "{to} received a reset from {from}"),
            Event::TimedOut => write!(f, "{from} gave up waiting for {to}"),
            Event::Started => write!(f, "{from} started"),
            Event::Stopped => write!(f, "{from} stopped"),
            Event::Paused => write!(f, "{from} paused"),
            Event::Resumed => write!(f, "{from} goes on after a pause"),
        }
    }
}
