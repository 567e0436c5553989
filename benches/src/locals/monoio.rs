//! monoio, on its driver without `io_uring`. It cannot cancel a task.

use std::cell::RefCell;

use monoio::{LegacyDriver, Runtime as Monoio, RuntimeBuilder, task::JoinHandle};

use crate::runtime::{Runtime, Work};

/// Each thread's own runtime.
pub struct MonoioLocal;

thread_local! {
    static RUNTIME: RefCell<Monoio<LegacyDriver>> =
        RefCell::new(RuntimeBuilder::<LegacyDriver>::new().build().expect("a runtime"));
}

impl Runtime for MonoioLocal {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    fn spawn<F: Work>(&'static self, future: F) -> JoinHandle<F::Output> {
        monoio::spawn(future)
    }

    fn join<T: Send + 'static>(handle: JoinHandle<T>) -> impl Future<Output = T> + Send {
        handle
    }

    fn detach<T: Send + 'static>(handle: JoinHandle<T>) {
        drop(handle);
    }

    fn cancel<T: Send + 'static>(_: JoinHandle<T>) {
        unreachable!("the rows that cancel leave it out");
    }

    fn run<F: Work>(&'static self, future: F) -> F::Output {
        RUNTIME.with_borrow_mut(|runtime| {
            runtime.block_on(async { Self::join(self.spawn(future)).await })
        })
    }
}
