//! [`wait_until`]: how a thread waits for another one that needs its processor for only a few
//! instructions.

use core::time::Duration;
use std::thread;

/// The number of times that the thread lets another one run before it sleeps.
const YIELDS: usize = 64;
const SHORTEST: Duration = Duration::from_micros(1);
const LONGEST: Duration = Duration::from_millis(1);

/// Waits until `is_done` returns true, which another thread brings about without waiting for this
/// one.
///
/// The other thread may have lost its processor in between. If this thread has a higher real-time
/// priority, a yield does not give the processor to it, however often this thread yields. After
/// some yields this thread therefore sleeps.
pub(crate) fn wait_until(mut is_done: impl FnMut() -> bool) {
    for _ in 0..YIELDS {
        if is_done() {
            return;
        }
        thread::yield_now();
    }
    let mut pause = SHORTEST;
    while !is_done() {
        thread::sleep(pause);
        pause = LONGEST.min(2 * pause);
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
pub(crate) mod tests {
    use std::{io, println, sync::mpsc, thread};

    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    /// Gives the calling thread this real-time priority, and a processor that it shares with the
    /// other threads that come here.
    fn compete(priority: libc::c_int) -> io::Result<()> {
        let all = sched_getaffinity(None)?;
        let mut one = CpuSet::new();
        let first = (0..CpuSet::MAX_CPU).find(|&cpu| all.is_set(cpu));
        one.set(first.expect("this thread runs on one"));
        sched_setaffinity(None, &one)?;
        let priority = libc::sched_param {
            sched_priority: priority,
        };
        // SAFETY: the priority is read during the call.
        match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Runs `low` on one thread until that calls what it is given. Then `high` starts on another
    /// thread, which has a higher real-time priority on the same processor. So `low` does not
    /// continue before `high` has ended or sleeps.
    ///
    /// Skips what the system does not permit.
    pub(crate) fn interrupt(low: impl FnOnce(&dyn Fn()) + Send, high: impl FnOnce() + Send) {
        // Ends the program if it hangs.
        // SAFETY: it takes a number.
        unsafe { libc::alarm(60) };
        thread::scope(|s| {
            let (start, started) = mpsc::channel();
            let (ready, is_ready) = mpsc::channel();
            s.spawn(move || {
                let permitted = compete(2);
                ready.send(permitted).expect("the other thread waits");
                if started.recv().is_ok() {
                    high();
                }
            });
            s.spawn(move || {
                let permitted = is_ready.recv().expect("it answers");
                match permitted.and_then(|()| compete(1)) {
                    Ok(()) => low(&|| start.send(()).expect("it waits")),
                    Err(error) => println!("skipped: {error}"),
                }
            });
        });
        // SAFETY: it takes a number.
        unsafe { libc::alarm(0) };
    }
}
