//! The two task crates, each with a `VecDeque` for a queue: the shortest executors that they make
//! possible.

/// Both crates offer the interface that the rows need, so the rows are written once.
macro_rules! queue {
    ($(#[$doc:meta])* $name:ident: $runnable:ty, $handle:ident, $spawn:path, |$future:ident| $detached:expr) => {
        $(#[$doc])*
        pub struct $name;

        const _: () = {
            thread_local! {
                static QUEUE: RefCell<VecDeque<$runnable>> = const { RefCell::new(VecDeque::new()) };
            }

            fn push(runnable: $runnable) {
                QUEUE.with_borrow_mut(|queue| queue.push_back(runnable));
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

                /// Runs all tasks. The rows wait for nothing from outside.
                fn run<F: Work>(&'static self, future: F) -> F::Output {
                    let mut handle = pin!(self.spawn(future));
                    while let Some(runnable) = QUEUE.with_borrow_mut(VecDeque::pop_front) {
                        runnable.run();
                    }
                    match handle.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                        Poll::Ready(output) => output,
                        Poll::Pending => panic!("nothing is left to run, and the task waits"),
                    }
                }
            }
        };
    };
}

use std::{
    cell::RefCell,
    collections::VecDeque,
    pin::pin,
    task::{Context, Poll, Waker},
};

use async_task::Task;
use joint::JoinHandle;

use crate::runtime::{Runtime, Work};

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
