//! The two task crates, each with a `VecDeque` for a queue, and a second one behind a mutex for
//! wake-ups from other threads: the shortest executors that they make possible.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    pin::Pin,
    sync::Mutex,
    task::{Context, Poll, Waker},
    thread::{self, Thread},
};

use async_task::Task;
use joint::JoinHandle;

use crate::runtime::{Runtime, Work};

/// Both crates offer the interface that the rows need, so this is written once.
macro_rules! queue {
    ($(#[$doc:meta])* $name:ident: $runnable:ty, $handle:ident, $spawn:path, |$future:ident| $detached:expr) => {
        $(#[$doc])*
        pub struct $name;

        const _: () = {
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

            impl Runtime for $name {
                type Handle<T: Send + 'static> = $handle<T>;

                fn spawn<F: Work>(&'static self, future: F) -> $handle<F::Output> {
                    let (runnable, handle) = $spawn(future, push);
                    push(runnable);
                    handle
                }

                fn spawn_detached<F: Work<Output = ()>>(&'static self, $future: F) {
                    push($detached);
                }

                cancelled_by_drop!($handle);

                fn run<F: Work>(&'static self, future: F) -> F::Output {
                    IS_HOME.set(true);
                    *HOME.lock().expect("no panics") = Some(thread::current());
                    let mut handle = self.spawn(future);
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
                    match Pin::new(&mut handle).poll(&mut cx) {
                        Poll::Ready(output) => output,
                        Poll::Pending => unreachable!("the task has ended"),
                    }
                }
            }
        };
    };
}

queue!(
    /// joint's tasks.
    JointQueue: joint::task::Runnable, JoinHandle, joint::task::spawn,
    |future| joint::task::spawn_detached(future, push)
);
queue!(
    /// async-task's tasks.
    AsyncTaskQueue: async_task::Runnable, Task, async_task::spawn,
    |future| {
        let (runnable, task) = async_task::spawn(future, push);
        task.detach();
        runnable
    }
);
