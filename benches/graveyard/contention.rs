//! Graves of tasks that gain nothing from a second worker: they take turns, or never wait.

use std::{hint::black_box, sync::Arc, time::Duration};

use async_lock::Mutex;
use joint_benches::{options::Options, runtime::Runtime, work::timed};

use super::{
    contestants::OfTasks,
    grave::{About, nanoseconds},
};

/// Runs the work of a row as a task, and returns the time that one operation takes.
fn each<R: Runtime>(
    runtime: &'static R,
    operations: usize,
    work: impl Future<Output = ()> + Send + 'static,
) -> Vec<f64> {
    let time: Duration = runtime.run(timed(work));
    vec![nanoseconds(time) / operations as f64]
}

/// Each unlock woke a worker, which stole the task that waited, so the lock and the tasks moved
/// between the processors. Two workers took nine times as long as one (zio #574).
#[derive(Clone, Copy)]
pub(crate) struct Contended;

impl Contended {
    const TASKS: usize = 4;

    fn locks() -> usize {
        Options::read().of(100_000, 100)
    }
}

impl OfTasks for Contended {
    fn about(self) -> About {
        About::times(
            "a lock that four tasks want (zio #574)",
            &["one lock and unlock"],
            "lock",
            Self::locks(),
        )
    }

    fn run<R: Runtime>(self, runtime: &'static R) -> Vec<f64> {
        each(runtime, Self::locks(), async move {
            let lock = Arc::new(Mutex::new(0));
            let tasks = [(); Self::TASKS].map(|()| {
                let lock = lock.clone();
                runtime.spawn(async move {
                    for _ in 0..Self::locks() / Self::TASKS {
                        *lock.lock().await += 1;
                    }
                })
            });
            for task in tasks {
                R::join(task).await;
            }
            assert_eq!(*lock.lock().await, Self::locks());
        })
    }
}

/// What a task costs beside the function that it only calls, if there are many (heph #324).
#[derive(Clone, Copy)]
pub(crate) struct NeverSuspends;

impl NeverSuspends {
    fn computations() -> usize {
        Options::read().of(200_000, 1_000)
    }
}

impl OfTasks for NeverSuspends {
    fn about(self) -> About {
        About::times(
            "200,000 computations that never suspend (heph #324)",
            &["one computation"],
            "computation",
            Self::computations(),
        )
    }

    fn run<R: Runtime>(self, runtime: &'static R) -> Vec<f64> {
        each(runtime, Self::computations(), async move {
            let start = |i| runtime.spawn(async move { black_box(i) });
            let tasks: Vec<_> = (0..Self::computations()).map(start).collect();
            for task in tasks {
                R::join(task).await;
            }
        })
    }
}
