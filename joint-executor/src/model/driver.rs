//! For models of the driver: [`Driven`], the sleep protocol with a driver. This exists under
//! the model-checking cfg alone.

use alloc::{sync::Arc, vec::Vec};
use core::task::Waker;
use std::{
    io,
    sync::{Mutex, MutexGuard},
};

use super::Sleep;
use crate::{
    driver::{
        clock,
        keeper::{Driver, Keeper, Obtained},
        reactor::EventSource,
        timers::{Earliest, Fired},
    },
    fences::Fences,
    policy::LONGEST_WATCH,
    sleep::{self, Parking, park_thread},
};
use joint_switch::model::loom::{
    sync::atomic::{AtomicUsize, Ordering},
    thread::{self, Thread},
};

/// Takes the place of the system. It reports only that it was rung, or what [`Driven::tell`] asks
/// for. Each call is one step of the model, which no observer sees, because no thread is stopped
/// inside the system.
pub(crate) struct Bell {
    turns: AtomicUsize,
    rung: Mutex<Rung>,
}

#[derive(Default)]
struct Rung {
    is_rung: bool,
    waits: Option<Thread>,
    woken: Vec<Waker>,
    tells: bool,
}

impl Bell {
    /// Nothing may be done under the lock at which the model changes threads.
    fn lock(&self) -> MutexGuard<'_, Rung> {
        self.turns.fetch_add(1, Ordering::AcqRel);
        self.rung.lock().unwrap()
    }

    fn rouse(mut rung: MutexGuard<'_, Rung>) {
        let waits = rung.waits.take();
        // joint-check can change threads at an unpark.
        drop(rung);
        if let Some(thread) = waits {
            thread.unpark();
        }
    }
}

impl EventSource for Bell {
    type Events = ();

    fn new() -> io::Result<Self> {
        Ok(Self {
            turns: AtomicUsize::new(0),
            rung: Mutex::default(),
        })
    }

    fn has_sources(&self) -> bool {
        true
    }

    /// A time that is not over by now is never over.
    fn wait(&self, (): &mut (), until: u64, woken: &mut Vec<Waker>) {
        let waits = until > clock::now();
        let mut rung = self.lock();
        while waits && !rung.is_rung && !rung.tells {
            rung.waits = Some(thread::current());
            drop(rung);
            thread::park();
            rung = self.lock();
        }
        rung.waits = None;
        rung.is_rung = false;
        if core::mem::take(&mut rung.tells) {
            woken.append(&mut rung.woken);
        }
    }

    fn interrupt(&self) {
        let mut rung = self.lock();
        rung.is_rung = true;
        Self::rouse(rung);
    }

    fn close(&self) -> Vec<Waker> {
        Vec::new()
    }
}

/// The executor's sleep protocol with a driver, for models with queues of their own. A deadline has
/// either passed, such as 0, or never passes.
pub struct Driven {
    pub sleep: Sleep,
    driver: Arc<Driver<Bell>>,
    workers: usize,
}

impl Driven {
    /// All workers are active.
    pub fn new(workers: usize) -> Self {
        let driver = Arc::new(Driver::new(workers));
        let rung = driver.clone();
        let ring = move || rung.ring();
        let fences = Fences::among(workers);
        Self {
            sleep: Sleep(sleep::Sleep::new(workers, fences, ring)),
            driver,
            workers,
        }
    }

    /// Acts as a worker that a poll blocks, and returns for how long nothing is due.
    pub fn attend_blocked(&self) -> Option<core::time::Duration> {
        let mut woken = Vec::new();
        if let Some(mut keeper) = self
            .driver
            .has_sources()
            .then(|| self.driver.keep())
            .flatten()
        {
            keeper.look();
            keeper.leave(&mut woken);
        }
        self.fire(&mut woken);
        woken.into_iter().for_each(Waker::wake);
        self.driver.next_blocked_look()
    }

    fn fire(&self, woken: &mut Vec<Waker>) {
        for timers in self.driver.all_timers() {
            let fired = timers.fire(clock::now(), woken);
            assert_eq!(fired, Fired::All, "a model has few timers");
        }
    }

    /// Acts as `DriverHandle::hurry` after an insertion, by a thread that is not a worker.
    pub fn arm(&self, deadline: u64, waker: Waker) {
        if self.insert(self.workers, deadline, waker) == Earliest::Sooner {
            self.hurry(deadline);
        }
    }

