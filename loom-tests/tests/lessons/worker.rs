//! Lesson 9: a worker that can miss a push. The executor is that of the guide, in `tests/guide`.

use std::{
    collections::VecDeque,
    future::Future,
    sync::{
        LockResult,
        atomic::{AtomicUsize, Ordering},
    },
};

use joint::{
    JoinHandle, block_on,
    task::{self, Runnable},
};
use loom::model::Builder;
use loom_tests::lab::{
    self, name_thread,
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
};

use crate::exercise::{Verdict, apart, demand_bounded, exercise, require, the_model_bounded};

/// A condition variable that counts how often somebody waits.
struct Pushed(Condvar);

/// The waits of this process. A model may run on any thread of it.
static WAITS: AtomicUsize = AtomicUsize::new(0);

impl Pushed {
    fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        WAITS.fetch_add(1, Ordering::Relaxed);
        self.0.wait(guard)
    }
}

struct Queue {
    /// `None` once the executor has gone.
    runnables: Mutex<Option<VecDeque<Runnable>>>,
    pushed: Pushed,
}

impl Queue {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            runnables: Mutex::new(Some(VecDeque::new())).named("runnables"),
            pushed: Pushed(Condvar::new().named("pushed")),
        })
    }

    fn push(&self, runnable: Runnable) {
        if let Some(queue) = &mut *self.runnables.lock().unwrap() {
            queue.push_back(runnable);
            self.pushed.0.notify_one();
        }
    }

    fn shut_down(&self) {
        let left = self.runnables.lock().unwrap().take();
        self.pushed.0.notify_all();
        drop(left);
    }

    // The exercise.

    fn work(&self) {
        loop {
            let mut runnables = self.runnables.lock().unwrap();
            let Some(queue) = &mut *runnables else { return };
            let next = queue.pop_front();
            drop(runnables);
            match next {
                Some(runnable) => drop(runnable.run()),
                None => {
                    let runnables = self.runnables.lock().unwrap();
                    drop(self.pushed.wait(runnables).unwrap());
                }
            }
        }
    }
}

fn spawn<T: Send + 'static>(
    queue: &Arc<Queue>,
    future: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    let own = queue.clone();
    let (runnable, handle) = task::spawn(future, move |runnable| own.push(runnable));
    runnable.schedule();
    handle
}

type Work = fn(&Queue);

/// Runs `f` beside a worker, and then shuts the executor down.
fn with_worker(work: Work, f: fn(&Arc<Queue>)) {
    let queue = Queue::new();
    let own = queue.clone();
    let worker = thread::spawn(move || {
        name_thread("worker");
        work(&own);
    });
    f(&queue);
    queue.shut_down();
    worker.join().unwrap();
}

/// The execution in which a worker misses even that the executor is shut down.
pub(crate) fn missed() -> Box<lab::Counterexample> {
    let missed = lab::failure_of(Builder::new(), || with_worker(Queue::work, |_| ()));
    missed.expect("the worker misses it")
}

fn one_task(queue: &Arc<Queue>) {
    assert_eq!(block_on(spawn(queue, async { 42 })), 42);
}

/// This thread takes the runnable, as another worker may.
fn a_task_that_is_stolen(queue: &Arc<Queue>) {
    let handle = spawn(queue, async { 42 });
    let stolen = queue
        .runnables
        .lock()
        .unwrap()
        .as_mut()
        .and_then(VecDeque::pop_front);
    if let Some(runnable) = stolen {
        runnable.run();
    }
    assert_eq!(block_on(handle), 42);
}

fn a_task_that_spawns(queue: &Arc<Queue>) {
    let own = queue.clone();
    let outer = spawn(queue, async move { spawn(&own, async { 42 }).await });
    assert_eq!(block_on(outer), 42);
}

/// Demands that a worker without work waits, if it can run until it does.
fn waits(work: Work) -> Verdict {
    let before = WAITS.load(Ordering::Relaxed);
    let mut builder = Builder::new();
    builder.preemption_bound = Some(0);
    lab::check(&builder, move || {
        with_worker(work, |_| thread::yield_now());
    });
    require(WAITS.load(Ordering::Relaxed) > before, || {
        "a worker that finds nothing must wait for a push: it must not return, and not spin"
            .to_owned()
    })
}

fn judge(work: Work) -> Verdict {
    waits(work)?;
    the_model_bounded(
        "the worker sleeps forever: the push came after its look into the queue and before its wait",
        |failure| failure.message().contains("deadlock"),
        move || with_worker(work, one_task),
    )?;
    demand_bounded(
        "a task that spawns another waits for the lock: the worker must not hold it while it runs one",
        move || with_worker(work, a_task_that_spawns),
    )?;
    demand_bounded(
        "a worker that was woken must look again: another worker may have taken the runnable",
        move || with_worker(work, a_task_that_is_stolen),
    )
}

#[test]
fn exercise_9() {
    let [verdict] = apart("worker::exercise_9", [|| judge(Queue::work)]);
    exercise(9, || verdict);
}

#[path = "solutions/worker.rs"]
mod solution;
