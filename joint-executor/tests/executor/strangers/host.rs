//! The functions of a host.

use joint::task::{Id, Runnable, TaskEnd};
use joint_executor::hosted::{self, ExecutorId, Host};

use crate::prelude::*;

/// Panics if its executor is used elsewhere more than once, and at the end of a blocking function.
#[derive(Default)]
pub(crate) struct Refuses {
    executor: OnceLock<Arc<Executor>>,
    used: AtomicUsize,
}

impl Host for Refuses {
    fn executor(&self) -> Arc<Executor> {
        self.executor.get().unwrap().clone()
    }

    fn build(&self, _: Builder) -> io::Result<Executor> {
        Err(io::Error::other("this host builds nothing"))
    }

    fn call_blocking(&self, call: Runnable) {
        call.run();
    }

    fn call_ended(&self, _: Id, _: TaskEnd) {
        panic!("the end is refused");
    }

    fn used_elsewhere(&self, _: ExecutorId) {
        assert_eq!(self.used.fetch_add(1, Relaxed), 0, "refused");
    }
}

#[test]
fn a_scope_passes_on_that_its_host_refuses_a_child() {
    let host = Arc::new(Refuses::default());
    let builder = Executor::builder().workers(1).host(host);
    let (executor, mut workers) = builder.build_hosted().unwrap();
    let worker = workers.remove(0).bind();
    let mut dropped = false;
    executor.scope(|scope| {
        let child = OnDrop(|| dropped = true);
        let spawned = catch_unwind(AssertUnwindSafe(|| scope.spawn(async move { drop(child) })));
        assert!(spawned.is_err());
    });
    assert!(dropped);
    worker.end();
}

#[test]
fn a_panic_of_a_hosts_call_ended_does_not_end_the_process() {
    let host = Arc::new(Refuses::default());
    let (executor, _workers) = Executor::builder().workers(1).build_hosted().unwrap();
    assert!(host.executor.set(Arc::new(executor)).is_ok());
    let entered = hosted::enter(host);
    let call = spawn_blocking(|| 5);
    assert_eq!(block_on(call), 5);
    drop(entered);
}
