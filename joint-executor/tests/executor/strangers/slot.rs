//! The LIFO slot is not open to strangers. A task ends, its waiter's waker leads to a stranger's
//! code, and that code wakes a task of the executor and waits for it.

use joint::task;

use super::{
    scope::Refuses,
    support::{Quiet, Stranger, Watched, quiet, stranger},
};
use crate::prelude::*;

/// The stranger: it wakes a task that waits, and then waits for it.
struct Wakes {
    stranger: Arc<Stranger>,
    task: Mutex<Option<oneshot::Sender<()>>>,
}

impl Wakes {
    fn call(&self) {
        let wake = || self.task.lock().unwrap().take().map(|task| task.send(()));
        self.stranger.call_after(|| _ = wake());
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.call();
    }
}

/// An executor whose workers rest, a stranger, and a task that ends after [`End::now`].
struct Scene {
    quiet: Quiet,
    wakes: Arc<Wakes>,
    watched: Watched,
    ends: Option<JoinHandle<()>>,
    end: mpsc::Sender<()>,
    _woken: JoinHandle<()>,
}

impl Scene {
    fn new(workers: usize) -> Self {
        let quiet = quiet(workers);
        let (stranger, watched) = stranger();
        let (task, woken) = oneshot::channel();
        let release = watched.release();
        let woken = quiet.executor.spawn(async move {
            let _ = woken.await;
            let _ = release.send(());
        });
        quiet.settle_all();
        let (end, ended) = mpsc::channel();
        // In one poll, so that nobody else looks after the worker that runs it.
        let ends = quiet.executor.spawn(async move { ended.recv().unwrap() });
        let wakes = Arc::new(Wakes {
            stranger,
            task: Mutex::new(Some(task)),
        });
        Self {
            quiet,
            wakes,
            watched,
            ends: Some(ends),
            end,
            _woken: woken,
        }
    }

    fn waker(&self) -> Waker {
        self.wakes.clone().into()
    }

    fn ends(&mut self) -> JoinHandle<()> {
        self.ends.take().unwrap()
    }

    /// Ends the task, whose waiter waits by now.
    fn assert_the_woken_task_runs(&self) {
        self.quiet.settle(self.quiet.executor.workers() - 1);
        self.end.send(()).unwrap();
        self.watched.begun();
        self.watched.assert_released();
    }
}

#[test]
fn a_task_that_a_strangers_code_wakes_and_waits_for_runs() {
    type Way = (&'static str, fn(Scene));
    let ways: [Way; 6] = [
        ("a foreign waker", |mut scene| {
            let mut handle = scene.ends();
            assert!(poll_with(&mut handle, &scene.waker()).is_pending());
            scene.assert_the_woken_task_runs();
        }),
        ("a foreign waker of a join set", |mut scene| {
            let mut set = JoinSet::new();
            set.insert(scene.ends());
            let mut next = pin!(set.join_next());
            assert!(poll_with(&mut next, &scene.waker()).is_pending());
            scene.assert_the_woken_task_runs();
        }),
        ("a foreign waker of a local executor", |mut scene| {
            let local = LocalExecutor::new();
            let handle = scene.ends();
            local.spawn(handle).detach();
            let mut run = pin!(local.run(pending::<()>()));
            // Until nothing is due there, so that it leaves the waker.
            for _ in 0..4 {
                assert!(poll_with(&mut run, &scene.waker()).is_pending());
            }
            scene.assert_the_woken_task_runs();
        }),
        ("the schedule function of another runtime", |mut scene| {
            let (handle, wakes) = (scene.ends(), scene.wakes.clone());
            let schedule = move |runnable: task::Runnable| {
                wakes.call();
                runnable.run();
            };
            let (runnable, handle) = task::spawn(handle, schedule);
            runnable.run();
            assert!(!handle.is_finished());
            scene.assert_the_woken_task_runs();
        }),
        ("the hook of another executor", |mut scene| {
            let (handle, wakes) = (scene.ends(), scene.wakes.clone());
            let own = Arc::new(Mutex::new(None));
            let on_wake = {
                let own = own.clone();
                move |_: &TaskInfo<'_>| {
                    // On a worker of the first executor, and not on that of its own.
                    if current_worker().is_some()
                        && *own.lock().unwrap() != Some(thread::current().id())
                    {
                        wakes.call();
                    }
                }
            };
            let other = Quiet::new(1, |builder| builder.on_wake(on_wake));
            let home = other.executor.spawn(async { thread::current().id() });
            *own.lock().unwrap() = Some(block_on(home));
            let handle = other.executor.spawn(handle);
            other.settle_all();
            wait_until(|| !handle.is_finished());
            scene.assert_the_woken_task_runs();
        }),
        ("the drop of a task of an ended executor", |mut scene| {
            let (handle, wakes) = (scene.ends(), scene.wakes.clone());
            let worker: Arc<Mutex<Option<HostedWorker>>> = Arc::default();
            // Its host allows no thread for the drop.
            let ends = worker.clone();
            let (other, mut bound) = bound_with(|builder| {
                let builder = builder.host(Arc::<Refuses>::default());
                builder.on_wake(move |_| drop(ends.lock().unwrap().take()))
            });
            let held = OnDrop(move || wakes.call());
            let waits = async move {
                let _held = held;
                handle.await;
            };
            other.spawn_detached(waits);
            while bound.step(8, Waker::noop()) == Step::Ready {}
            *worker.lock().unwrap() = Some(bound.unbind().unwrap());
            scene.assert_the_woken_task_runs();
        }),
    ];
    for (name, way) in ways {
        for workers in [2, 4] {
            println!("{name}, {workers} workers");
            way(Scene::new(workers));
        }
    }
}
