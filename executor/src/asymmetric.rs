//! A pair of fences for a frequent side and a rare side. The rare side pays for both, if the system
//! supports that.
//!
//! Linux's `membarrier` makes every running thread of the program pass a full barrier. A [`light`]
//! fence then only has to keep the compiler from moving accesses across it, and still pairs with a
//! [`heavy`] fence as two `SeqCst` fences do: after the fences, the heavy side sees what the light
//! side wrote before, or the light side sees what the heavy side wrote before. If the call is not
//! available, and under the model, both are ordinary fences with the given ordering.
//!
//! # What it costs
//! On a virtual machine with two processors the call takes 0.3 µs while no other thread of the
//! program runs, whether 1 or 64 of them sleep, and 3.1 µs if one runs on the other processor,
//! which the kernel has to interrupt. A fence takes 10 ns, so the call pays if a light side runs
//! 300 times for each heavy one. A heavy side is a worker that steals a fork, or that has found
//! nothing to do and is about to sleep, or that has just woken up.
//!
//! The call does not pay where it takes much longer. Nothing says so in advance, so [`prepare`]
//! tries it. That reveals a system that emulates the call, and one that traces the program. It does
//! not reveal how many processors will have to be interrupted, because most programs have only one
//! thread by then.
//!
//! # Getting there
//! To be allowed to make the call, a program registers. The kernel then waits until all processors
//! have scheduled, which takes 4 to 14 ms, unless the program has only one thread. Starting an
//! executor must not take that long. In a program of several threads [`prepare`] therefore starts
//! one more, which registers. Until it has done so, both sides make real fences.
//!
//! The change takes two steps with a barrier between them. First, heavy fences use the call, and
//! light ones are still real. Then the barrier. Then, light fences cost nothing. Suppose that a
//! heavy fence that has not seen the first step meets a light one that has seen the second. The
//! heavy side wrote, and then read that it need not call. It read that before its thread passed the
//! barrier, because the first step was written before the barrier began. So its write came before
//! the barrier too, and the light side, which has seen what was written after the barrier, sees it.
//!
//! A fork may come in between. The child has one thread, and inherits the state but not the thread
//! that was to continue. The first call of [`prepare`] in the child therefore continues from that
//! state. A light fence reads the state alone, so the id of the process costs it nothing.
//!
//! # When the system changes its mind
//! A program can install a seccomp filter that refuses the call after the threads have started. A
//! heavy fence is impossible then, and the program ends with a message. It would not be enough if
//! both sides made real fences from then on, because a light side may be past its compiler fence
//! with its write still in the processor's store buffer, and only the call ensures that the write
//! has left it. Other calls have the effect of such a barrier on some systems, such as a change of
//! memory protection or of affinity. But no documentation promises that effect, and these calls can
//! be refused as well.

use alloc::format;
use core::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering, compiler_fence, fence},
};
use std::{
    io, thread,
    time::{Duration, Instant},
};

use joint_switch::order;

/// No thread has found out yet. Works as `BY_BOTH`.
const UNKNOWN: usize = 0;
const BY_BOTH: usize = 1;
/// On the way to `BY_SYSTEM`: heavy fences use the call, and light fences are still real ones.
const BY_BOTH_AND_SYSTEM: usize = 2;
const BY_SYSTEM: usize = 3;

/// Which side makes the real fence.
static WHO_PAYS: AtomicUsize = AtomicUsize::new(UNKNOWN);
/// The process of which a thread finds out, or has found out, who pays. The child of a fork
/// inherits the state, but not the thread that would continue, so one of its own has to. The id
/// could deceive only a descendant that is given the id of a process whose state it inherited.
static ASKED_BY: AtomicUsize = AtomicUsize::new(NOBODY);
/// No process has this id.
const NOBODY: usize = 0;

/// The call is used if it takes no longer, which is six times what it takes to interrupt another
/// processor. A light side has to run 2,000 times to pay for such a call.
const WORTH_IT: Duration = Duration::from_micros(20);
/// The number of calls that are timed before the call is taken for a slow one. One is enough unless
/// this thread loses its processor meanwhile.
const TRIES: usize = 8;

