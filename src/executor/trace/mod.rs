//! With the feature `trace`: what the workers did, kept as they do it.
//!
//! Each worker writes to a ring of its own, and all other threads to one more; each ring has a
//! lock, which nobody but a reader contends for. No user code runs under it.

use alloc::{boxed::Box, vec::Vec};
use core::{panic::Location, time::Duration};
use std::{sync::PoisonError, time::Instant};

use crossbeam_utils::CachePadded;

use crate::{
    sync::Mutex,
    task::{End, Id},
};

mod json;
mod spans;

pub use self::spans::{Span, SpanKind};

/// What a run was, as far as the rings keep it. See [`Executor::trace`](super::Executor::trace).
#[derive(Clone, Debug)]
pub struct Trace {
    /// Each worker's, and after them that of all other threads.
    tracks: Vec<Vec<Record>>,
    /// When it was taken.
    taken: u64,
}

impl Trace {
    /// How many workers the executor has.
    pub fn workers(&self) -> usize {
        self.tracks.len() - 1
    }

    /// How long the executor had been there when this was taken.
    pub fn taken(&self) -> Duration {
        Duration::from_nanos(self.taken)
    }
}

/// Something that happened.
#[derive(Clone, Debug)]
struct Record {
    /// In nanoseconds, from the executor's start.
    at: u64,
    event: Event,
}

#[derive(Clone, Debug)]
pub(super) enum Event {
    Spawn(Id),
    /// A task that was idle is due.
    Wake(Id),
    Begin(Id, Option<Box<str>>, &'static Location<'static>),
    /// The future is gone.
    Gone(Id, End),
    /// Whether it was woken meanwhile.
    End(bool),
    /// From which worker.
    Steal(usize),
    Park,
    Unpark,
}

/// The last records, up to a number.
struct Ring {
    records: Vec<Record>,
    /// The oldest, once there is no more room.
    oldest: usize,
}

pub(super) struct Recorder {
    tracks: Vec<CachePadded<Mutex<Ring>>>,
    most: usize,
    start: Instant,
}

impl Recorder {
    pub(super) fn new(workers: usize, most: usize) -> Self {
        let ring = || Ring {
            records: Vec::new(),
            oldest: 0,
        };
        Self {
            tracks: (0..=workers)
                .map(|_| CachePadded::new(Mutex::new(ring())))
                .collect(),
            most,
            start: Instant::now(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// By which worker it was done, if by one.
    pub(super) fn record(&self, worker: Option<usize>, event: Event) {
        let track = worker.unwrap_or(self.tracks.len() - 1);
        let mut ring = self.tracks[track]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Under the lock, so that the records of a track are in order.
        let record = Record {
            at: self.now(),
            event,
        };
        if ring.records.len() < self.most {
            ring.records.push(record);
        } else if let Some(oldest) = ring.records.len().checked_sub(1) {
            let place = ring.oldest;
            ring.records[place] = record;
            ring.oldest = if place == oldest { 0 } else { place + 1 };
        }
    }

    pub(super) fn read(&self) -> Trace {
        let tracks = self.tracks.iter().map(|track| {
            let ring = track.lock().unwrap_or_else(PoisonError::into_inner);
            let (new, old) = ring.records.split_at(ring.oldest);
            [old, new].concat()
        });
        Trace {
            tracks: tracks.collect(),
            taken: self.now(),
        }
    }
}
