//! One run of a model: the threads as coroutines, which replay the graph's steps in the order
//! `po ∪ rf`, with the values of this run, and then extend the graph ([`Phase`]).

mod access;
mod before;
mod count;
mod drive;
mod end;
mod explain;
mod free;
mod hint;
mod locals;
#[cfg(unix)]
mod overflow;
mod phase;
mod place;
mod replay;
mod show;
mod spin;
mod stale;
mod step;
mod unwind;

use core::{
    any::Any,
    cell::{Cell, RefCell},
    ops::Range,
    panic::Location,
    ptr::NonNull,
    sync::atomic::Ordering,
};
use std::{collections::BTreeMap, sync::Arc};

use access::Long;
use before::before_step;
use corosensei::{Coroutine, Yielder, stack::DefaultStack};
use free::{Freed, Handles, Touched};
use locals::Local;
use phase::Phase;

use crate::{
    graph::{Event, Graph, Id, Kind, MAX_THREADS, Op, Until},
    heap,
    sync::atomic::Word,
    watch::Beat,
};

pub use self::before::before_each_step;
pub(crate) use self::{
    count::{commutes, is_only_handle, new_count},
    end::{Ended, Failure},
    free::{Owned, allocated, dealloc, forget_trials, run_model},
    locals::{get_static, has_locals, local, set_static, static_word},
    place::place,
    show::{Fault, REPLAY, parse},
};

/// An operation that a thread asks for.
#[derive(Clone, Copy)]
pub(crate) enum Request {
    Make {
        kind: Kind,
        value: u64,
    },
    Access {
        place: Id,
        op: Op,
        ordering: Ordering,
        failure: Ordering,
    },
    Store {
        place: Id,
        value: u64,
        ordering: Ordering,
    },
    Exclusive {
        place: Id,
    },
    PlainRead {
        place: Id,
    },
    Cell {
        place: Id,
        writes: bool,
    },
    Fence(Ordering),
    /// Makes or drops a handle of a shared value.
    Handle {
        count: Id,
        drops: bool,
    },
    /// Reads the count of a shared value, whose changes then have an order.
    Look {
        count: Id,
    },
    Spawn,
    Join(u8, Until),
    Leave,
    End,
    /// The thread begins another iteration of the loop that waits there.
    Again {
        place: u64,
    },
    /// An access to a cell ends, which is no step.
    EndOfAccess(Id),
    /// An atomic or a cell ends, which is no step.
    Free(Id),
    /// Memory is freed, which is no step: the address, and the size.
    Dealloc(usize, usize),
    /// A lazy static is used that the graph has no word for.
    Discover(usize),
}

impl Request {
    fn place(self) -> Option<Id> {
        match self {
            Self::Access { place, .. }
            | Self::Store { place, .. }
            | Self::Exclusive { place }
            | Self::PlainRead { place }
            | Self::Cell { place, .. }
            | Self::Handle { count: place, .. } => Some(place),
            _ => None,
        }
    }

    /// Its event, without what it reads.
    fn event(self, id: Id) -> Event {
        let none = Ordering::Relaxed;
        let (kind, ordering) = match self {
            Self::Make { kind, .. } => (kind, none),
            Self::Access {
                op,
                ordering,
                failure,
                ..
            } => (Kind::Read { op, failure }, ordering),
            Self::Store { ordering, .. } => (Kind::Write { is_exchange: false }, ordering),
            Self::Exclusive { .. } => (Kind::Exclusive, none),
            Self::PlainRead { .. } => (Kind::PlainRead, none),
            Self::Cell { writes: true, .. } => (Kind::CellWrite, none),
            Self::Cell { .. } => (Kind::CellRead, none),
            Self::Fence(ordering) => (Kind::Fence, ordering),
            Self::Spawn => (Kind::Spawn(0), none),
            Self::Join(child, until) => (Kind::Join(child, until), none),
            Self::Leave => (Kind::Leave, none),
            Self::Handle { drops: false, .. } => (Kind::Clone, none),
            Self::Handle { .. } => (Kind::Drop { is_last: false }, none),
            Self::End
            | Self::Again { .. }
            | Self::Look { .. }
            | Self::EndOfAccess(_)
            | Self::Free(_)
            | Self::Dealloc(..)
            | Self::Discover(_) => (Kind::End, none),
        };
        let mut event = Event::new(id, kind, self.place().unwrap_or(id), ordering);
        if let Self::Make { value, .. } | Self::Store { value, .. } = self {
            event.written = value;
        }
        event
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) id: Id,
    pub(crate) value: u64,
    pub(crate) outcome: u8,
}