    /// Arms a timer and gives it up, by a thread that is not a worker.
    pub fn arm_and_give_up(&self, deadline: u64) {
        let timers = self.driver.timers(self.workers);
        let inserted = timers.insert(deadline, Waker::noop().clone());
        drop(timers.remove(&inserted.expect("the queue is not closed").0));
    }

    /// Arms a timer as an active worker.
    pub fn arm_as(&self, worker: usize, deadline: u64, waker: Waker) {
        if self.insert(worker, deadline, waker) == Earliest::Sooner {
            self.driver.hurry(deadline, &self.sleep.0, || ());
        }
    }

    fn insert(&self, worker: usize, deadline: u64, waker: Waker) -> Earliest {
        let inserted = self.driver.timers(worker).insert(deadline, waker);
        inserted.expect("the queue is not closed").1
    }

    fn hurry(&self, deadline: u64) {
        let if_awake = || self.sleep.notify_from_outside();
        self.driver.hurry(deadline, &self.sleep.0, if_awake);
    }

    /// Acts as `DriverHandle::reactor`, by a thread that is not a worker.
    pub fn make_reactor(&self) {
        let (_, obtained) = self.driver.reactor().expect("a reactor can be made");
        if obtained == Obtained::Made {
            self.hurry(0);
        }
    }

    /// Acts as a worker that parks in the driver once, while `beside` goes on, and leaves to run a
    /// task.
    pub fn keep_and_leave(&self, worker: usize, beside: impl FnOnce()) {
        self.sleep.begin(worker);
        self.sleep.search();
        let mut keeper = self.driver.keep().expect("there is no other keeper");
        beside();
        let parking = Parking {
            in_driver: true,
            park: &mut |limit| keeper.park(limit),
        };
        let _parked = (self.sleep.0).park(worker, None, || false, || false, parking);
        drop(keeper);
        self.sleep.found(|| !self.driver.is_kept());
    }

    /// Acts as a worker that parks on its thread until no other keeps the driver. `visited` says
    /// whether others visit the driver, so that the worker parks with a limit if nobody sleeps
    /// there.
    pub fn take_over(&self, worker: usize, visited: bool) {
        self.sleep.begin(worker);
        self.sleep.search();
        while self.driver.keep().is_none() {
            let is_visited = || visited && !self.driver.is_kept();
            let limit = is_visited().then_some(LONGEST_WATCH);
            let is_missed = || limit.is_none() && is_visited();
            let urgent = || self.driver.is_vacant() || is_missed();
            let parking = Parking {
                in_driver: false,
                park: &mut park_thread,
            };
            let _parked = (self.sleep.0).park(worker, limit, urgent, || false, parking);
        }
        self.sleep.found(|| false);
    }

    /// Acts as a busy worker that visits the driver once, if no other keeps it.
    pub fn visit(&self, beside: impl FnOnce()) {
        let mut keeper = self.driver.keep();
        beside();
        keeper.iter_mut().for_each(Keeper::look);
    }

    /// Causes the reactor to report an event for `waker`.
    pub fn tell(&self, waker: Waker) {
        let (bell, _) = self.driver.reactor().expect("a reactor can be made");
        let mut rung = bell.lock();
        rung.woken.push(waker);
        rung.tells = true;
        Bell::rouse(rung);
    }

    /// Parks as `Idle::park` does: in the driver, if it is in use and no other worker keeps it.
    pub fn park(&self, worker: usize, urgent: impl Fn() -> bool, has_work: impl Fn() -> bool) {
        let mut keeper = self.driver.keep();
        let keeps = keeper.is_some();
        let urgent = || urgent() || !keeps && self.driver.is_vacant();
        let mut park = |limit| match &mut keeper {
            Some(keeper) => keeper.park(limit),
            None => park_thread(limit),
        };
        let parking = Parking {
            in_driver: keeps,
            park: &mut park,
        };
        let _parked = (self.sleep.0).park(worker, None, urgent, has_work, parking);
        let mut woken = Vec::new();
        if let Some(keeper) = keeper {
            keeper.leave(&mut woken);
            self.fire(&mut woken);
        }
        woken.into_iter().for_each(Waker::wake);
    }
}
