//! [`World`]: the state of a run, and its steps.
//!
//! A run is a sequence of steps on one thread. Each step takes one thing that is ready, which is
//! the main future, a task or a call that may block, and runs it until it waits. What it makes
//! ready meanwhile is collected afterwards. If nothing is ready, the time goes on to the next timer
//! or event. If there is none, nobody can ever be woken, and the run has failed.
//!
//! A poll that blocks in a wait of `joint` runs further steps inside itself, until what it waits
//! for is due. The worker that it blocks runs nothing meanwhile.

mod acting;
mod agenda;
mod baton;
mod chaos;
mod deadlock;
mod ending;
mod entered;
mod executors;
mod faults;
mod host_times;
mod later;
mod main_future;
mod network;
mod owner;
mod panics;
mod places;
mod pool;
mod pools;
mod step;
mod stillness;
#[cfg_attr(any(miri, not(target_os = "linux")), path = "world/system/own.rs")]
mod system;
mod threads;
mod waits;
mod watchdog;

use std::{
    cell::{OnceCell, RefCell, RefMut},
    mem,
    panic::{AssertUnwindSafe, Location, catch_unwind},
    pin::pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use self::{
    acting::Stage,
    agenda::Agenda,
    ending::Ending,
    entered::{Entered, erased},
    faults::Injected,
    host_times::{HostTimes, Pauses},
    later::Timeline,
    main_future::{Main, MainFuture, Typed},
    owner::Owner,
    panics::Panics,
    pools::Pools,
    step::Step,
    stillness::Stillness,
    threads::Threads,
    waits::Waits,
    watchdog::{Phase, Watched},
};
use super::{
    chance::Chance,
    failure::{Failure, Kind},
    record::{Actor, Event, Record, What},
    settings::Builder,
    trace::Trace,
};
use joint::{budget, task::TaskEnd};
use joint_executor::{Executor, hosted};

pub use self::network::{Latency, Link};
pub(super) use self::{
    ending::{Kept, Site},
    entered::{if_inside, with, with_own},
    faults::{poll, strikes},
    network::Network,
    panics::quiet,
    threads::let_others_go_on,
};

pub(super) struct World {
    settings: Builder,
    /// The part of it that its executors see.
    owner: Arc<Owner>,
    ambient: OnceCell<Arc<Executor>>,
    pools: Pools,
    watched: Arc<Watched>,
    agenda: RefCell<Agenda>,
    time: Timeline,
    host_times: HostTimes,
    pauses: Pauses,
    injected: Option<Injected>,
    threads: Threads,
    network: RefCell<Network>,
    stage: Stage,
    main: MainFuture,
    waits: RefCell<Waits>,
    ending: Ending,
    stillness: Stillness,
    panics: Panics,
}

pub(super) fn assert_outside() {
    assert!(
        with(|world| world.is_none()),
        "a simulation cannot be run inside a simulation; run it on a thread of its own"
    );
}

impl World {
    pub(super) fn new(settings: &Builder, mut chance: Chance) -> Rc<Self> {
        if settings.keeps_trace {
            chance.keep();
        }
        let chooser = settings.scheduler.chooser(settings.expected_steps);
        let record = Record::new(settings.keeps_trace);
        let injected = Injected::new(&settings.faults);
        let stillness = Stillness::new(injected.is_some());
        Rc::new(Self {
            settings: settings.clone(),
            owner: Owner::new(),
            ambient: OnceCell::new(),
            pools: Pools::default(),
            watched: Watched::new(settings),
            agenda: RefCell::new(Agenda::new(chooser, chance, record)),
            time: Timeline::new(settings),
            host_times: RefCell::default(),
            pauses: RefCell::default(),
            injected,
            threads: Threads::default(),
            network: RefCell::default(),
            stage: Stage::default(),
            main: MainFuture::new(),
            waits: RefCell::default(),
            ending: Ending::new(settings.max_steps, stillness.first_look()),
            stillness,
            panics: Panics::default(),
        })
    }

    /// Runs the main future to its end, and ends everything that is left then.
    pub(super) fn run<F: Future>(self: &Rc<Self>, future: F) -> Result<F::Output, Failure> {
        assert_outside();
        panics::watch();
        let future = pin!(Some(future));
        let mut main = Typed::new(future);
        hosted::apart(|| self.run_here(&mut main))?;
        Ok(main.into_output())
    }

    fn run_here(self: &Rc<Self>, main_future: &mut dyn Main) -> Result<(), Failure> {
        let _watchdog = self.watched.watch();
        let mut entered = Some(Entered::new(self, entered::wait));
        // The polls of this run use up a budget that is not this thread's.
        let _outer = budget::save();
        let main = Executor::builder().workers(self.settings.workers).build();
        let mut ended = match main {
            Ok(main) => {
                self.ambient.set(Arc::new(main)).expect("set once");
                self.run_main(main_future, &mut entered)
            }
            Err(error) => {
                self.fail(Kind::NotStarted("executor", error.to_string()));
                Err(())
            }
        };
        match ended {
            Ok(()) => self.judge(),
            Err(()) => self.tell_left(),
        }
        let is_abandoned = entered.is_none() || self.end_all().is_err();
        if is_abandoned {
            // A call may use it for ever (rule 2 of `threads`).
            mem::forget(self.clone());
            drop(entered);
            return Err(self
                .ending
                .stuck
                .take()
                .expect("set where it was abandoned"));
        }
        // Destructors at the end may have panicked.
        if ended.is_ok() && !self.ending.has_failed() {
            self.judge_panics();
        }
        if self.ending.has_failed() {
            main_future.drop_output();
            ended = Err(());
        }
        ended.map_err(|()| self.ending.take())
    }

    fn run_main(&self, future: &mut dyn Main, entered: &mut Option<Entered<'_>>) -> Result<(), ()> {
        let mut ended = None;
        let mut poll = || {
            let mut cx = Context::from_waker(self.main.waker());
            ended = match catch_unwind(AssertUnwindSafe(|| future.poll(&mut cx))) {
                Ok(Poll::Ready(())) => Some(Ok(())),
                Ok(Poll::Pending) => return Poll::Pending,
                Err(payload) => Some(Err(payload)),
            };
            Poll::Ready(())
        };
        // The pointer is taken out below, before `poll` goes.
        self.main.poll.set(Some(erased(&mut poll)));
        let step = self.steps_until(None, || self.main.poll.get().is_none());
        self.main.poll.set(None);
        self.watched.begin(Phase::Ends);
        if step == Step::Abandoned {
            // The drop of the future must not find the world.
            *entered = None;
        }
        let dropped = catch_unwind(AssertUnwindSafe(|| future.drop_future()));
        self.check_wakers();
        // The last poll may have run other tasks inside itself, which have failed.
        if step != Step::Ran || self.ending.has_failed() {
            future.drop_output();
            return Err(());
        }
        match ended.ok_or(())?.and(dropped) {
            Ok(()) => {
                self.note(Actor::MAIN, What::Ended(TaskEnd::Finished));
                Ok(())
            }
            Err(payload) => {
                future.drop_output();
                self.note(Actor::MAIN, What::Ended(TaskEnd::Panicked));
                self.fail(Kind::Panic(self.payload(payload)));
                Err(())
            }
        }
    }

    /// Returns the number of this run, which no other of the process has.
    pub(super) fn number(&self) -> u64 {
        self.owner.number
    }

    pub(super) fn acting(&self) -> Actor {
        self.stage.actor.get()
    }

    /// Returns the virtual time, in nanoseconds of the clock.
    pub(super) fn now(&self) -> u64 {
        self.time.now.get()
    }

    pub(super) fn chance(&self) -> RefMut<'_, Chance> {
        RefMut::map(self.agenda.borrow_mut(), |agenda| &mut agenda.chance)
    }

    pub(super) fn note(&self, actor: Actor, what: What) {
        let event = self.event(actor, what);
        self.agenda.borrow_mut().record.add(event);
    }

    /// Returns a random number for the program, which draws it at this place.
    pub(super) fn draw(&self, place: &'static Location<'static>) -> u64 {
        let mut agenda = self.agenda.borrow_mut();
        let (drawn, is_kept) = agenda.chance.random();
        if is_kept {
            let event = self.event(self.acting(), What::Drew(Box::new((drawn, place))));
            agenda.record.keep(event);
        }
        drawn
    }

    pub(super) fn note_text(&self, text: String) {
        self.note_last(What::Note(Arc::new(text)));
    }

    /// Notes something that is not part of the digest, but of every report.
    fn note_last(&self, what: What) {
        let event = self.event(self.acting(), what);
        self.agenda.borrow_mut().record.add_last(event);
    }

    /// Notes that something is ready because of `by`, if all events are kept.
    #[inline]
    fn note_woken(&self, actor: Actor, by: Actor) {
        if self.settings.keeps_trace {
            let event = self.event(actor, What::Woken { by });
            self.agenda.borrow_mut().record.keep(event);
        }
    }

    #[inline]
    fn event(&self, actor: Actor, what: What) -> Event {
        Event {
            at: self.time.passed(),
            step: self.stage.steps.get(),
            actor,
            what,
        }
    }

    pub(super) fn digest(&self) -> u64 {
        self.agenda.borrow().record.digest()
    }

    /// Everything that has happened, up to a failure, if it is kept.
    pub(super) fn trace(&self) -> Option<Trace> {
        if self.ending.is_abandoned.get() {
            // A call may be adding to it (rule 2 of `threads`).
            return None;
        }
        let (mut events, names) = self.agenda.borrow_mut().record.all()?;
        events.truncate(self.ending.failed_after.get());
        Some(Trace { events, names })
    }

    pub(super) fn steps(&self) -> u64 {
        self.stage.steps.get()
    }

    pub(super) fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.time.passed())
    }
}
