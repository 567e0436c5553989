//! A pair of fences for one frequent side and one rare side: the rare one pays for both, where the system can do that.
//!
//! Linux's `membarrier` makes every running thread of the program pass a full barrier. A [`light`] fence then only has to keep the
//! compiler from moving accesses across it, and still pairs with a [`heavy`] one as two `SeqCst` fences do: what the light side
//! wrote before its fence is seen by the heavy side after its own, or else what the heavy side wrote before is seen by the
//! light side. Where the call is not to be had, and under the model, both are the fences that they are given.
//!
//! # When the system changes its mind
//! A program can install a seccomp filter that refuses the call after the threads have started.
//! Then a heavy fence cannot be made any more, and the program ends with a message. To let both
//! sides make real fences from then on would not do: a light side may be past its compiler fence,
//! with its write still in the processor's store buffer, and nothing but the call says when it is
//! out. What else has the effect of such a barrier on some system, as a change of memory protection
//! or of affinity has, is promised by no documentation, and can be refused as well.

use alloc::format;
use core::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering, compiler_fence, fence},
};
use std::io;

use super::order;

/// [`prepare`] has not been called yet: as `BY_BOTH`.
const UNKNOWN: usize = 0;
const BY_BOTH: usize = 1;
const BY_SYSTEM: usize = 2;

/// Settled once. If it changed later, a heavy fence that has not seen it yet could meet a light one that has, and nobody would pay.
static WHO_PAYS: AtomicUsize = AtomicUsize::new(UNKNOWN);

/// Finds out what the system can do. To be called before threads are started that use the fences.
///
/// # Errors
/// When the system could do it once, and refuses it now.
pub(crate) fn prepare() -> io::Result<()> {
    // Each time: a child of a fork has to say it for itself.
    let registered = system::register();
    let who = match registered {
        Ok(()) => BY_SYSTEM,
        Err(_) => BY_BOTH,
    };
    // ORDERING: who_pays, who_pays_already. Relaxed: the start of the threads publishes it, so that their fences agree.
    let settled = WHO_PAYS.compare_exchange(
        UNKNOWN,
        who,
        order!(who_pays: Relaxed),
        order!(who_pays_already: Relaxed),
    );
    match registered {
        Err(error) if settled == Err(BY_SYSTEM) => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("{}", Refused(error)),
        )),
        _ => Ok(()),
    }
}

/// The system refuses what it has done before.
struct Refused(io::Error);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`joint` cannot run its executor any more: the system call `membarrier`, which worked when the first executor was \
             started, is refused now ({}). If that is a seccomp filter, install the filter before the first executor is started, \
             or let it allow `membarrier`",
            self.0
        )
    }
}

/// The fence of the frequent side.
#[inline(always)]
pub(crate) fn light(order: Ordering) {
    // ORDERING: who_pays_light. Relaxed: see `prepare`.
    if WHO_PAYS.load(order!(who_pays_light: Relaxed)) == BY_SYSTEM {
        compiler_fence(order);
    } else {
        fence(order);
    }
}

/// The fence of the rare side. On Linux it can take as long as an interrupt of every processor that the program runs on.
pub(crate) fn heavy(order: Ordering) {
    #[cfg(test)]
    HEAVY_FENCES.set(HEAVY_FENCES.get() + 1);
    // ORDERING: who_pays_heavy. Relaxed: see `prepare`.
    if WHO_PAYS.load(order!(who_pays_heavy: Relaxed)) == BY_SYSTEM {
        if let Err(error) = system::barrier() {
            end(error);
        }
    }
    fence(order);
}

/// Ends the program: without the barrier two workers could run one side of a join, or all of them
/// sleep with work in a queue.
#[cold]
fn end(error: io::Error) -> ! {
    use io::Write;
    // Whether or not anybody reads it.
    let _ = writeln!(io::stderr(), "{}", Refused(error));
    std::process::abort()
}

