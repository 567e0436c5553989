//! Helpers for the unit tests of the executor: workers without threads. A test calls what a worker
//! would call, one step at a time, so it knows what each step found and whom it woke.

use core::mem::replace;

use super::{queues::After, schedule::queue, state::Searching};
use crate::sleep::{Need, Parked, Parking};
use joint::task::spawn;

/// The names that most of the tests use.
pub(super) use {
    super::{
        Running, Worker,
        current::with_thread_worker,
        launch::{launch, new_detached, new_task},
        shared::{Decides, Runnable, Shared},
    },
    crate::{
        fences::Fences,
        hooks::Hooks,
        registry::Lane,
        sleep::Woke,
        wakes::{Wakes, counting, waker_that},
    },
    alloc::{boxed::Box, sync::Arc, vec::Vec},
    core::{
        array,
        cell::Cell,
        future::{Future, pending, poll_fn},
        iter,
        panic::Location,
        pin::Pin,
        task::{Context, Poll, Waker},
        time::Duration,
    },
    joint::JoinHandle,
    std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::mpsc,
        thread,
        time::Instant,
    },
};

/// One of each kind, for the first worker.
pub(super) const LANES: [Lane; 3] = [Lane::Normal, Lane::High, Lane::Pinned(0)];

/// Two workers of one executor. The test is the thread of both.
pub(super) fn two_workers() -> [Worker; 2] {
    two_workers_with(Hooks::default())
}

/// The same, with hooks.
pub(super) fn two_workers_with(hooks: Hooks) -> [Worker; 2] {
    let mut workers = workers_with(2, hooks).into_iter();
    array::from_fn(|_| workers.next().expect("two"))
}

/// The workers of one executor.
pub(super) fn workers_with(workers: usize, mut hooks: Hooks) -> Vec<Worker> {
    let fences = Fences::among(workers);
    Shared::with_workers(workers, fences, &mut hooks, Decides::Workers).1
}

/// What a worker's thread does, step by step.
impl Worker {
    /// The worker, which runs whatever the test lets it do.
    pub(crate) fn running(&self) -> Running<'_> {
        Running::of(&self.core)
    }

    pub(super) fn push(&self, runnable: Runnable, lane: Lane) {
        queue(&self.running(), runnable, lane);
    }

    pub(super) fn take_next(&self) -> Option<Runnable> {
        self.next(&self.running())
    }

    pub(super) fn search(&self) -> Searching<'_> {
        self.idle.search(self.running())
    }

    pub(super) fn search_and_stop(&self) {
        self.idle.stop(self.search());
    }

    pub(super) fn attend(&self, after: After) -> bool {
        self.attendant.attend(&self.running(), after)
    }

    pub(super) fn attend_in_turn(&self) -> Option<u64> {
        self.attendant.attend_in_turn(&self.running())
    }

    pub(super) fn discard_blocked(&self) {
        self.closing.discard_blocked(&self.running());
    }

    /// Runs a task as code of this worker.
    pub(super) fn run(&self, runnable: Runnable) {
        self.as_current(|| self.running().run(runnable));
    }
}

/// Arms a timer of one of the three owners: the two workers, and all other threads.
pub(super) fn arm(worker: &Worker, owner: usize, deadline: u64, waker: Waker) {
    let shared = worker.shared();
    assert!(shared.driver.timers(owner).insert(deadline, waker).is_ok());
    shared.driver.hurry(deadline, &shared.sleep, || {});
}

/// A task that is always due.
pub(super) fn busy() -> Runnable {
    let forever = poll_fn(|cx| {
        cx.waker().wake_by_ref();
        Poll::<()>::Pending
    });
    new_detached(Location::caller(), forever)
}

/// A task that ends in its first run.
pub(super) fn task() -> Runnable {
    new_detached(Location::caller(), async {})
}

/// A task whose future calls `f` when it is dropped.
pub(super) fn task_that_drops(f: impl FnMut() + Send + 'static) -> Runnable {
    struct OnDrop<F: FnMut()>(F);
    impl<F: FnMut()> Drop for OnDrop<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    let held = OnDrop(f);
    new_detached(Location::caller(), async move { drop(held) })
}

/// Spawns a task that waits after its first run and ends in its second. Returns its handle and a
/// waker for it.
pub(super) fn waiting(worker: &Worker, lane: Lane) -> (JoinHandle<()>, Waker) {
    let (sender, wakers) = mpsc::channel();
    let mut has_run = false;
    let future = poll_fn(move |cx| match replace(&mut has_run, true) {
        true => Poll::Ready(()),
        false => {
            sender.send(cx.waker().clone()).expect("the test waits");
            Poll::Pending
        }
    });
    let (runnable, handle) = new_task(Location::caller(), future);
    launch(worker.shared(), Some(&worker.running()), runnable, lane);
    worker.run(worker.queues.next_queued().expect("it was launched"));
    (handle, wakers.recv().expect("it has been polled"))
}

/// Returns how many workers the first worker wakes in `f`, while the second one sleeps.
pub(super) fn wakes_of<R>(worker: &Worker, f: impl FnOnce() -> R) -> u64 {
    let before = worker.counters().wakes.get();
    while_another_sleeps(worker, f);
    worker.counters().wakes.get() - before
}

/// Calls `f` at the moment at which the second worker is asleep, and has no other lookout.
pub(super) fn while_another_sleeps<R>(worker: &Worker, f: impl FnOnce() -> R) {
    while_another_parks(worker, None, f);
}

/// The same, if it sleeps without a limit; or else while it watches.
pub(super) fn while_another_parks<R>(
    worker: &Worker,
    limit: Option<Duration>,
    f: impl FnOnce() -> R,
) {
    let sleep = &worker.shared().sleep;
    let mut f = Some(f);
    let mut park = |_| {
        f.take().map(|f| f());
        true
    };
    let parking = Parking {
        in_driver: false,
        park: &mut park,
    };
    sleep.search();
    let parked = sleep.park(1, limit, || false, || false, parking);
    assert!(parked != Parked::NotAtAll && f.is_none());
    let _nobody = sleep.found(Need::Lookout, || false);
}

/// Puts the second worker to sleep as one whose thread is away. When it is woken, `woken` gets the
/// number of tasks that the worker of the thread has queued.
pub(super) fn send_away(worker: &Worker, woken: mpsc::Sender<usize>) {
    let reports = waker_that(move || {
        let queued = with_thread_worker(|worker| {
            let (worker, _) = worker.expect("this thread is a worker");
            worker.queues.lengths()[0]
        });
        woken.send(queued).expect("the test waits");
    });
    let sleep = &worker.shared().sleep;
    sleep.search();
    assert!(sleep.go_away(1, reports, || false, || false).is_ok());
}

/// A waker that calls `f` when it is woken, and is not a foreign one.
pub(super) fn inline(f: impl Fn() + Send + Sync + 'static) -> Waker {
    let (runnable, handle) = spawn(pending::<()>(), move |runnable| {
        f();
        drop(runnable);
    });
    handle.detach();
    let waker = runnable.waker();
    // It waits from here on.
    runnable.run();
    waker
}
