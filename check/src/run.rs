//! One run of a model: the threads as coroutines, which take the graph's steps again in the order
//! `po ∪ rf`, with the values of this run, and then go on from there.

mod replay;
mod step;

use core::{any::Any, cell::RefCell, sync::atomic::Ordering};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    string::String,
};

use corosensei::{Coroutine, CoroutineResult, Yielder, stack::DefaultStack};

use crate::graph::{Event, Graph, Id, Kind, MAX_THREADS, Op};

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
    Cell {
        place: Id,
        writes: bool,
    },
    Fence(Ordering),
    Spawn,
    Join(u8),
    End,
    /// The thread has found nothing to do, and looks again.
    Again,
}

/// The answer to a request.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) id: Id,
    pub(crate) value: u64,
}

enum Attempt {
    Done(Answer),
    Wait,
}

type Main = Coroutine<(), (), Result<(), Panic>>;
type Panic = Box<dyn Any + Send>;

#[derive(Clone, Copy, Eq, PartialEq)]
enum Status {
    Absent,
    Ready,
    Joining(u8),
    /// At a read that blocks it, or in a loop that finds the same again.
    Blocked,
    Finished,
}

struct Lane {
    status: Status,
    coroutine: Option<Main>,
    yielder: *const Yielder<(), ()>,
    at: u16,
    /// The reads since it last looked again, by place and source, and those before.
    reads: [Vec<(Id, Id)>; 2],
    has_written: bool,
    locals: BTreeMap<usize, Box<dyn Any>>,
}

impl Default for Lane {
    fn default() -> Self {
        Self {
            status: Status::Absent,
            coroutine: None,
            yielder: core::ptr::null(),
            at: 0,
            reads: Default::default(),
            has_written: false,
            locals: BTreeMap::new(),
        }
    }
}

/// How a run ended.
pub(crate) enum Ended {
    Complete,
    Blocked,
    /// No write has a place.
    Dead,
    Failed(String),
    Panicked(Panic),
}

struct Run {
    graph: Graph,
    lanes: [Lane; MAX_THREADS],
    current: u8,
    is_exploring: bool,
    is_dead: bool,
    pending: Vec<Graph>,
    failure: Option<String>,
    tracked: usize,
    stacks: Vec<DefaultStack>,
}

