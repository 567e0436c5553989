//! async-executor's executor of one thread, leaked, which its feature `static` makes cheaper.

use async_executor::{LocalExecutor, StaticLocalExecutor, Task};

use crate::runtime::{Runtime, Work};

/// Each thread's own executor.
pub struct AsyncExecutorLocal;

thread_local! {
    static EXECUTOR: &'static StaticLocalExecutor = LocalExecutor::new().leak();
}

impl Runtime for AsyncExecutorLocal {
    type Handle<T: Send + 'static> = Task<T>;

    fn spawn<F: Work>(&'static self, future: F) -> Task<F::Output> {
        EXECUTOR.with(|executor| executor.spawn(future))
    }

    cancelled_by_drop!(Task);

    fn run<F: Work>(&'static self, future: F) -> F::Output {
        let executor = EXECUTOR.with(|executor| *executor);
        joint::block_on(executor.run(executor.spawn(future)))
    }
}
