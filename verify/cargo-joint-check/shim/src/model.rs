//! Runs a test of the code in every execution.

use core::panic::AssertUnwindSafe;
use real::{
    panic::{catch_unwind, resume_unwind, set_hook as set_panic_hook, take_hook},
    sync::{
        Arc, Once, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Instant,
};

use joint_check::{
    alloc::outside,
    model::{Builder, before_each_step, last_count},
};

use crate::{joint, memory, slot, spins};

/// How much is older than the model in the execution to repeat. It is found as it was before.
const STATICS: &str = "JOINT_CHECK_STATICS";

/// Whether a handle that is never dropped is a failure. Most crates keep some in statics.
pub(crate) fn finds_leaks() -> bool {
    static IS_SET: OnceLock<bool> = OnceLock::new();
    *IS_SET.get_or_init(|| real::env::var_os("JOINT_CHECK_LEAKS").is_some())
}

/// Prints no panic of an exploration that starts again.
fn set_hook() {
    static IS_SET: Once = Once::new();
    IS_SET.call_once(|| {
        let before = take_hook();
        set_panic_hook(Box::new(move |panic| {
            if !slot::starts_again() || !panic.can_unwind() {
                before(panic);
            }
            if !panic.can_unwind() {
                let at = memory::last();
                eprintln!("the process ends in a model whose last operation was at {at}");
            }
        }));
    });
}

/// Runs `f` in every execution, and prints how many there were.
///
/// # Panics
/// If one fails.
pub fn model(f: impl Fn() + Send + Sync + 'static) {
    set_hook();
    before_each_step(memory::before_step);
    let statics = real::env::var(STATICS)
        .ok()
        .and_then(|number| number.parse().ok());
    let statics: usize = statics.unwrap_or(0);
    let f = Arc::new(f);
    let runs = Arc::new(AtomicU64::new(0));
    let started = Instant::now();
    loop {
        let early = slot::start();
        let (f, runs_of_it) = (f.clone(), runs.clone());
        let body = move || {
            runs_of_it.fetch_add(1, Relaxed);
            let outside = outside();
            memory::begin();
            spins::begin();
            joint::begin();
            slot::begin(early);
            drop(outside);
            f();
            memory::check();
        };
        let mut builder = Builder::new();
        // Statics and the heap are those of one thread of the system.
        builder.workers = 1;
        if early < statics {
            builder.replay = None;
        }
        let result = catch_unwind(AssertUnwindSafe(|| builder.check(body)));
        slot::end();
        if slot::starts_again() {
            continue;
        }
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
                if early > 0 {
                    println!("{name}: to repeat it, set {STATICS}={early} as well");
                }
                resume_unwind(panic);
            }
        }
    }
}
