//! [`Hold`]: what the handles of a task keep, and cancel when the last one is dropped.

use std::sync::{Arc, PoisonError};

use joint_executor::JoinHandle;
use joint_switch::Mutex;

use super::Canceller;

#[derive(Clone)]
pub(super) enum Hold {
    Future(Canceller),
    /// A task of the executor, which cancels it on its own thread.
    Task(Arc<Mutex<Option<JoinHandle<()>>>>),
}

impl Hold {
    /// Holds a task, or nothing if the task cannot be cancelled. The handles are counted even then.
    pub(super) fn task(task: Option<JoinHandle<()>>) -> Self {
        Self::Task(Arc::new(Mutex::new(task)))
    }

    pub(super) fn cancel(&self) {
        match self {
            Self::Future(canceller) => canceller.cancel(),
            Self::Task(task) => {
                let task = task.lock().unwrap_or_else(PoisonError::into_inner).take();
                drop(task);
            }
        }
    }

    /// Returns whether there is no other handle. If so, all that was done with the others happens
    /// before this returns.
    pub(super) fn is_last(&mut self) -> bool {
        match self {
            Self::Future(canceller) => canceller.is_last(),
            Self::Task(task) => Arc::get_mut(task).is_some(),
        }
    }
}
