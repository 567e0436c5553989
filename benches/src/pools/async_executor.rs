//! async-executor, both as it is and leaked, which its feature `static` makes cheaper. Both have
//! threads that block on `run`.

use std::{future::pending, thread};

use async_executor::{Executor, StaticExecutor, Task};

use crate::runtime::{Pool, Runtime, Work, leak};

/// The executor as it is.
pub struct AsyncExecutor(Executor<'static>);
/// The executor leaked.
pub struct AsyncExecutorStatic(&'static StaticExecutor);

macro_rules! runtime {
    ($name:ident: $new:expr) => {
        impl Pool for $name {
            fn start(workers: usize) -> &'static Self {
                let this = leak(Self($new));
                for _ in 0..workers {
                    thread::spawn(|| joint::block_on(this.0.run(pending::<()>())));
                }
                this
            }
        }

        impl Runtime for $name {
            type Handle<T: Send + 'static> = Task<T>;

            fn spawn<F: Work>(&'static self, future: F) -> Task<F::Output> {
                self.0.spawn(future)
            }

            cancelled_by_drop!(Task);
        }
    };
}

runtime!(AsyncExecutor: Executor::new());
runtime!(AsyncExecutorStatic: Executor::new().leak());
