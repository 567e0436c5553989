//! The same work for whole runtimes: everything happens in a task, on one thread, through the
//! runtime's queue.
//!
//! The two task crates get the same queue, a `VecDeque`, and for wake-ups from another thread a
//! second one behind a mutex.

/// The operations that each row is written with.
///
/// * `block_on` runs a future as a task, and everything that it spawns, until nothing is left to
///   run;
/// * `spawn`, `join` and `cancel` are those of the runtime.
macro_rules! queue {
    ($runnable:ty) => {
        use std::{
            cell::{Cell, RefCell},
            collections::VecDeque,
            sync::Mutex,
            task::{Context, Poll, Waker},
            thread::{self, Thread},
        };

        thread_local! {
            static LOCAL: RefCell<VecDeque<$runnable>> = const { RefCell::new(VecDeque::new()) };
            static IS_HOME: Cell<bool> = const { Cell::new(false) };
        }

        static REMOTE: Mutex<VecDeque<$runnable>> = Mutex::new(VecDeque::new());
        static HOME: Mutex<Option<Thread>> = Mutex::new(None);

        fn push(runnable: $runnable) {
            if IS_HOME.get() {
                return LOCAL.with_borrow_mut(|queue| queue.push_back(runnable));
            }
            let mut remote = REMOTE.lock().expect("no panics");
            let was_empty = remote.is_empty();
            remote.push_back(runnable);
            drop(remote);
            if was_empty && let Some(home) = &*HOME.lock().expect("no panics") {
                home.unpark();
            }
        }

        fn pop() -> Option<$runnable> {
            let local = LOCAL.with_borrow_mut(VecDeque::pop_front);
            local.or_else(|| {
                let mut remote = REMOTE.lock().expect("no panics");
                LOCAL.with_borrow_mut(|local| {
                    std::mem::swap(local, &mut remote);
                    local.pop_front()
                })
            })
        }

        pub(crate) fn block_on<T: Send + 'static>(
            future: impl Future<Output = T> + Send + 'static,
        ) -> T {
            IS_HOME.set(true);
            *HOME.lock().expect("no panics") = Some(thread::current());
            let mut handle = spawn(future);
            loop {
                if let Some(runnable) = pop() {
                    runnable.run();
                } else if handle.is_finished() {
                    break;
                } else {
                    thread::park();
                }
            }
            let mut cx = Context::from_waker(Waker::noop());
            match std::pin::Pin::new(&mut handle).poll(&mut cx) {
                Poll::Ready(output) => output,
                Poll::Pending => unreachable!("the task has ended"),
            }
        }
    };
}

pub(crate) mod with_joint {
    queue!(joint::task::Runnable);

    pub(crate) fn spawn<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> joint::JoinHandle<T> {
        let (runnable, handle) = joint::task::spawn(future, push);
        push(runnable);
        handle
    }

    pub(crate) async fn join<T>(handle: joint::JoinHandle<T>) -> T {
        handle.await
    }

    pub(crate) fn cancel<T>(handle: joint::JoinHandle<T>) {
        drop(handle);
    }

    rows!();
    rows_of_threads!();
}

pub(crate) mod with_async_task {
    queue!(async_task::Runnable);

    pub(crate) fn spawn<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> async_task::Task<T> {
        let (runnable, task) = async_task::spawn(future, push);
        push(runnable);
        task
    }

    pub(crate) async fn join<T>(task: async_task::Task<T>) -> T {
        task.await
    }

    pub(crate) fn cancel<T>(task: async_task::Task<T>) {
        drop(task);
    }

    rows!();
    rows_of_threads!();
}

pub(crate) mod with_tokio {

    use tokio::{
        runtime::{Builder, Runtime},
        task::JoinHandle,
    };

    pub(crate) use tokio::spawn;

    thread_local! {
        static RUNTIME: Runtime = Builder::new_current_thread().build().expect("a runtime");
    }

    pub(crate) fn block_on<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> T {
        RUNTIME.with(|runtime| runtime.block_on(async { join(spawn(future)).await }))
    }

    pub(crate) async fn join<T>(handle: JoinHandle<T>) -> T {
        handle.await.expect("no panics")
    }

    pub(crate) fn cancel<T>(handle: JoinHandle<T>) {
        handle.abort();
    }

    rows!();
    rows_of_threads!();
}

/// On its driver without `io_uring`. It cannot cancel a task. Its feature `sync`, which would let
/// another thread wake its tasks, makes every wake-up more expensive, and is off.
#[cfg(unix)]
pub(crate) mod with_monoio {
    use std::cell::RefCell;

    use monoio::{LegacyDriver, Runtime, RuntimeBuilder, task::JoinHandle};

    pub(crate) use monoio::spawn;

    thread_local! {
        static RUNTIME: RefCell<Runtime<LegacyDriver>> =
            RefCell::new(RuntimeBuilder::<LegacyDriver>::new().build().expect("a runtime"));
    }

    pub(crate) fn block_on<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> T {
        RUNTIME.with_borrow_mut(|runtime| runtime.block_on(async { join(spawn(future)).await }))
    }

    pub(crate) async fn join<T>(handle: JoinHandle<T>) -> T {
        handle.await
    }

    rows!();
}