impl Answer {
    /// That of a request which is no step.
    const NONE: Self = Self {
        id: Id::ROOT,
        value: 0,
        outcome: 0,
    };
}

enum Attempt {
    Done(Answer),
    Wait,
}

type Main = Coroutine<(), (), Result<(), Panic>>;
pub(crate) type Panic = Box<dyn Any + Send>;

#[derive(Clone, Copy, Default, Eq, PartialEq)]
enum Status {
    #[default]
    Absent,
    Ready,
    Joining(u8, Until),
    /// Blocked at a read.
    Waiting,
    /// Blocked in a loop, two iterations of which were the same.
    Spinning,
    /// Left out of a graph, because its next write would leave another thread waiting forever.
    Left,
    Finished,
}

/// The name of an operation, and its place in the source.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    pub(crate) name: &'static str,
    pub(crate) at: &'static Location<'static>,
}

#[derive(Default)]
struct Lane {
    status: Status,
    coroutine: Option<Main>,
    yielder: Option<NonNull<Yielder<(), ()>>>,
    /// The number of its next step.
    at: u16,
    /// The address at which its stack begins.
    root: usize,
    /// The lowest address of its stack.
    limit: usize,
    /// The address of the location that it uses next, and the number of that step.
    touch: (usize, u16),
    /// The iterations of loops that wait.
    looks: Vec<spin::Look>,
    /// Steps per iteration of the loop in which it is blocked.
    period: u16,
    /// Whether its loop never ends while nothing changes.
    is_endless: bool,
    /// How many of the last iterations differed only in what the thread counts itself.
    counted: usize,
    /// The drops that ended the atomics and cells that it has made, by the index of the step that
    /// made each. With a map, a model of 10,318 executions took a fifth longer.
    freed: Vec<Option<Freed>>,
    /// How many atomic accesses it has done.
    accesses: usize,
    /// How many iterations have begun since its last operation.
    idle: usize,
    /// Whether it waits while it unwinds a panic.
    panics: bool,
    locals: Vec<Local>,
    name: Option<Arc<str>>,
    /// The word that a notification changes.
    wake: Option<Id>,
    /// The operations, by the numbers of their events.
    sites: Vec<Site>,
}

/// Upper bounds of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Atomic accesses of one thread.
    pub(crate) events: usize,
    /// Deviations of a graph.
    pub(crate) deviations: Option<usize>,
    /// Whether exchanges that change nothing are loads.
    pub(crate) merges: bool,
    /// Operations of an execution that fail, or return, for no reason. Without a bound, as on loom.
    pub(crate) spurious: Option<usize>,
    /// Whether a condition variable wakes its waiters in their order.
    pub(crate) in_order: bool,
    /// Whether readers wait for a writer that waits.
    pub(crate) writers_first: bool,
    /// Whether a panic poisons the locks that its thread holds.
    pub(crate) poisons: bool,
}

impl Limits {
    /// Counts a deviation. Returns whether the graph is explored with it.
    fn allow_deviation(self, graph: &mut Graph) -> bool {
        graph.deviations += 1;
        self.deviations.is_none_or(|most| graph.deviations <= most)
    }
}

#[derive(Default)]
struct Run {
    /// Tells the runs of a thread of the system from each other.
    number: u32,
    graph: Graph,
    limits: Limits,
    lanes: [Lane; MAX_THREADS],
    current: u8,
    phase: Phase,
    /// The graphs that are left to explore.
    pending: Vec<Graph>,
    /// The steps that made what has to be dropped.
    alive: Vec<Id>,
    /// The counts of shared values, by their addresses.
    counts: BTreeMap<usize, Id>,
    /// The accesses to cells that have not ended, by the steps with which they began.
    open: Vec<Id>,
    /// Those that have ended after other steps, by their locations.
    long: BTreeMap<Id, Vec<Long>>,
    touched: Vec<Touched>,
    /// Memory that the model has allocated: its address, the next step, and its size.
    pieces: Vec<(usize, Id, usize)>,
    /// The accesses that a trial asks for, each with an `Arc` of std's: its address and its counts.
    arcs: Vec<(Id, usize, Handles)>,
    /// Memory that the model has freed.
    gone: Vec<(Range<usize>, Freed)>,
    statics: BTreeMap<usize, Box<dyn Any>>,
    stacks: Vec<DefaultStack>,
    /// Where the values were made whose counts have an order.
    ordered: Places,
    beat: Arc<Beat>,
}

/// Places in the source.
pub(crate) type Places = Vec<&'static Location<'static>>;

