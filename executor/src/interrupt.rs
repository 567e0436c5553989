//! Two threads of different real-time priorities on one processor, for unit tests.

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
