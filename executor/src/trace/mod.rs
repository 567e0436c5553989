//! What the workers did, recorded while they do it (feature `trace`).
//!
//! Each worker writes to a ring of its own, and all other threads share one more ring. Each ring
//! has a lock. A worker contends for it only with a reader, and no user code runs under it.

use alloc::{boxed::Box, vec::Vec};
use core::{panic::Location, time::Duration};
use std::{sync::PoisonError, time::Instant};

use crossbeam_utils::CachePadded;

use joint::task::{Id, TaskEnd};
use joint_switch::Mutex;

mod json;
mod spans;

pub use self::spans::{Span, SpanKind};

/// A record of what an executor has done, as far back as the rings reach. See
/// [`Executor::trace`](super::Executor::trace).
#[derive(Clone, Debug)]
pub struct Trace {
    /// The track of each worker, followed by the track of all other threads.
    tracks: Vec<Vec<Record>>,
    /// When the trace was taken, in nanoseconds from the executor's start.
    taken: u64,
}

impl Trace {
    /// Returns the number of workers of the executor.
    pub fn workers(&self) -> usize {
        self.tracks.len() - 1
    }

    /// Returns how long the executor had existed when the trace was taken.
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
    /// An idle task has become due.
    Wake(Id),
    Begin(Id, Option<Box<str>>, &'static Location<'static>),
    /// The future has been dropped.
    Gone(Id, TaskEnd),
    /// The end of a run, and whether the task was woken meanwhile.
    End(bool),
    /// A steal, and from which worker.
    Steal(usize),
    Park,
    Unpark,
}

/// The last records, up to a fixed number.
struct Ring {
    records: Vec<Record>,
    /// The index of the oldest record, once the ring is full.
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

    /// Records an event, with the worker by which it was caused, if it was one.
    pub(super) fn record(&self, worker: Option<usize>, event: Event) {
        let track = worker.unwrap_or(self.tracks.len() - 1);
        let mut ring = self.tracks[track]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // The clock is read under the lock, so that the records of a track are in order.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_track_keeps_its_last_records() {
        let recorder = Recorder::new(1, 3);
        let kept = || {
            let steals = |track: &Vec<Record>| {
                let records = track.iter().map(|record| match record.event {
                    Event::Steal(from) => from,
                    _ => panic!("only steals are recorded here"),
                });
                records.collect::<Vec<_>>()
            };
            let trace = recorder.read();
            trace.tracks.iter().map(steals).collect::<Vec<_>>()
        };
        for i in 0..10 {
            recorder.record(Some(0), Event::Steal(i));
            let last: Vec<_> = (i.saturating_sub(2)..=i).collect();
            assert_eq!(kept(), [last, Vec::new()]);
        }
        recorder.record(None, Event::Steal(7));
        assert_eq!(kept(), [vec![7, 8, 9], vec![7]]);
        Recorder::new(1, 0).record(None, Event::Park);
    }
}