/// Finds out what the system supports, and what pays, or starts a thread that does so. Call this
/// before starting threads that use the fences. The first call times up to [`TRIES`] barriers, and
/// mostly one.
///
/// # Errors
/// Returns an error if the system supported the call earlier, and refuses it now.
pub(crate) fn prepare() -> io::Result<()> {
    // ORDERING: who_pays_known. Relaxed: nothing is read that another thread has written.
    let known = WHO_PAYS.load(order!(who_pays_known: Relaxed));
    if known >= BY_BOTH_AND_SYSTEM {
        // The child of a fork has to register for itself, before it makes a heavy fence.
        system::register().map_err(|error| {
            io::Error::new(io::ErrorKind::Unsupported, format!("{}", Refused(error)))
        })?;
    }
    let is_known = known == BY_BOTH || known == BY_SYSTEM;
    if is_known || !claim(&ASKED_BY, process()) {
        return Ok(());
    }
    if known == UNKNOWN && !system::answers_at_once() {
        let thread = thread::Builder::new().name("joint-membarrier".into());
        // Without a thread for it, the caller waits.
        if thread.spawn(decide).is_ok() {
            return Ok(());
        }
    }
    decide();
    Ok(())
}

/// Whether this thread is the one that finds out. This returns true to one thread of each process.
fn claim(asked_by: &AtomicUsize, process: usize) -> bool {
    // ORDERING: asked. Relaxed: nothing is read that another thread has written.
    let before = asked_by.load(order!(asked: Relaxed));
    if before == process {
        return false;
    }
    // ORDERING: ask, ask_not. Relaxed: it only decides which thread it is.
    let claimed = asked_by.compare_exchange(
        before,
        process,
        order!(ask: Relaxed),
        order!(ask_not: Relaxed),
    );
    claimed.is_ok()
}

/// The id of this process, where there are forks.
fn process() -> usize {
    if cfg!(unix) {
        std::process::id() as usize
    } else {
        NOBODY + 1
    }
}

/// Decides who pays, once for the program, by the thread that has the [`claim`]. Other threads may
/// use the fences meanwhile. In the child of a fork it continues from the state of the parent.
fn decide() {
    let who = match system::register() {
        Ok(()) => who_should_pay(time_of_barrier),
        Err(_) => BY_BOTH,
    };
    if who != BY_SYSTEM || let_system_pay().is_err() {
        // ORDERING: nobody_else. Relaxed: until now all sides have made real fences, and they still
        // do.
        WHO_PAYS.store(BY_BOTH, order!(nobody_else: Relaxed));
    }
}

/// Takes both steps of the change, unless the barrier between them fails.
fn let_system_pay() -> io::Result<()> {
    // ORDERING: both_pay. Relaxed: the barrier below publishes it. A heavy fence that has not seen
    // this looked before its thread passed that barrier, and so wrote before that what it lets the
    // light side see.
    WHO_PAYS.store(BY_BOTH_AND_SYSTEM, order!(both_pay: Relaxed));
    system::barrier()?;
    // ORDERING: system_pays. Release: a light side that reads this (`who_pays_light`, Acquire) is
    // behind the barrier, and sees what was written before it.
    WHO_PAYS.store(BY_SYSTEM, order!(system_pays: Release));
    Ok(())
}

/// Decides by the time of some barriers. A barrier that fails, although the system says that it
/// supports it, is refused for good.
fn who_should_pay(mut time_of_barrier: impl FnMut() -> io::Result<Duration>) -> usize {
    for _ in 0..TRIES {
        match time_of_barrier() {
            Ok(time) if time <= WORTH_IT => return BY_SYSTEM,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    BY_BOTH
}

fn time_of_barrier() -> io::Result<Duration> {
    let start = Instant::now();
    system::barrier()?;
    Ok(start.elapsed())
}

/// The error of a system that refuses a call which it has done before.
struct Refused(io::Error);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`joint` can no longer run its executor: the system call `membarrier`, which worked when \
             the first executor was started, is refused now ({}). If a seccomp filter refuses it, \
             install the filter before the first executor is started, or allow `membarrier` in it",
            self.0
        )
    }
}

/// The fence of the frequent side.
#[inline(always)]
pub(crate) fn light(order: Ordering) {
    // ORDERING: who_pays_light. Acquire: what heavy sides wrote whose fences are only real ones is
    // visible (`system_pays`, Release).
    if WHO_PAYS.load(order!(who_pays_light: Acquire)) == BY_SYSTEM {
        compiler_fence(order);
    } else {
        fence(order);
    }
}

/// The fence of the rare side. On Linux it may interrupt every processor that the program runs on,
/// and take that long.
pub(crate) fn heavy(order: Ordering) {
    #[cfg(test)]
    HEAVY_FENCES.set(HEAVY_FENCES.get() + 1);
    // The look comes after the write that the light side is to see: `decide` relies on it.
    compiler_fence(Ordering::SeqCst);
    // ORDERING: who_pays_heavy. Relaxed: see `decide`.
    if WHO_PAYS.load(order!(who_pays_heavy: Relaxed)) >= BY_BOTH_AND_SYSTEM {
        if let Err(error) = system::barrier() {
            end(error);
        }
    }
    fence(order);
}

