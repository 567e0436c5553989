//! The record of a run's network.

use std::{fmt, sync::Arc};

use super::disk_event::digest_of;

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

/// The largest number of bytes of a message that are shown.
const SHOWN: usize = 16;

/// A host by its number, and a port there.
pub(super) type End = (usize, u16);

/// Something that has happened between two hosts, or to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Traffic {
    event: Event,
    ports: [u16; 2],
    bytes: u32,
    /// A digest of the bytes, if they are sent.
    digest: u32,
    /// The first of the bytes.
    start: [u8; SHOWN],
    pair: Arc<Pair>,
}

/// Two hosts, by their numbers and names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) hosts: [usize; 2],
    pub(super) names: [Arc<str>; 2],
}

impl Traffic {
    pub(super) fn new(event: Event, ends: [End; 2], bytes: &[u8], pair: Arc<Pair>) -> Self {
        let digest = match event {
            Event::Sent => digest_of(bytes),
            _ => 0,
        };
        let mut start = [0; SHOWN];
        let shown = bytes.len().min(SHOWN);
        start[..shown].copy_from_slice(&bytes[..shown]);
        Self {
            event,
            ports: ends.map(|(_, port)| port),
            bytes: bytes.len() as u32,
            digest: (digest >> 32) as u32,
            start,
            pair,
        }
    }

    pub(super) fn kind(&self) -> u64 {
        let [from, to] = self.pair.hosts.map(|host| host as u64);
        self.event as u64 | from << 4 | to << 20
    }

    /// The same and the bytes, in 56 bits.
    pub(super) fn word(&self) -> u64 {
        (self.kind() | u64::from(self.bytes & 0xf_ffff) << 36) ^ u64::from(self.digest) << 16
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pair, ports, bytes, ..
        } = self;
        let names = &pair.names;
        let [from, to] = [0, 1].map(|end| format!("{}:{}", names[end], ports[end]));
        let shown = SHOWN.min(*bytes as usize);
        let more = if shown < *bytes as usize { ".." } else { "" };
        let message = format!("b\"{}\"{more}", self.start[..shown].escape_ascii());
        match self.event {
            Event::Sent => write!(f, "{from} sent {bytes} bytes to {to}: {message}"),
            Event::Delivered => write!(f, "{to} received {bytes} bytes from {from}: {message}"),
            Event::Lost => write!(f, "{bytes} bytes from {from} to {to} were lost: {message}"),
            Event::Connected => write!(f, "{from} connected to {to}"),
            Event::Refused => write!(f, "{from} was refused a connection by {to}"),
            Event::Reset => write!(f, "{to} received a reset from {from}"),
            Event::TimedOut => write!(f, "{from} gave up waiting for {to}"),
            Event::Started => write!(f, "host `{}` started", names[0]),
            Event::Stopped => write!(f, "host `{}` stopped", names[0]),
            Event::Paused => write!(f, "host `{}` paused", names[0]),
            Event::Resumed => write!(f, "host `{}` goes on after a pause", names[0]),
        }
    }
}
