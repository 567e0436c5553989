//! How a [`Dump`] is serialized: as text and numbers, with durations in seconds.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use std::time::Instant;

use serde::{Serialize, Serializer};

use super::{Dump, TaskDump, WaitsFor, now};
use crate::times::TaskTimes;

#[derive(Serialize)]
struct All<'a> {
    live: u64,
    tasks: Vec<Task<'a>>,
}

#[derive(Serialize)]
struct Task<'a> {
    id: u64,
    name: Option<&'a str>,
    spawned: String,
    is_runnable: bool,
    waits_for: Vec<Wait<'a>>,
    times: Option<Times>,
}

#[derive(Serialize)]
struct Times {
    spawned_ago: f64,
    polled_ago: Option<f64>,
    polls: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Wait<'a> {
    Task { id: u64 },
    Timer { due_in: f64 },
    Readable(Descriptor<'a>),
    Writable(Descriptor<'a>),
    Exception(Descriptor<'a>),
    Told { what: &'a str, place: String },
    Snoozing { what: &'a str, place: String },
    Oneshot { end: &'a str },
    Others { wakers: usize },
}

#[derive(Serialize)]
struct Descriptor<'a> {
    descriptor: u64,
    is: Option<&'a str>,
}

impl<'a> Task<'a> {
    fn of(task: &'a TaskDump, taken: Instant, dump: Option<&'a Dump>) -> Self {
        let wait = |what| Wait::of(what, taken, dump);
        Self {
            id: task.id.get().get(),
            name: task.name(),
            spawned: task.spawned.to_string(),
            is_runnable: task.is_runnable,
            waits_for: task.waits_for.iter().map(wait).collect(),
            times: task.times.map(|times| Times::of(&times, taken)),
        }
    }
}

impl Times {
    fn of(times: &TaskTimes, taken: Instant) -> Self {
        let (spawned, polled) = times.ages(taken);
        Self {
            spawned_ago: spawned.as_secs_f64(),
            polled_ago: polled.map(|polled| polled.as_secs_f64()),
            polls: times.polls,
        }
    }
}

impl<'a> Wait<'a> {
    fn of(what: &'a WaitsFor, taken: Instant, dump: Option<&'a Dump>) -> Self {
        let known = |descriptor| Descriptor {
            descriptor,
            is: dump.and_then(|dump| dump.descriptor(descriptor)),
        };
        match *what {
            WaitsFor::Task(id) => Self::Task { id: id.get().get() },
            WaitsFor::Timer(due) => Self::Timer {
                due_in: due.saturating_duration_since(taken).as_secs_f64(),
            },
            WaitsFor::Readable(number) => Self::Readable(known(number)),
            WaitsFor::Writable(number) => Self::Writable(known(number)),
            WaitsFor::Exception(number) => Self::Exception(known(number)),
            WaitsFor::Told(what, place) => Self::Told {
                what,
                place: place.to_string(),
            },
            WaitsFor::Snoozing(what, place) => Self::Snoozing {
                what,
                place: place.to_string(),
            },
            WaitsFor::Oneshot(end) => Self::Oneshot { end },
            WaitsFor::Others(wakers) => Self::Others { wakers },
        }
    }
}

impl Serialize for Dump {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = |task| Task::of(task, self.taken, Some(self));
        let all = All {
            live: self.live,
            tasks: self.tasks.iter().map(task).collect(),
        };
        all.serialize(serializer)
    }
}

impl Serialize for TaskDump {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Task::of(self, now(), None).serialize(serializer)
    }
}
