//! [`World`]: the state of a run, and its steps.
//!
//! A run is a sequence of steps on one thread. Each step takes one thing that is ready, which is
//! the main future, a task or a call that may block, and runs it until it waits. What it makes
//! ready meanwhile is collected afterwards. If nothing is ready, the time goes on to the next timer
//! or event. If there is none, nobody can ever be woken, and the run has failed.
//!
//! A poll that blocks in a wait of this crate runs further steps inside itself, until what it waits
//! for is due. The worker that it blocks runs nothing meanwhile.

mod acting;
mod agenda;
mod baton;
mod deadlock;
mod entered;
mod executors;
mod faults;
mod kept;
mod later;
mod main_waker;
mod owner;
mod places;
mod pool;
mod step;
mod threads;
mod watchdog;

use alloc::{boxed::Box, collections::BinaryHeap, rc::Rc, string::ToString, sync::Arc, vec::Vec};
use core::{
    cell::{Cell, OnceCell, RefCell, RefMut},
    cmp::Reverse,
    future::Future,
    mem,
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use self::{
    agenda::Agenda,
    entered::{Entered, Frame},
    faults::Injected,
    later::Later,
    main_waker::MainWaker,
    owner::Owner,
    pool::Pool,
    step::Step,
    threads::Threads,
    watchdog::{Phase, Watched},
};
use super::{
    chance::Chance,
    clock::{self, NEVER},
    failure::{Failure, Kind, Payload},
    machine::Place,
    record::{Actor, Event, Record, What},
    settings::Builder,
    trace::Trace,
};
use joint::{task::TaskEnd, waker::budget};
use joint_executor::{Executor, hosted};

pub(super) use self::{entered::with, kept::Kept, places::Wires};

/// The limits of a run.
#[derive(Clone, Copy)]
struct Limits {
    steps: u64,
    /// The end of the virtual time, in nanoseconds of the clock.
    time: u64,
}

pub(super) struct World {
    /// What its executors know of it.
    owner: Arc<Owner>,
    ambient: OnceCell<Arc<Executor>>,
    watched: Arc<Watched>,
    workers: usize,
    pools: RefCell<Vec<Rc<Pool>>>,
    agenda: RefCell<Agenda>,
    spawned: Cell<u32>,
    later: RefCell<BinaryHeap<Reverse<Later>>>,
    /// An empty buffer for the wakers of fired timers, kept for its memory.
    fired: Cell<Vec<Waker>>,
    laters: Cell<u64>,
    start: u64,
    now: Cell<u64>,
    steps: Cell<u64>,
    /// The number of the last step: the limit, or 0 once the run has failed.
    last_step: Cell<u64>,
    charge: u64,
    /// Whether panics of detached tasks are ignored.
    ignores_panics: bool,
    limits: Limits,
    injected: Option<Injected>,
    threads: Threads,
    max_call_time: Duration,
    /// The reason why the world was abandoned, if it was.
    stuck: Cell<Option<Failure>>,
    is_abandoned: Cell<bool>,
    /// The waits of polls that block, which lie on the stack.
    frames: RefCell<Vec<Frame>>,
    keeps_all: bool,
    wires: RefCell<Box<dyn Wires>>,
    /// The place of the code that is running.
    place: Cell<Place>,
    /// Who acts now.
    acting: Cell<Actor>,
    /// The task in which a fault last caused a panic.
    panicked: Cell<Option<Actor>>,
    main: MainWaker,
    /// Polls the main future. `None` while that is under way, and once it is over.
    poll_main: Cell<Option<*mut (dyn FnMut() -> Poll<()> + 'static)>>,
    main_is_over: Cell<bool>,
    /// The number of polls and calls on the stack.
    depth: Cell<usize>,
    /// The number of blocking waits that were ended because the run has failed.
    ended_waits: Cell<usize>,
    failure: RefCell<Option<Failure>>,
    /// The number of events that were kept when it failed.
    failed_after: Cell<usize>,
}

impl World {
    pub(super) fn new(settings: &Builder, mut chance: Chance, wires: Box<dyn Wires>) -> Rc<Self> {
        let start = clock::now();
        let keeps_all = settings.keeps_trace;
        if keeps_all {
            chance.keep();
        }
        let chooser = settings.scheduler.chooser(settings.expected_steps);
        Rc::new(Self {
            owner: Owner::new(),
            ambient: OnceCell::new(),
            watched: Watched::new(settings),
            workers: settings.workers,
            pools: RefCell::default(),
            agenda: RefCell::new(Agenda::new(chooser, chance, Record::new(keeps_all))),
            spawned: Cell::new(0),
            later: RefCell::default(),
            fired: Cell::default(),
            laters: Cell::new(0),
            start,
            now: Cell::new(start),
            steps: Cell::new(0),
            last_step: Cell::new(settings.max_steps),
            charge: clock::after(0, settings.charge),
            ignores_panics: settings.ignores_panics,
            limits: Limits {
                steps: settings.max_steps,
                // Nothing is ever due at the clock's last nanosecond, which means never.
                time: clock::after(start, settings.max_time).min(NEVER - 1),
            },
            threads: Threads::default(),
            max_call_time: settings.max_call_time,
            stuck: Cell::new(None),
            is_abandoned: Cell::new(false),
            frames: RefCell::default(),
            injected: Injected::new(&settings.faults),
            keeps_all,
            wires: RefCell::new(wires),
            place: Cell::new(Place::MAIN),
            acting: Cell::new(Actor::MAIN),
            panicked: Cell::new(None),
            main: MainWaker::new(),
            poll_main: Cell::new(None),
            main_is_over: Cell::new(false),
            depth: Cell::new(0),
            ended_waits: Cell::new(0),
            failure: RefCell::new(None),
            failed_after: Cell::new(usize::MAX),
        })
    }

    /// Runs the main future to its end, and ends everything that is left then.
    pub(super) fn run<F: Future>(self: &Rc<Self>, future: F) -> Result<F::Output, Failure> {
        assert!(
            with(|world| world.is_none()),
            "a simulation cannot be run inside a simulation; run it on a thread of its own"
        );
        hosted::apart(|| self.run_here(future))
    }

    fn run_here<F: Future>(self: &Rc<Self>, future: F) -> Result<F::Output, Failure> {
        let _watchdog = self.watched.watch();
        let mut entered = Some(Entered::new(self, entered::wait));
        // The polls of this run use up a budget that is not this thread's.
        let _outer = budget::save();
        let main = Executor::builder().workers(self.workers).build();
        let ended = match main {
            Ok(main) => {
                self.ambient.set(Arc::new(main)).expect("set once");
                self.run_main(future, &mut entered)
            }
            Err(error) => {
                self.fail(Kind::NoExecutor(error.to_string()));
                Err(())
            }
        };
        let is_abandoned = entered.is_none() || self.end_all().is_err();
        if is_abandoned {
            // A call may use it for ever (rule 2 of `threads`).
            mem::forget(self.clone());
            drop(entered);
            return Err(self.stuck.take().expect("set where it was abandoned"));
        }
        ended.map_err(|()| self.take_failure())
    }

    fn run_main<F: Future>(
        &self,
        future: F,
        entered: &mut Option<Entered<'_>>,
    ) -> Result<F::Output, ()> {
        let mut future = pin!(Some(future));
        let mut output = None;
        let mut panic: Option<Box<dyn Any + Send>> = None;
        let mut poll = || {
            let mut cx = Context::from_waker(self.main.waker());
            let future = future.as_mut().as_pin_mut().expect("dropped below");
            match catch_unwind(AssertUnwindSafe(|| future.poll(&mut cx))) {
                Ok(Poll::Ready(value)) => output = Some(value),
                Ok(Poll::Pending) => return Poll::Pending,
                Err(payload) => panic = Some(payload),
            }
            Poll::Ready(())
        };
        let erased: *mut (dyn FnMut() -> Poll<()> + '_) = &mut poll;
        // SAFETY: only the lifetime changes. The pointer is taken out below, before `poll` goes.
        let erased = unsafe {
            mem::transmute::<
                *mut (dyn FnMut() -> Poll<()> + '_),
                *mut (dyn FnMut() -> Poll<()> + 'static),
            >(erased)
        };
        self.poll_main.set(Some(erased));
        let step = self.steps_until(None, || self.poll_main.get().is_none());
        self.poll_main.set(None);
        self.watched.begin(Phase::Ends);
        if step == Step::Abandoned {
            // The drop of the future must not find the world.
            *entered = None;
        }
        let dropped = catch_unwind(AssertUnwindSafe(|| future.set(None)));
        // The last poll may have run other tasks inside itself, which have failed.
        if step != Step::Ran || self.failure.borrow().is_some() {
            return Err(());
        }
        let panic = panic.or(dropped.err());
        let how = panic
            .as_ref()
            .map_or(TaskEnd::Finished, |_| TaskEnd::Panicked);
        self.note(Actor::MAIN, What::Ended(how));
        match panic {
            Some(payload) => {
                self.fail(Kind::Panic(Payload::new(payload)));
                Err(())
            }
            None => output.ok_or(()),
        }
    }

    /// Who acts now.
    pub(super) fn acting(&self) -> Actor {
        self.acting.get()
    }

    /// Returns the virtual time, in nanoseconds of the clock.
    pub(super) fn now(&self) -> u64 {
        self.now.get()
    }

    pub(super) fn chance(&self) -> RefMut<'_, Chance> {
        RefMut::map(self.agenda.borrow_mut(), |agenda| &mut agenda.chance)
    }

    pub(super) fn note(&self, actor: Actor, what: What) {
        self.note_here(actor, what);
    }

    /// [`note`](Self::note) for the one event of each step.
    #[inline(always)]
    fn note_here(&self, actor: Actor, what: What) {
        let event = self.event(actor, what);
        self.agenda.borrow_mut().record.add(event);
    }

    /// Notes that something is ready because of `by`, if all events are kept.
    #[inline]
    fn note_woken(&self, actor: Actor, by: Actor) {
        if self.keeps_all {
            let event = self.event(actor, What::Woken { by });
            self.agenda.borrow_mut().record.keep(event);
        }
    }

    #[inline]
    fn event(&self, actor: Actor, what: What) -> Event {
        Event {
            at: self.now.get() - self.start,
            step: self.steps.get(),
            actor,
            what,
        }
    }

    fn failure_with(&self, kind: Kind, last: Vec<Event>) -> Failure {
        let at = self.now.get() - self.start;
        Failure::new(self.watched.seed(), kind, self.steps.get(), at, last)
    }

    /// Ends the run, unless it has failed before.
    pub(super) fn fail(&self, kind: Kind) {
        if self.failure.borrow().is_none() {
            let agenda = self.agenda.borrow();
            let last = agenda.record.last().copied().collect();
            self.failed_after.set(agenda.record.kept());
            drop(agenda);
            self.replace_failure(Some(self.failure_with(kind, last)));
        }
    }

    /// Sets how the run has failed, or that it has not. Returns what was set before.
    fn replace_failure(&self, failure: Option<Failure>) -> Option<Failure> {
        let last_step = match failure {
            None => self.limits.steps,
            Some(_) => 0,
        };
        self.last_step.set(last_step);
        self.failure.replace(failure)
    }

    fn take_failure(&self) -> Failure {
        let failure = self.failure.borrow_mut().take();
        failure.expect("a run without an output has failed")
    }

    pub(super) fn digest(&self) -> u64 {
        self.agenda.borrow().record.digest()
    }

    /// Everything that has happened, up to a failure, if it is kept.
    pub(super) fn trace(&self) -> Option<Trace> {
        if self.is_abandoned.get() {
            // A call may be adding to it (rule 2 of `threads`).
            return None;
        }
        let (mut events, names) = self.agenda.borrow_mut().record.all()?;
        events.truncate(self.failed_after.get());
        Some(Trace::new(events, names))
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    pub(super) fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.now.get() - self.start)
    }
}
