//! An executor without threads of its own: models are its workers.

use alloc::sync::Arc;

use crate::{
    Executor,
    fences::Fences,
    who,
    worker::{
        Worker,
        shared::{Decides, Shared},
    },
};

/// A worker that has no thread.
pub struct OwnWorker(Worker);

/// Ends an executor that [`without_threads`] has made.
#[derive(Clone)]
pub struct End(Arc<Shared>);

/// Makes an executor of one worker, with the fences of one of `fenced` workers. The drop of the
/// executor does not end it.
pub fn without_threads(fenced: usize) -> (Executor, OwnWorker) {
    let fences = Fences::among(fenced);
    let (shared, workers) =
        Shared::with_workers(1, fences, &mut Default::default(), Decides::Workers);
    let executor = Executor {
        shared,
        is_owner: false,
        is_hosted: true,
        host: None,
    };
    let worker = workers.into_iter().next().expect("one");
    (executor, OwnWorker(worker))
}

impl OwnWorker {
    pub fn end(&self) -> End {
        End(self.0.shared().clone())
    }

    /// Does all that a worker's thread does, from its start until the executor has ended.
    pub fn main(self) {
        self.0.run_to_end();
    }
}

impl End {
    /// Shuts the executor down, without waiting for it.
    pub fn begin(&self) {
        self.0.close();
    }
}

/// Calls `f` as a thread does that is not a worker.
pub fn outside<R>(f: impl FnOnce() -> R) -> R {
    who::apart(f)
}
