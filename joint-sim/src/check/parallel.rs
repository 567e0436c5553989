//! [`ParallelCheck`]: a check on several threads.

use std::{num::NonZeroUsize, thread::available_parallelism};

use super::{
    super::{attempt::Attempt, settings::Builder, verdict::Verdict, world},
    Check, Checked, Found,
    plan::Plan,
    search::at_once,
};

/// A [`Check`] whose runs are made on several threads. [`Check::jobs`] makes it.
///
/// # Example
/// ```
/// use joint_sim::{self as sim, Check};
///
/// let program = || async { assert_ne!(sim::random() % 100, 7) };
/// let found = Check::new().jobs(4).find(program).unwrap_err();
/// let serial = Check::new().find(program).unwrap_err();
/// assert_eq!((found.runs(), found.replay()), (serial.runs(), serial.replay()));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a check does nothing until `run` or `find` is called"]
pub struct ParallelCheck {
    check: Check,
    jobs: usize,
}

impl Check {
    /// Makes the runs on this many threads. 0 stands for as many as the system
    /// [can run at once](available_parallelism).
    ///
    /// It comes last, because the program must be [`Sync`]: its closure is called by all threads. A
    /// future that it returns stays on one thread. The report is the same as that of a check on one
    /// thread: the plans of the runs do not depend on the threads, and of several failures that of
    /// the first run is reported. The failure is shrunk on the calling thread.
    ///
    /// Runs overlap in time, and each thread has thread-locals of its own. So a program that keeps
    /// its state in a `static` must be checked on one thread. `cargo test` runs tests in parallel
    /// already, so this is for one long check.
    pub fn jobs(self, jobs: usize) -> ParallelCheck {
        let jobs = match jobs {
            0 => available_parallelism().map_or(1, NonZeroUsize::get),
            jobs => jobs,
        };
        ParallelCheck { check: self, jobs }
    }
}

impl ParallelCheck {
    /// Runs a program until it fails, as [`Check::run`] does.
    ///
    /// # Panics
    /// As [`Check::run`]. The panic of another thread than the calling one is passed on.
    #[track_caller]
    pub fn run<F: IntoFuture<Output: Verdict>>(&self, program: impl Fn() -> F + Sync) {
        match self.find(program) {
            Ok(checked) => std::eprint!("{checked}"),
            Err(found) => panic!("{found}"),
        }
    }

    /// Runs a program until it fails. Returns the failure instead of panicking.
    ///
    /// # Errors
    /// [`Found`] if the program fails.
    ///
    /// # Panics
    /// As [`Check::find`].
    pub fn find<F: IntoFuture<Output: Verdict>>(
        &self,
        program: impl Fn() -> F + Sync,
    ) -> Result<Checked, Box<Found>> {
        // The other threads are in no simulation.
        world::assert_outside();
        let check = self.check.prepared();
        let run = |plan: &Plan, settings: &Builder| {
            Attempt::run(&plan.of(settings), plan.chance(), &program)
        };
        check.start(&run, &|numbers, expected| {
            at_once(self.jobs, numbers, &|number| {
                check.make(number, expected, &run)
            })
        })
    }
}
