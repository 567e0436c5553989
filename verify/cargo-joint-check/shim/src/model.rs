//! Runs a test of the code in every execution.

use core::panic::AssertUnwindSafe;
use real::{
    io::set_output_capture,
    panic::{catch_unwind, resume_unwind},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Instant,
};

use joint_check::model::{Builder, last_count};

use crate::{
    memory::{self, user},
    slot::{self, StartAgain},
};

/// Whether a handle that is never dropped is a failure. Most crates keep some in statics.
pub(crate) fn finds_leaks() -> bool {
    static IS_SET: OnceLock<bool> = OnceLock::new();
    *IS_SET.get_or_init(|| real::env::var_os("JOINT_CHECK_LEAKS").is_some())
}

/// Runs `f` in every execution, and prints how many there were.
///
/// # Panics
/// If one fails.
pub fn model(f: impl Fn() + Send + Sync + 'static) {
    let f = Arc::new(f);
    let runs = Arc::new(AtomicU64::new(0));
    let started = Instant::now();
    loop {
        let (f, runs_of_it) = (f.clone(), runs.clone());
        let body = move || {
            runs_of_it.fetch_add(1, Relaxed);
            memory::begin();
            slot::begin();
            {
                let _side = user();
                f();
            }
            memory::check();
        };
        let mut builder = Builder::new();
        // Statics and the heap are those of one thread of the system.
        builder.workers = 1;
        let said = Arc::new(Mutex::new(Vec::new()));
        let before = set_output_capture(Some(said.clone()));
        let result = catch_unwind(AssertUnwindSafe(|| builder.check(body)));
        slot::end();
        set_output_capture(before);
        if result.as_ref().is_err_and(|panic| panic.is::<StartAgain>()) {
            continue;
        }
        let said = said.lock().unwrap_or_else(PoisonError::into_inner);
        eprint!("{}", String::from_utf8_lossy(&said));
        let (runs, seconds) = (runs.load(Relaxed), started.elapsed().as_secs_f64());
        let thread = real::thread::current();
        let name = thread.name().unwrap_or("model");
        match result {
            Ok(()) => {
                let count = last_count();
                let cut = if count.is_cut { ", cut by a bound" } else { "" };
                println!(
                    "{name}: {} executions, {} of them blocked, in {seconds:.2} s{cut}",
                    count.complete + count.blocked,
                    count.blocked
                );
                return;
            }
            Err(panic) => {
                println!("{name}: fails after {runs} executions, in {seconds:.2} s");
                resume_unwind(panic);
            }
        }
    }
}
