//! The executor: a queue, a loop that runs the queued tasks, and a way to sleep. A task knows only
//! the schedule function.
//!
//! `super` has the mutex and the condition variable of std. The models in `loom-tests/tests/guide`
//! compile this file with those of loom.

use std::collections::VecDeque;

use joint::{
    JoinHandle,
    task::{self, Runnable},
};

use super::{Arc, Condvar, Mutex};

pub(crate) struct Queue {
    /// `None` once the executor has gone: a runnable that is dropped cancels its task.
    runnables: Mutex<Option<VecDeque<Runnable>>>,
    pushed: Condvar,
}

impl Queue {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            runnables: Mutex::new(Some(VecDeque::new())),
            pushed: Condvar::new(),
        })
    }

    fn push(&self, runnable: Runnable) {
        if let Some(queue) = &mut *self.runnables.lock().unwrap() {
            queue.push_back(runnable);
            self.pushed.notify_one();
        }
    }

    pub(crate) fn work(&self) {
        loop {
            let mut runnables = self.runnables.lock().unwrap();
            let runnable = loop {
                let Some(queue) = &mut *runnables else { return };
                match queue.pop_front() {
                    Some(runnable) => break runnable,
                    None => runnables = self.pushed.wait(runnables).unwrap(),
                }
            };
            drop(runnables);
            runnable.run();
        }
    }

    pub(crate) fn shut_down(&self) {
        let left = self.runnables.lock().unwrap().take();
        self.pushed.notify_all();
        // Dropped outside of the lock: a future's drop may wake another task.
        drop(left);
    }
}

/// With `#[track_caller]`, errors and `Debug` say where the user has called this function.
#[track_caller]
pub(crate) fn spawn<T: Send + 'static>(
    queue: &Arc<Queue>,
    future: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    let own = queue.clone();
    let (runnable, handle) = task::spawn(future, move |runnable| own.push(runnable));
    runnable.schedule();
    handle
}
