//! A grave of tasks that gain nothing from a second worker.

use std::sync::Arc;

use async_lock::Mutex;
use joint_benches::{options::Options, runtime::Runtime, work::timed};

use super::{
    contestants::OfTasks,
    grave::{About, nanoseconds},
};

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
        let time = runtime.run(timed(async move {
            let lock = Arc::new(Mutex::new(0));
            let tasks = [(); Self::TASKS].map(|()| {
                let lock = lock.clone();
                runtime.spawn(async move {
                    for _ in 0..Self::locks() / Self::TASKS {
                        *lock.lock().await += 1;
                    }
                })
            });
            R::join_all(tasks.into()).await;
            assert_eq!(*lock.lock().await, Self::locks());
        }));
        vec![nanoseconds(time) / Self::locks() as f64]
    }
}
