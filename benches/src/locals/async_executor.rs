//! async-executor's executor of one thread, leaked, which its feature `static` makes cheaper.

use std::future::Future;

use async_executor::{LocalExecutor, StaticLocalExecutor, Task};

use crate::runtime::Runtime;

/// Each thread's own executor.
pub struct AsyncExecutorLocal;

thread_local! {
    static EXECUTOR: &'static StaticLocalExecutor = LocalExecutor::new().leak();
}

impl Runtime for AsyncExecutorLocal {
    type Handle<T: Send + 'static> = Task<T>;

    fn spawn<T, F>(&'static self, future: F) -> Task<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        EXECUTOR.with(|executor| executor.spawn(future))
    }

    cancelled_by_drop!(Task);

    fn run<T, F>(&'static self, future: F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let executor = EXECUTOR.with(|executor| *executor);
        joint::block_on(executor.run(executor.spawn(future)))
    }
}
