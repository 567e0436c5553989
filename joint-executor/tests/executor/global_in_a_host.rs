//! The global executor of the process is not the one that a host builds. In a program of its own,
//! because there is one global executor.

use joint::task::Runnable;
use joint_executor::hosted::{self, Host};

use crate::prelude::*;

/// Counts what it builds.
#[derive(Default)]
struct Counts(AtomicUsize);

impl Host for Counts {
    fn executor(&self) -> Arc<Executor> {
        unreachable!("the test asks for the global executor by its name")
    }

    fn build(&self, _: Builder) -> io::Result<Executor> {
        self.0.fetch_add(1, Relaxed);
        Err(io::Error::other("this host builds nothing"))
    }

    fn call_blocking(&self, _: Runnable) {
        unreachable!("nothing is called")
    }
}

#[test]
fn the_global_executor_is_not_built_by_a_host() {
    crate::common::alone(|| {
        let host = Arc::new(Counts::default());
        let entered = hosted::enter(host.clone());
        let global = Executor::global();
        drop(entered);
        assert_eq!(block_on(global.spawn(async { 5 })), 5);
        assert_eq!(host.0.load(Relaxed), 0);
    });
}