// Miri has no such call, and ends a program that asks for it.
#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use std::{io, thread};

    use rustix::{
        io::Errno,
        thread::{MembarrierCommand, MembarrierQuery, membarrier, membarrier_query},
    };

    /// How often a barrier is tried for which the kernel has no memory.
    const TRIES: u32 = 1_000;

    pub(super) fn register() -> io::Result<()> {
        let can = |query: MembarrierQuery| {
            query.contains_command(MembarrierCommand::RegisterPrivateExpedited)
                && query.contains_command(MembarrierCommand::PrivateExpedited)
        };
        if !can(membarrier_query()) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(membarrier(MembarrierCommand::RegisterPrivateExpedited)?)
    }

    /// Once registered it fails for want of memory, which passes, or because it has been forbidden
    /// since, which does not.
    pub(super) fn barrier() -> io::Result<()> {
        let mut tries = 0;
        loop {
            let Err(error) = membarrier(MembarrierCommand::PrivateExpedited) else {
                return Ok(());
            };
            tries += 1;
            if error != Errno::NOMEM || tries == TRIES {
                return Err(error.into());
            }
            thread::yield_now();
        }
    }
}

#[cfg(any(not(target_os = "linux"), miri))]
mod system {
    use std::io;

    pub(super) fn register() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn barrier() -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
std::thread_local! {
    /// How many heavy fences this thread has made.
    pub(crate) static HEAVY_FENCES: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

#[cfg(all(test, not(miri)))]
mod tests {
    use core::{hint, sync::atomic::Ordering::Relaxed};
    use std::{thread, vec::Vec};

    use super::*;

    const ROUNDS: usize = 50_000;

    /// A place of its own, so that a write to it takes its time.
    #[repr(align(128))]
    struct Line(AtomicUsize);

    static LIGHT: Line = Line(AtomicUsize::new(0));
    static HEAVY: Line = Line(AtomicUsize::new(0));
    static LIGHT_DONE: Line = Line(AtomicUsize::new(0));
    static HEAVY_DONE: Line = Line(AtomicUsize::new(0));
    /// Written by both before each round: what comes after waits behind it in the writer's store buffer.
    static IN_THE_WAY: [Line; 8] = [const { Line(AtomicUsize::new(0)) }; 8];

    fn wait_for(round: usize, place: &Line) {
        let mut looks = 0_u32;
        while place.0.load(Relaxed) < round {
            looks += 1;
            if looks % 256 == 0 {
                thread::yield_now();
            } else {
                hint::spin_loop();
            }
        }
    }

    /// One side: each round it writes its own place and then reads the other's. Comes back with what it read.
    fn side(own: &Line, other: &Line, done: [&Line; 2], barrier: fn(Ordering)) -> Vec<usize> {
        let rounds = 1..=ROUNDS;
        rounds
            .map(|round| {
                for line in &IN_THE_WAY {
                    line.0.store(round, Relaxed);
                }
                own.0.store(round, Relaxed);
                barrier(Ordering::SeqCst);
                let seen = other.0.load(Relaxed);
                done[0].0.store(round, Relaxed);
                wait_for(round, done[1]);
                seen
            })
            .collect()
    }

    /// Of two that write one place and then read the other's, one sees the other.
    #[test]
    fn a_light_and_a_heavy_fence_do_not_pass_each_other() {
        prepare().unwrap();
        let other = thread::spawn(|| side(&HEAVY, &LIGHT, [&HEAVY_DONE, &LIGHT_DONE], heavy));
        let by_light = side(&LIGHT, &HEAVY, [&LIGHT_DONE, &HEAVY_DONE], light);
        let by_heavy = other.join().expect("no panic");
        let missed = (0..ROUNDS).filter(|&i| by_light[i] <= i && by_heavy[i] <= i);
        assert_eq!(missed.count(), 0, "rounds in which neither saw the other");
    }
}