std::thread_local! {
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
    static NUMBER: Cell<u32> = const { Cell::new(0) };
    static BEAT: Arc<Beat> = Beat::new();
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// Whether a model runs on this thread of the system.
pub(crate) fn is_running() -> bool {
    RUN.with(|run| run.try_borrow().map_or(true, |run| run.is_some()))
}

fn with<R>(f: impl FnOnce(&mut Run) -> R) -> R {
    let _outside = heap::outside();
    RUN.with_borrow_mut(|run| {
        f(run
            .as_mut()
            .expect("joint-check's atomics, locks and threads are used in a model"))
    })
}

impl Run {
    fn lane(&mut self) -> &mut Lane {
        &mut self.lanes[usize::from(self.current)]
    }
}

pub(crate) fn limits() -> Limits {
    with(|run| run.limits)
}

/// The running thread.
pub(crate) fn current() -> u8 {
    with(|run| run.current)
}

/// Whether the running thread unwinds a panic. Another one that waits while it unwinds counts for
/// std.
pub(crate) fn panics() -> bool {
    std::thread::panicking() && with(|run| !run.lanes.iter().any(|lane| lane.panics))
}

/// The number of the run, if one is in progress.
fn number() -> Option<u32> {
    let running =
        |run: &RefCell<Option<Run>>| run.try_borrow().ok()?.as_ref().map(|run| run.number);
    RUN.try_with(running).ok().flatten()
}

/// The name of a thread.
pub(crate) fn name(thread: u8) -> Option<Arc<str>> {
    with(|run| run.lanes[usize::from(thread)].name.clone())
}

/// The word of a thread's park token.
pub(crate) fn token(thread: u8) -> Word {
    let place = with(|run| run.graph.spawned[usize::from(thread)].expect("the thread was spawned"));
    Word::at(place)
}

/// The word of the running thread that a notification changes.
#[track_caller]
pub(crate) fn wake_token() -> Word {
    if let Some(word) = with(|run| run.lane().wake) {
        return Word::at(word);
    }
    let kind = Kind::Word;
    let place = perform("wake-up", Request::Make { kind, value: 0 }).id;
    with(|run| run.lane().wake = Some(place));
    Word::at(place)
}

/// The word of a thread that has called [`wake_token`].
pub(crate) fn wake_token_of(thread: u8) -> Word {
    let place = with(|run| run.lanes[usize::from(thread)].wake);
    Word::at(place.expect("a thread that waits has a word"))
}

/// Records that what a step has made has to be dropped.
pub(crate) fn made_alive(made: Id) {
    with(|run| run.alive.push(made));
}

/// Records that it was dropped. Also allowed while no model runs, because values of a failed model
/// may be dropped later.
pub(crate) fn ended(made: Id) {
    RUN.with_borrow_mut(|run| {
        if let Some(run) = run {
            run.alive.retain(|&other| other != made);
        }
    });
}

/// Records the location of a shared value's count.
pub(crate) fn count(address: usize, place: Id) {
    with(|run| run.counts.insert(address, place));
}

/// Returns the location of a shared value's count.
pub(crate) fn counted(address: usize) -> Id {
    let place = with(|run| run.counts.get(&address).copied());
    place.expect("the pointer is of this model")
}

/// Does an operation of the running thread, when it is its turn.
#[track_caller]
pub(crate) fn perform(name: &'static str, request: Request) -> Answer {
    let at = Location::caller();
    before_step(at);
    loop {
        match with(|run| run.attempt(request, Site { name, at })) {
            Attempt::Done(answer) => return answer,
            Attempt::Wait => {
                let panics = panics();
                let yielder = with(|run| {
                    let unwinds = matches!(run.phase, Phase::Unwinding(_));
                    run.lane().panics = panics && !unwinds;
                    run.lane().yielder
                });
                let yielder = yielder.expect("a thread that runs has started");
                // SAFETY: the yielder is on the stack of this coroutine, which is running.
                unsafe { yielder.as_ref() }.suspend(());
            }
        }
    }
}

/// Sets the value that an exclusive access has left, right after it.
pub(crate) fn leave(id: Id, value: u64) {
    with(|run| {
        if !run.leave_aside(id, value) {
            run.graph.at_mut(id).written = value;
        }
    });
}

#[track_caller]
pub(crate) fn spawn(name: Option<Arc<str>>, body: impl FnOnce() + 'static) -> u8 {
    let thread = perform("spawn", Request::Spawn).value as u8;
    with(|run| {
        run.start(thread, body);
        run.lanes[usize::from(thread)].name = name;
    });
    thread
}