/// Ends the program, because without the barrier two workers could run the same side of a join, or
/// all workers could sleep with work in a queue.
#[cold]
fn end(error: io::Error) -> ! {
    use io::Write;
    // An error of writing the message does not matter.
    let _ = writeln!(io::stderr(), "{}", Refused(error));
    std::process::abort()
}

// Miri does not support the call, and ends a program that makes it.
#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use std::{fs, io, os::unix::fs::MetadataExt, thread};

    use rustix::{
        io::Errno,
        thread::{MembarrierCommand, MembarrierQuery, membarrier, membarrier_query},
    };

    /// The number of tries of a barrier for which the kernel has no memory.
    const TRIES: u32 = 1_000;

    /// Returns whether `register` takes only microseconds, because the program has one thread.
    pub(super) fn answers_at_once() -> bool {
        // The folder has two links, and one from each thread. If it cannot be read, be safe.
        fs::metadata("/proc/self/task").is_ok_and(|tasks| tasks.nlink() <= 3)
    }

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

    /// Makes the barrier. After the registration it can fail for lack of memory, which is
    /// temporary, or because it has been forbidden since, which is permanent.
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

    pub(super) fn answers_at_once() -> bool {
        true
    }

    pub(super) fn register() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn barrier() -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
std::thread_local! {
    /// The number of heavy fences that this thread has made.
    pub(crate) static HEAVY_FENCES: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

#[cfg(all(test, not(miri)))]
mod tests {
    use core::{hint, ops::RangeInclusive, sync::atomic::Ordering::Relaxed};
    use std::{env, eprintln, process::Command, string::String, thread, vec::Vec};

    use super::*;

    const RACES: usize = 50;
    const ROUNDS: usize = 1_000;

    /// An atomic on a cache line of its own, so that a write to it is slow.
    #[repr(align(128))]
    struct Line(AtomicUsize);

    /// One for each race of a round, of which both sides begin the first at about the same time.
    type Lines = [Line; RACES];

    static LIGHT: Lines = [const { Line(AtomicUsize::new(0)) }; RACES];
    static HEAVY: Lines = [const { Line(AtomicUsize::new(0)) }; RACES];
    static LIGHT_DONE: Line = Line(AtomicUsize::new(0));
    static HEAVY_DONE: Line = Line(AtomicUsize::new(0));

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

    /// The processors that this thread may run on.
    #[cfg(target_os = "linux")]
    fn processors() -> rustix::thread::CpuSet {
        rustix::thread::sched_getaffinity(None).expect("the calling thread exists")
    }

    /// Keeps this thread on the first or the second of these processors, so that both sides run at
    /// once.
    #[cfg(target_os = "linux")]
    fn stay(all: &rustix::thread::CpuSet, place: usize) {
        use rustix::thread::CpuSet;
        let mut own = (0..CpuSet::MAX_CPU).filter(|&cpu| all.is_set(cpu));
        if let Some(cpu) = own.nth(place) {
            let mut one = CpuSet::new();
            one.set(cpu);
            rustix::thread::sched_setaffinity(None, &one).expect("it may run there");
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn processors() {}
    #[cfg(not(target_os = "linux"))]
    fn stay(_: &(), _: usize) {}

    /// One of the two sides.
    struct Side {
        own: &'static Lines,
        done: &'static Line,
        barrier: fn(Ordering),
        /// The number of different delays before a race, by which this side is at times as slow as
        /// the other one.
        delays: usize,
    }

    const LIGHT_SIDE: Side = Side {
        own: &LIGHT,
        done: &LIGHT_DONE,
        barrier: light,
        delays: 16,
    };
    const HEAVY_SIDE: Side = Side {
        own: &HEAVY,
        done: &HEAVY_DONE,
        barrier: heavy,
        delays: 1,
    };

    impl Side {
        /// In each race of a round writes the own place, and then reads the other's. Returns the
        /// races in which this side has not seen the other's write.
        fn run(&self, other: &Self, rounds: RangeInclusive<usize>) -> Vec<usize> {
            let mut missed = Vec::new();
            for round in rounds {
                for race in 0..RACES {
                    for n in 0..round % self.delays {
                        hint::black_box(n);
                    }
                    self.own[race].0.store(round, Relaxed);
                    (self.barrier)(Ordering::SeqCst);
                    if other.own[race].0.load(Relaxed) < round {
                        missed.push(round * RACES + race);
                    }
                }
                self.done.0.store(round, Relaxed);
                wait_for(round, other.done);
            }
            missed
        }
    }

    /// Runs both sides, by a function that returns the races in which the first of two sides has
    /// not seen the other. Panics if there is a race in which neither has.
    fn both_sides(run: impl Fn(Side, Side) -> Vec<usize> + Sync) {
        let all = processors();
        thread::scope(|s| {
            let light = s.spawn(|| {
                stay(&all, 0);
                run(LIGHT_SIDE, HEAVY_SIDE)
            });
            let heavy = s.spawn(|| {
                stay(&all, 1);
                run(HEAVY_SIDE, LIGHT_SIDE)
            });
            let [light, heavy] = [light, heavy].map(|side| side.join().expect("it does not panic"));
            let mut neither = light;
            // In order.
            neither.retain(|round| heavy.binary_search(round).is_ok());
            assert_eq!(neither, [0; 0], "races in which neither saw the other");
        });
    }

    /// Who pays if the barriers take these times, and the number of barriers that were made.
    fn decided(times: &[io::Result<Duration>]) -> (usize, usize) {
        let mut made = 0;
        let who = who_should_pay(|| {
            let time = times.get(made).or(times.last()).expect("a time");
            made += 1;
            time.as_ref().copied().map_err(|error| error.kind().into())
        });
        (who, made)
    }

    #[test]
    fn one_fast_barrier_is_enough() {
        assert_eq!(decided(&[Ok(WORTH_IT)]), (BY_SYSTEM, 1));
    }

    #[test]
    fn a_thread_that_loses_its_processor_tries_again() {
        let slow = || Ok(Duration::from_secs(1));
        let times = [slow(), slow(), Ok(Duration::ZERO)];
        assert_eq!(decided(&times), (BY_SYSTEM, 3));
    }

    #[test]
    fn barriers_that_are_all_slow_are_not_worth_it() {
        let slow = WORTH_IT + Duration::from_nanos(1);
        assert_eq!(decided(&[Ok(slow)]), (BY_BOTH, TRIES));
    }

    #[test]
    fn a_barrier_that_is_refused_is_not_tried_again() {
        let refused = Err(io::ErrorKind::PermissionDenied.into());
        assert_eq!(decided(&[refused]), (BY_BOTH, 1));
    }

    #[test]
    fn one_thread_of_each_process_finds_out() {
        let asked_by = AtomicUsize::new(NOBODY);
        for process in [7, 8] {
            let claims = thread::scope(|s| {
                let all = [(); 4].map(|()| s.spawn(|| claim(&asked_by, process)));
                all.map(|thread| thread.join().expect("the thread does not panic"))
            });
            assert_eq!(claims.iter().filter(|&&claimed| claimed).count(), 1);
        }
    }

    /// If two threads each write one place and then read the other's, at least one sees the other's
    /// write.
    #[test]
    fn a_light_and_a_heavy_fence_do_not_pass_each_other() {
        prepare().unwrap();
        both_sides(|own, other| own.run(&other, 1..=ROUNDS));
    }

    const CHILD: &str = "JOINT_TEST_CHANGE";

    /// The same, while the system begins to pay.
    #[test]
    fn no_fence_passes_another_while_the_change_is_under_way() {
        if env::var_os(CHILD).is_none() {
            // In a process of its own, because the change is undone each time.
            let test = "asymmetric::tests::\
                no_fence_passes_another_while_the_change_is_under_way";
            let mut child = Command::new(env::current_exe().unwrap());
            child.args([test, "--exact", "--nocapture"]).env(CHILD, "");
            let output = child.output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains("1 passed"), "{text}");
            return;
        }
        if let Err(error) = system::register() {
            return eprintln!("skipped: {error}");
        }
        const CHANGES: usize = 10;
        for change in 0..CHANGES {
            change_in_rounds(ROUNDS / CHANGES, change);
        }
    }

    /// The change begins at some time in the first half of the rounds, and the last tenth begins
    /// after it.
    fn change_in_rounds(rounds: usize, seed: usize) {
        for line in LIGHT.iter().chain(&HEAVY).chain([&LIGHT_DONE, &HEAVY_DONE]) {
            line.0.store(0, Relaxed);
        }
        WHO_PAYS.store(UNKNOWN, Relaxed);
        let last = rounds - rounds / 10;
        thread::scope(|s| {
            s.spawn(|| {
                wait_for(1 + seed * 997 % (rounds / 2), &LIGHT_DONE);
                let_system_pay().unwrap_or_else(|error| end(error));
            });
            both_sides(|own, other| {
                let mut missed = own.run(&other, 1..=last);
                while WHO_PAYS.load(Relaxed) != BY_SYSTEM {
                    thread::yield_now();
                }
                missed.extend(own.run(&other, last + 1..=rounds));
                missed
            });
        });
    }
}