std::thread_local! {
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// Whether a model runs on this thread of the system.
pub(crate) fn is_running() -> bool {
    RUN.with(|run| run.try_borrow().map_or(true, |run| run.is_some()))
}

fn with<R>(f: impl FnOnce(&mut Run) -> R) -> R {
    RUN.with_borrow_mut(|run| {
        f(run
            .as_mut()
            .expect("a model's primitives are used in a model"))
    })
}

/// The running thread.
pub(crate) fn current() -> u8 {
    with(|run| run.current)
}

/// The location of a thread's park token.
pub(crate) fn token(thread: u8) -> Id {
    with(|run| run.graph.spawned[usize::from(thread)].expect("the thread was spawned"))
}

/// Counts values that have to be dropped.
pub(crate) fn track(change: isize) {
    RUN.with_borrow_mut(|run| {
        if let Some(run) = run {
            run.tracked = run.tracked.wrapping_add_signed(change);
        }
    });
}

/// Does an operation of the running thread, in its turn.
pub(crate) fn perform(request: Request) -> Answer {
    loop {
        match with(|run| run.attempt(request)) {
            Attempt::Done(answer) => return answer,
            Attempt::Wait => {
                let yielder = with(|run| run.lanes[usize::from(run.current)].yielder);
                // SAFETY: the yielder is on the stack of this coroutine, which is running.
                unsafe { &*yielder }.suspend(());
            }
        }
    }
}

/// Replaces the value that an exclusive access has left, right after it.
pub(crate) fn leave(id: Id, value: u64) {
    with(|run| run.graph.at_mut(id).written = value);
}

/// Starts a thread.
pub(crate) fn spawn(body: impl FnOnce() + 'static) -> u8 {
    let thread = perform(Request::Spawn).value as u8;
    with(|run| run.start(thread, body));
    thread
}

/// Takes the value of a thread-local out of the running thread, or makes it.
pub(crate) fn local(key: usize, make: impl FnOnce() -> Box<dyn Any>) -> *const dyn Any {
    let found = |run: &mut Run| {
        let locals = &run.lanes[usize::from(run.current)].locals;
        locals.get(&key).map(|value| &raw const **value)
    };
    if let Some(found) = with(found) {
        return found;
    }
    let value = make();
    with(|run| {
        let locals = &mut run.lanes[usize::from(run.current)].locals;
        &raw const **locals.entry(key).or_insert(value)
    })
}

/// Runs a model along a graph and on from there. Returns the graphs that are left to explore.
pub(crate) fn run(graph: Graph, main: impl FnOnce() + 'static) -> (Ended, Graph, Vec<Graph>) {
    let mut run = Run {
        graph,
        lanes: Default::default(),
        current: 0,
        is_exploring: false,
        is_dead: false,
        pending: Vec::new(),
        failure: None,
        tracked: 0,
        stacks: STACKS.take(),
    };
    run.lanes[0].at = 1;
    run.start(0, main);
    RUN.set(Some(run));
    let panicked = drive();
    let mut run = RUN.take().expect("the run is over");
    let ended = run.ended(panicked);
    for lane in &mut run.lanes {
        if let Some(mut coroutine) = lane.coroutine.take() {
            if coroutine.started() && !coroutine.done() {
                // SAFETY: nobody refers to what is on the stack any more, because all threads of
                // the run end here. What they own is leaked.
                unsafe { coroutine.force_reset() };
            }
            if coroutine.done() {
                run.stacks.push(coroutine.into_stack());
            }
        }
        core::mem::forget(core::mem::take(&mut lane.locals));
    }
    STACKS.set(core::mem::take(&mut run.stacks));
    (ended, run.graph, run.pending)
}

/// Runs the threads until none can run.
fn drive() -> Option<Panic> {
    loop {
        let next = with(Run::next_replayed);
        let Some(next) = next else { break };
        if let Some(panic) = resume(next) {
            return Some(panic);
        }
    }
    let lost = with(|run| {
        run.is_exploring = true;
        let behind =
            |thread: usize| usize::from(run.lanes[thread].at) < run.graph.threads[thread].len();
        (0..MAX_THREADS).any(behind)
    });
    assert!(!lost, "the model does not do the same when it is run again");
    while let Some(next) = with(Run::next_ready) {
        if let Some(panic) = resume(next) {
            return Some(panic);
        }
    }
    None
}

fn resume(thread: u8) -> Option<Panic> {
    let mut coroutine = with(|run| {
        run.current = thread;
        run.lanes[usize::from(thread)]
            .coroutine
            .take()
            .expect("a ready thread has a stack")
    });
    let result = coroutine.resume(());
    with(|run| {
        let lane = &mut run.lanes[usize::from(thread)];
        match result {
            CoroutineResult::Yield(()) => {
                lane.coroutine = Some(coroutine);
                None
            }
            CoroutineResult::Return(result) => {
                lane.status = Status::Finished;
                run.stacks.push(coroutine.into_stack());
                result.err()
            }
        }
    })
}

impl Run {
    fn start(&mut self, thread: u8, body: impl FnOnce() + 'static) {
        let stack = self.stacks.pop().unwrap_or_default();
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            with(|run| run.lanes[usize::from(thread)].yielder = yielder);
            catch_unwind(AssertUnwindSafe(|| {
                body();
                let locals =
                    with(|run| core::mem::take(&mut run.lanes[usize::from(thread)].locals));
                drop(locals);
                perform(Request::End);
            }))
        });
        let lane = &mut self.lanes[usize::from(thread)];
        lane.coroutine = Some(coroutine);
        lane.status = Status::Ready;
    }

    /// A thread that can take one of the graph's steps.
    fn next_replayed(&mut self) -> Option<u8> {
        (0..MAX_THREADS).find_map(|thread| {
            let lane = &self.lanes[thread];
            let event = self.graph.threads[thread].get(usize::from(lane.at))?;
            let runs = matches!(lane.status, Status::Ready | Status::Joining(_));
            (runs && self.can_replay(event)).then_some(thread as u8)
        })
    }

    fn can_replay(&self, event: &Event) -> bool {
        let is_done = |id: Id| self.lanes[usize::from(id.thread)].at > id.index;
        match event.kind {
            Kind::Join(child) => {
                let child = usize::from(child);
                usize::from(self.lanes[child].at) == self.graph.threads[child].len()
            }
            _ => event.source.is_none_or(is_done),
        }
    }

    /// The first thread that can go on.
    fn next_ready(&mut self) -> Option<u8> {
        if self.is_dead || self.failure.is_some() {
            return None;
        }
        (0..MAX_THREADS).find_map(|thread| {
            let can_run = match self.lanes[thread].status {
                Status::Ready => true,
                Status::Joining(child) => self.has_ended(child),
                _ => false,
            };
            can_run.then_some(thread as u8)
        })
    }

    fn has_ended(&self, thread: u8) -> bool {
        let last = self.graph.threads[usize::from(thread)].last();
        last.is_some_and(|event| matches!(event.kind, Kind::End))
    }

    fn attempt(&mut self, request: Request) -> Attempt {
        let thread = usize::from(self.current);
        if let Request::Again = request {
            return self.look_again();
        }
        let index = usize::from(self.lanes[thread].at);
        if index < self.graph.threads[thread].len() {
            return self.replay(request);
        }
        if !self.is_exploring || self.failure.is_some() || self.is_dead {
            return Attempt::Wait;
        }
        self.explore(request)
    }

    fn ended(&mut self, panicked: Option<Panic>) -> Ended {
        if let Some(panic) = panicked {
            return Ended::Panicked(panic);
        }
        if let Some(failure) = self.failure.take() {
            return Ended::Failed(failure);
        }
        if self.is_dead {
            return Ended::Dead;
        }
        let unfinished = |lane: &&Lane| !matches!(lane.status, Status::Absent | Status::Finished);
        if self.lanes.iter().any(|lane| unfinished(&lane)) {
            let waits_for_ever = |lane: &Lane| {
                let [now, before] = &lane.reads;
                let mut reads = now.iter().chain(before);
                lane.status != Status::Blocked
                    || reads
                        .all(|&(place, source)| self.graph.order(place).next_back() == Some(source))
            };
            if self.lanes.iter().filter(unfinished).all(waits_for_ever) {
                return Ended::Failed("deadlock: every thread that is left waits for ever".into());
            }
            return Ended::Blocked;
        }
        if self.tracked > 0 {
            return Ended::Failed(format!("{} values are leaked", self.tracked));
        }
        Ended::Complete
    }
}
