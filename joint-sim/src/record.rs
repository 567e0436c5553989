//! The record of a run: a digest of all of it, the last steps, and all steps if asked for.

use std::{fmt, mem, panic::Location, sync::Arc, time::Duration};

use super::{
    disk_event::{DiskEvent, mixed},
    faults::{Fault, KINDS},
    traffic::Traffic,
};
use joint::task::TaskEnd;

/// Who does something: the main future, a task by the order of spawning, a timer, the network, or
/// something outside of all tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Actor(pub(super) u32);

impl Actor {
    pub(super) const MAIN: Self = Self(0);
    pub(super) const TIMER: Self = Self(u32::MAX);
    pub(super) const OUTSIDE: Self = Self(u32::MAX - 1);
    pub(super) const NETWORK: Self = Self(u32::MAX - 2);

    /// Its number, if it is a task or the main future.
    pub(super) fn task(self) -> Option<u32> {
        (self.0 < Self::NETWORK.0).then_some(self.0)
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::MAIN => f.write_str("main"),
            Self::TIMER => f.write_str("a timer"),
            Self::OUTSIDE => f.write_str("outside"),
            Self::NETWORK => f.write_str("the network"),
            Self(number) => write!(f, "task {number}"),
        }
    }
}

/// The facts about a task that are known from its spawn on.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) name: Option<Arc<str>>,
    pub(super) spawned: &'static Location<'static>,
    /// The host that it belongs to, unless that is the main future's.
    pub(super) host: Option<Arc<str>>,
}

/// Shows the name and the place of the spawn, to follow the number.
impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, " \"{name}\"")?;
        }
        if let Some(host) = &self.host {
            write!(f, " of host `{host}`")?;
        }
        write!(f, ", spawned at {}", self.spawned)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// It was spawned by `by`.
    Spawned {
        by: Actor,
    },
    /// It became ready because of `by`. This is kept only with all events. The digest has it in the
    /// run that it leads to.
    Woken {
        by: Actor,
    },
    /// It was polled, after `by` had made it ready.
    Ran {
        by: Actor,
    },
    Ended(TaskEnd),
    Fault(Fault),
    /// A fault that more is told of. The digest has the fault, if one is given: that of some others
    /// is in the events that they lead to.
    Told(Arc<(Option<Fault>, String)>),
    /// Something that was done to a disk.
    Disk(Arc<DiskEvent>),
    /// The virtual time advanced to the time of this event.
    TimePassed,
    /// It armed a timer for this time, in nanoseconds since the start. This is kept only with all
    /// events, and is not part of the digest.
    Armed {
        until: u64,
    },
    /// A future of `waiting_for` was woken by `by`, which this actor has polled last. This is kept
    /// as `Armed` is.
    WaitWoken {
        by: Actor,
        place: &'static Location<'static>,
    },
    Net(Arc<Traffic>),
    /// It has drawn this number at this place. This is kept as `Armed` is.
    Drew(Box<(u64, &'static Location<'static>)>),
    /// The program has noted this text. It is not part of the digest.
    Note(Arc<String>),
    /// It has done this outside of the simulation, for the first time. It is not part of the
    /// digest.
    #[cfg_attr(any(miri, not(target_os = "linux")), allow(dead_code))]
    Real(Arc<String>),
}

impl What {
    /// Returns what the digest has of it, if it has.
    #[inline(always)]
    pub(super) fn word(&self) -> Option<u64> {
        Some(match *self {
            What::Ran { by } => 1 | u64::from(by.0) << 8,
            What::Spawned { by } => 3 | u64::from(by.0) << 8,
            What::TimePassed => 4,
            What::Ended(TaskEnd::Finished) => 5,
            What::Ended(TaskEnd::Panicked) => 6,
            What::Ended(TaskEnd::Cancelled) => 7,
            What::Fault(fault) => 8 | (fault as u64) << 8,
            What::Told(ref told) => 8 | (told.0? as u64) << 8,
            What::Disk(ref event) => 10 | event.word() << 8,
            What::Woken { .. }
            | What::Armed { .. }
            | What::WaitWoken { .. }
            | What::Drew(_)
            | What::Note(_)
            | What::Real(_) => return None,
            What::Net(ref traffic) => 9 | traffic.word() << 8,
        })
    }
}

/// One thing that has happened in a run: a task was spawned, was woken, ran, or ended, or the time
/// went on.
///
/// `Display` says what it was.
#[derive(Clone, PartialEq, Eq)]
pub struct Event {
    /// The time, in nanoseconds since the start.
    pub(super) at: u64,
    pub(super) step: u64,
    pub(super) actor: Actor,
    pub(super) what: What,
}

impl Event {
    /// Returns the virtual time since the start of the run.
    pub fn at(&self) -> Duration {
        Duration::from_nanos(self.at)
    }

