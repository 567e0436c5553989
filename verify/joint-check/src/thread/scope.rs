//! Threads that borrow from the one that starts them.

use core::{cell::RefCell, marker::PhantomData};
use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use super::{JoinHandle, Thread, ThreadId, start};
use crate::{
    graph::Until,
    run::{Request, perform},
};

/// The threads of a scope, which end before it does.
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    threads: RefCell<VecDeque<ThreadId>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

// SAFETY: all threads of a model are coroutines of one thread of the system.
unsafe impl Sync for Scope<'_, '_> {}

/// A handle with which to wait for the end of a thread of a scope.
#[derive(Debug)]
pub struct ScopedJoinHandle<'scope, T> {
    handle: JoinHandle<T>,
    threads: &'scope RefCell<VecDeque<ThreadId>>,
}

// SAFETY: as for the scope.
unsafe impl<T: Send> Send for ScopedJoinHandle<'_, T> {}
// SAFETY: as for the scope.
unsafe impl<T: Send> Sync for ScopedJoinHandle<'_, T> {}

/// Calls `f` with a scope, and waits for the threads that were started in it and not joined. As in
/// std, it waits for their closures, but not for the destructors of their thread-locals. As all
/// threads of a model, they are at most [`MAX_THREADS`](crate::MAX_THREADS).
#[track_caller]
pub fn scope<'env, T>(f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
    let scope = Scope {
        threads: RefCell::default(),
        scope: PhantomData,
        env: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    loop {
        let next = scope.threads.borrow_mut().pop_front();
        let Some(thread) = next else { break };
        perform("join (scope)", Request::Join(thread.0, Until::Leave));
    }
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a thread.
    #[track_caller]
    pub fn spawn<T: Send + 'scope>(
        &'scope self,
        f: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, T> {
        // SAFETY: the scope ends after the thread. If the thread is blocked forever, so is the
        // scope, and the stack of neither is used again.
        let handle = unsafe { start(None, Until::Leave, f) };
        self.threads.borrow_mut().push_back(handle.thread.id);
        ScopedJoinHandle {
            handle,
            threads: &self.threads,
        }
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the end of the thread.
    ///
    /// # Errors
    /// Never: a model fails where a thread panics.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        let id = self.handle.thread.id;
        self.threads.borrow_mut().retain(|&other| other != id);
        self.handle.join()
    }

    /// Returns the handle of the thread.
    pub fn thread(&self) -> &Thread {
        self.handle.thread()
    }
}
