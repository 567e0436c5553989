//! Lesson 9: a worker that can miss a push. The executor is that of the guide, in `tests/guide`.

use std::{
    collections::VecDeque,
    future::Future,
    sync::{
        self, LockResult,
        atomic::{AtomicUsize, Ordering},
    },
};

use joint::{
    JoinHandle, block_on,
    task::{self, Runnable},
};
use lessons::{
    Counterexample, failure_of, name_thread,
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
};

use crate::exercise::{Verdict, demand, exercise, require, the_model};

/// How often somebody has waited. The model does not see it.
type Waits = sync::Arc<AtomicUsize>;

/// A condition variable that counts how often somebody waits.
struct Pushed(Condvar, Waits);

impl Pushed {
    fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.wait(guard)
    }
}

struct Queue {
    /// `None` once the executor has gone.
    runnables: Mutex<Option<VecDeque<Runnable>>>,
    pushed: Pushed,
}

impl Queue {
    fn new(waits: &Waits) -> Arc<Self> {
        Arc::new(Self {
            runnables: Mutex::new(Some(VecDeque::new())).named("runnables"),
            pushed: Pushed(Condvar::new().named("pushed"), waits.clone()),
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
    with_counted(&Waits::default(), work, f);
}

fn with_counted(waits: &Waits, work: Work, f: fn(&Arc<Queue>)) {
    let queue = Queue::new(waits);
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
pub(crate) fn missed() -> Box<Counterexample> {
    let missed = failure_of(None, || with_worker(Queue::work, |_| ()));
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
    let counted = Waits::default();
    let own = counted.clone();
    // Whether it passes is judged by other models.
    let _ = failure_of(Some(0), move || {
        with_counted(&own, work, |_| thread::yield_now());
    });
    require(counted.load(Ordering::Relaxed) > 0, || {
        "a worker that finds nothing must wait for a push: it must not return, and not spin"
            .to_owned()
    })
}

fn judge(work: Work) -> Verdict {
    waits(work)?;
    the_model(
        "the worker sleeps forever: the push came after its look into the queue and before its wait",
        |failure| failure.message().contains("deadlock"),
        move || with_worker(work, one_task),
    )?;
    demand(
        "a task that spawns another waits for the lock: the worker must not hold it while it runs one",
        move || with_worker(work, a_task_that_spawns),
    )?;
    demand(
        "a worker that was woken must look again: another worker may have taken the runnable",
        move || with_worker(work, a_task_that_is_stolen),
    )
}

#[test]
fn exercise_9() {
    exercise(9, || judge(Queue::work));
}

#[path = "solutions/worker.rs"]
mod solution;