    /// Returns the number of the step in which it happened. The first step is 1.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Returns the task that it happened to, by the order of spawning, from 1. The main future is
    /// 0. `None` if it happened to no task.
    pub fn task(&self) -> Option<u32> {
        self.actor.task()
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The number of latest events that are always kept.
const LAST: usize = 64;

const UNUSED: Event = Event {
    at: 0,
    step: 0,
    actor: Actor::OUTSIDE,
    what: What::TimePassed,
};

pub(super) struct Record {
    digest: u64,
    /// The latest events, as a ring. Unused places hold an arbitrary event.
    last: Box<[Event; LAST]>,
    count: usize,
    all: Option<Vec<Event>>,
    /// The tasks by their numbers, if all events are kept. The main future has none.
    names: Vec<Option<Named>>,
}

impl Record {
    pub(super) fn new(all: bool) -> Self {
        Self {
            digest: 0xcbf2_9ce4_8422_2325,
            last: Box::new([UNUSED; LAST]),
            count: 0,
            all: all.then(Vec::new),
            names: Vec::new(),
        }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, event: Event) {
        let word = event.what.word();
        let word = word.expect("an event that is part of the digest");
        self.mix(event.at ^ u64::from(event.actor.0) << 40);
        self.mix(word);
        self.add_last(event);
    }

    /// Adds an event that is not part of the digest, but of every report.
    #[inline(always)]
    pub(super) fn add_last(&mut self, event: Event) {
        if let Some(all) = &mut self.all {
            all.push(event.clone());
        }
        self.last[self.count % LAST] = event;
        self.count += 1;
    }

    /// Keeps an event that only explains others, if all are kept.
    #[inline]
    pub(super) fn keep(&mut self, event: Event) {
        if let Some(all) = &mut self.all {
            all.push(event);
        }
    }

    pub(super) fn name(&mut self, task: Actor, named: &Named) {
        if self.all.is_some() {
            let number = task.0 as usize;
            self.names.resize(self.names.len().max(number + 1), None);
            self.names[number] = Some(named.clone());
        }
    }

    #[inline]
    fn mix(&mut self, word: u64) {
        self.digest = mixed(self.digest, word);
    }

    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    /// The last events, oldest first.
    pub(super) fn last(&self) -> impl Iterator<Item = &Event> {
        let first = self.count.saturating_sub(LAST);
        (first..self.count).map(|place| &self.last[place % LAST])
    }

    pub(super) fn kept(&self) -> usize {
        self.all.as_ref().map_or(0, Vec::len)
    }

    /// Takes all events, if they are kept, and the tasks' names by their numbers.
    pub(super) fn all(&mut self) -> Option<(Vec<Event>, Vec<Option<Named>>)> {
        Some((self.all.take()?, mem::take(&mut self.names)))
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (step, at, actor) = (self.step, self.at(), self.actor);
        write!(f, "step {step}, {at:?}: ")?;
        match &self.what {
            What::Spawned { by } => write!(f, "{actor} was spawned by {by}"),
            What::Woken { by } => write!(f, "{actor} was woken by {by}"),
            What::Ran { by } => write!(f, "{actor} ran, woken by {by}"),
            What::Ended(how) => write!(f, "{actor} {}", how_it_ended(*how)),
            What::Fault(Fault::LateTimer) if actor == Actor::TIMER => {
                f.write_str("fault: a timer is late")
            }
            What::Fault(Fault::LostWrites) => {
                write!(f, "{actor} cuts the power, and writes are lost")
            }
            What::Fault(fault) => {
                let (before, after) = KINDS[*fault as usize].said;
                write!(f, "fault: {before}{actor}{after}")
            }
            What::Told(told) => write!(f, "fault: {}", told.1),
            What::Disk(event) if event.is_power_cut() => write!(f, "{event}"),
            What::Disk(event) => write!(f, "{actor} {event}"),
            What::TimePassed => f.write_str("time passed"),
            What::Armed { until } => {
                let until = Duration::from_nanos(*until);
                write!(f, "{actor} armed a timer for {until:?}")
            }
            What::WaitWoken { by, place } => {
                write!(f, "the wait of {actor} at {place} was woken by {by}")
            }
            What::Net(traffic) => write!(f, "{traffic}"),
            What::Drew(drawn) => write!(f, "{actor} drew {} at {}", drawn.0, drawn.1),
            What::Note(text) => write!(f, "{actor} noted: {text}"),
            What::Real(text) => write!(f, "{actor} {text}"),
        }
    }
}

pub(super) fn how_it_ended(how: TaskEnd) -> &'static str {
    match how {
        TaskEnd::Finished => "finished",
        TaskEnd::Panicked => "panicked",
        TaskEnd::Cancelled => "was cancelled",
    }
}

/// The longest sequence of events whose repetitions are folded.
const LONGEST: usize = 16;

/// Shows events, each in a line that begins so. A sequence that repeats itself is shown once.
pub(super) fn fold(f: &mut fmt::Formatter<'_>, events: &[Event], indent: &str) -> fmt::Result {
    let mut left = events;
    while !left.is_empty() {
        let (length, times) = repeated(left);
        for event in &left[..length] {
            writeln!(f, "{indent}{event}")?;
        }
        let last = &left[length * times - 1];
        if times > 1 {
            let (more, step, at) = (times - 1, last.step, last.at());
            let lines = if length == 1 { "line" } else { "lines" };
            writeln!(
                f,
                "{indent}... and the last {length} {lines} {more} more times, up to step {step}, {at:?}"
            )?;
        }
        left = &left[length * times..];
    }
    Ok(())
}

/// Returns the length of the sequence with which events begin, and how often it repeats itself. It
/// is a single event unless that makes the list shorter.
fn repeated(events: &[Event]) -> (usize, usize) {
    let is_like = |(one, other): (&Event, &Event)| {
        let is_armed = |event: &Event| matches!(event.what, What::Armed { .. });
        let is_same = one.what == other.what || is_armed(one) && is_armed(other);
        one.actor == other.actor && is_same
    };
    for length in 1..=LONGEST.min(events.len() / 3) {
        let pairs = events.iter().zip(&events[length..]);
        let times = 1 + pairs.take_while(|&pair| is_like(pair)).count() / length;
        if length * (times - 1) > 2 {
            return (length, times);
        }
    }
    (1, 1)
}

pub(super) fn lines<T: fmt::Display>(all: impl IntoIterator<Item = T>) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for line in all {
        let _ = writeln!(text, "  {line}");
    }
    text
}
