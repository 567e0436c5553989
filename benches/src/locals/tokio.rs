//! tokio's runtime of one thread.

use tokio::{
    runtime::{Builder, Runtime as Tokio},
    task::JoinHandle,
};

use crate::runtime::{Runtime, Work};

/// Each thread's own runtime, with timers and descriptors or without.
pub struct Current<const IS_DRIVEN: bool>;

/// Without timers and descriptors.
pub type TokioLocal = Current<false>;
/// With timers and descriptors.
pub type DrivenTokioLocal = Current<true>;

thread_local! {
    static BARE: Tokio = Builder::new_current_thread().build().expect("a runtime");
    static DRIVEN: Tokio = Builder::new_current_thread().enable_all().build().expect("a runtime");
}

impl<const IS_DRIVEN: bool> Runtime for Current<IS_DRIVEN> {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    fn spawn<F: Work>(&'static self, future: F) -> JoinHandle<F::Output> {
        tokio::spawn(future)
    }

    detached_by_drop!(JoinHandle);

    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }

    fn run<F: Work>(&'static self, future: F) -> F::Output {
        let runtime = if IS_DRIVEN { &DRIVEN } else { &BARE };
        runtime.with(|runtime| runtime.block_on(async { Self::join(self.spawn(future)).await }))
    }
}
