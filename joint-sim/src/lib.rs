//! Simulation: a program runs on one thread, by a seed, with virtual time.
//!
//! A concurrent program behaves differently each time it runs. In a simulation, a seed decides
//! everything that is otherwise left to chance, so the same seed gives the same run, on every
//! machine. Time is virtual: if nothing is ready, the clock jumps to the next timer. Faults happen
//! as often as the settings say. A program that uses `joint-executor` runs without changes, and
//! only its tests depend on this package.
//!
//! # A first test
//! [`check()`] runs a program with some hundreds of seeds, with several schedulers and with faults.
//! Here two tasks count, but each may overwrite what the other has written:
//!
//! ```should_panic
//! use std::sync::{Arc, Mutex};
//!
//! use joint_sim as sim;
//! use joint_executor::{spawn, yield_now};
//!
//! // #[test]
//! fn both_are_counted() {
//!     sim::check(|| async {
//!         let count = Arc::new(Mutex::new(0));
//!         let add = || {
//!             let count = count.clone();
//!             spawn(async move {
//!                 let seen = *count.lock().unwrap();
//!                 yield_now().await;
//!                 *count.lock().unwrap() = seen + 1;
//!             })
//!         };
//!         for task in [add(), add()] {
//!             task.await;
//!         }
//!         assert_eq!(*count.lock().unwrap(), 2);
//!     });
//! }
//! # both_are_counted();
//! ```
//!
//! A run ends when the main future does. Tasks that have not ended by then are dropped. The report
//! of the test above, without some of its lines:
//!
//! ```text
//! run 4 of the check failed
//! to replay it:
//!   JOINT_SIM_REPLAY=round-robin:3/d3t3w0p0y2a0h4s0c5x3e3f4@6-5a1c09d2-8e41f2a37c
//!   cargo test -p count both_are_counted -- --exact
//! to replay it, shrunk: JOINT_SIM_REPLAY=list:3:/d3t3w0p0y2a0h4s0c5x3e3f4@6-5a1c09d2-8e41f2a37c
//!   cargo test -p count both_are_counted -- --exact
//! all steps:            /tmp/joint-sim-both_are_counted-3-4637.txt
//! the same in Perfetto: /tmp/joint-sim-both_are_counted-3-4637.json
//! the simulation with seed 3 failed in step 6, at 0ns: the main future panicked at
//!   src/lib.rs:23:9: assertion `left == right` failed
//! the last steps:
//!   step 1, 0ns: main ran, woken by outside
//!   step 1, 0ns: task 1 was spawned by main
//! ```
//!
//! A *step* is one poll. A *decision* is a choice that was left to chance, such as which of the
//! tasks that are ready runs next. Whether a task of [`spawn_now`](joint_executor::spawn_now) is
//! polled at once, inside its spawner's step, or is queued for a step of its own, is one too: a
//! program that relies on either order fails in half of the runs. With
//! [`RoundRobin`](Scheduler::RoundRobin) it is polled at once.
//!
//! # Replaying
//! Each of the two commands makes one run: the one that failed, or the shrunk one, in which as many
//! decisions as possible are the tamest. Its last part are digests of what the run did, so a replay
//! that is another run says from which step on, and does not pass. A replay prints what the program
//! prints, and stops at the
//! breakpoints of a debugger. It holds as long as the program does the same: after a change, run
//! the check again. [`Check`] has all settings and environment variables.
//!
//! [`run`] and [`Builder`] run a program once, with one seed. [`Builder`] has no faults unless it
//! is told so, and returns the output.
//!
//! # Time
//! [`time::now`](joint_executor::time::now) is the virtual time. It stands still while tasks run,
//! unless [`Builder::charge`] says otherwise, and jumps to the next timer when nothing is ready. If
//! tasks do nothing but yield for some thousand steps, they wait for something that is late, or for
//! the time itself. It then goes on, by a little at first, so that a loop which yields until
//! something has come ends.
//! [`time::wall`](joint_executor::time::wall) is the wall clock, which begins with the year 2000.
//! The clocks of a host may differ from those of others: [`Host::clock`].
//!
//! ```
//! use std::time::Duration;
//!
//! let hours = joint_sim::run(7, async {
//!     let start = joint_executor::time::now();
//!     joint_executor::spawn(joint_executor::time::sleep(Duration::from_secs(3600))).await;
//!     (joint_executor::time::now() - start).as_secs() / 3600
//! });
//! assert_eq!(hours, 1);
//! ```
//!
//! # Chance
//! All decisions come from one stream of random numbers (ChaCha8), which the seed begins.
//! [`random`] gives the program numbers of its own. A program that takes decisions from elsewhere
//! is not repeatable. The usual suspects are hash maps with random state, threads, and addresses.
//! [`check()`] makes some runs twice, and names the first event in which they differ.
//!
//! On Linux the clocks of `std::time` are those of the simulation as well, and `getrandom` gives
//! numbers that the run draws: this crate defines `clock_gettime` and `getrandom` of the C library,
//! which ask the system outside of a run. It defines `open64`, `mkdir`, `rename`, `unlink` and
//! `socket` as well, by which std changes files and opens sockets. A poll that reads a clock more
//! than a hundred times, as a wait of std with a limit does, finds that time passes.
//!
//! Each random number that the program draws is a decision, too. A check shrinks the first 4,096.
//! If a run draws more often than the one before, the seed decides the rest, so a loop that draws
//! until it likes a number ends in these runs, too.
//!
//! # Faults
//! [`check()`] has all [`Faults`], and [`run`] none. Late timers, late and spurious wake-ups, extra
//! yields, pauses of hosts, and what the system does to sockets and files may hit every task.
//! Polls with another waker, cancellations and panics hit only what says that they may:
//! [`may_cancel`], [`may_panic`]. [`fault`] is a site of
//! the program's own. Set a fault to 0, by [`Check::faults`], if the program does not have to bear
//! it. A test that asserts exact times needs late timers and late wake-ups off.
//!
//! | fault | finds |
//! |---|---|
//! | [`late_timers`](Faults::late_timers) | a timeout that fires beside a success; a lease that its owner takes for valid for too long |
//! | [`late_wakeups`](Faults::late_wakeups) | trust in tasks running in the order in which they were woken |
//! | [`spurious_polls`](Faults::spurious_polls) | a future that takes each poll for the event it waits for |
//! | [`extra_yields`](Faults::extra_yields) | trust in operations that are usually ready at once: put [`point`] beside those of other crates |
//! | [`other_wakers`](Faults::other_wakers) | a future that wakes the waker of its first poll, and hangs when it has moved to another task |
//! | [`pauses`](Faults::pauses) | trust in what was true before: a lease that is checked before the pause, and used after it |
//! | [`cancellations`](Faults::cancellations) | what is lost or kept if a future is dropped |
//! | [`panics`](Faults::panics) | a program that does not survive the panic of one task |
//! | [`disk_errors`](Faults::disk_errors), [`full_disks`](Faults::full_disks) | trust in files ([`fs`]), such as in a sync after one that has failed |
//! | [`short_transfers`](Faults::short_transfers) | a read or write that is taken to do all |
//! | [`busy_ports`](Faults::busy_ports), [`reused_ports`](Faults::reused_ports) | a port that is taken to be free at once, or an address to be its peer's for ever |
//! | [`socket_errors`](Faults::socket_errors) | a server that ends, or a client that gives up, when a connection fails once |
//! | [`clocks`](Faults::clocks) | trust in the clocks of two hosts being alike, or in a wall clock that never goes back |
//! | [`loss`](Faults::loss), [`duplication`](Faults::duplication), [`cuts`](Faults::cuts) | trust in messages arriving, once, and in their order; what an old connection sends late |
//! | [`kills`](Faults::kills) | what a crash takes back that was acknowledged: of hosts that [may crash](Host::may_crash) |
//! | [`sites`](Faults::sites) | untested paths for errors: put [`fault`] where the error may come from |
//!
//! # Hosts and a network
//! A [`Host`] is a simulated machine, which can be killed and started again, or paused. Hosts talk
//! through [`net`], whose links delay, lose and reorder messages, and can be cut. A check fails
//! some calls of sockets, and its faults set clocks, lose and double datagrams, cut links, and kill
//! the hosts that [may crash](Host::may_crash). All of it is drawn, shrunk and replayed as the
//! other decisions. A test may also kill hosts and cut links itself, at the times that it wants.
//!
//! A [`Service`] names its hosts, its clients, and what must hold at the end. The check does the
//! rest, and lets the world heal before it judges. A check that finds nothing says what its runs
//! have [reached](Reached), such as how often a host crashed between a write and its sync.
//! [`Check::wants`] makes a failure of never reaching it, and [`reached`](reached()) counts places
//! of the program's own.
//!
//! What runs on a host need name nothing of the simulation, and runs on the real network as it is.
//! The sockets of [`io`](joint_executor::io) are those of the hosts here, as [`spawn`] and [`now`]
//! are the simulation's. [`random`] and [`fault`] are in `joint-executor` too, in
//! [`chance`](joint_executor::chance).
//!
//! [`spawn`]: joint_executor::spawn
//! [`now`]: joint_executor::time::now
//!
//! # Which settings for what
//! | to | use |
//! |---|---|
//! | test a program | [`check()`] |
//! | search for longer | [`check()`] with `JOINT_SIM_SEEDS=100000` in the environment |
//! | search on all processors | [`Check::jobs`] |
//! | search for a night, and go on where the last one ended | [`check()`] with `JOINT_SIM_TIME=8h` and `JOINT_SIM_CORPUS=folder`: see [`Check::real_time`] |
//! | have one run and its output, without faults | [`run`], or [`Builder`] for its [`Scheduler`], other settings, digest and [`Trace`] |
//!
//! A run that would never end has a limit of [steps](Builder::max_steps), if it waits by yielding,
//! or of [virtual time](Builder::max_time), if it retries or has an interval. One that blocks has
//! limits of real time, for [calls](Builder::max_call_time) and [polls](Builder::max_poll_time).
//!
//! # Panics
//! In a [`check()`], each panic fails the run that [`may_panic`] has not caused, also if the
//! program catches it. If a program means to survive some, let its test have [`Panics::Unseen`].
//! The first line of each panic that fails no run of the check is printed.
//!
//! # Deadlocks
//! If nothing is ready, no timer is armed and the main future waits, nobody can ever wake it. The
//! run fails then, and the report shows each task: where it was spawned, since when it waits, who
//! had woken it, and what it waits for, if that is known: the end of a task, a timer, or what
//! [`waiting_for`](joint_executor::waiting_for) names. That of a check also knows which tasks wait
//! for a oneshot, or for the children of a [`JoinSet`](joint_executor::JoinSet). Of the main future
//! it shows the task or the name that it waits for. Every other report has this list as well.
//! Here a client and a server wait for each other's first message:
//!
//! ```
//! use joint_executor::TaskBuilder;
//! use joint_sim as sim;
//! use joint::oneshot;
//!
//! let found = sim::Check::new().find(|| async {
//!     let (ask, asked) = oneshot::channel();
//!     let (answer, answered) = oneshot::channel();
//!     let client = TaskBuilder::new().name("client").spawn(async move {
//!         let greeting: u32 = answered.await.unwrap();
//!         ask.send(greeting).unwrap();
//!     });
//!     let server = TaskBuilder::new().name("server").spawn(async move {
//!         answer.send(asked.await.unwrap() + 1).unwrap();
//!     });
//!     client.await;
//!     server.await;
//! });
//! let report = found.unwrap_err().failure().to_string();
//! assert!(report.contains("the main future waits since 0ns for task 1 to end"));
//! assert!(report.contains("task 2 \"server\", spawned at "));
//! ```
//!
//! The report of the failure, with its long lines broken and without the last steps:
//!
//! ```text
//! the simulation with seed 0 failed in step 3, at 0ns: deadlock: nothing can run, and no timer is
//! armed
//! the main future waits since 0ns for task 1 to end
//! the tasks that have not ended:
//!   task 1 "client", spawned at src/main.rs:8:51, waits since 0ns for a
//!     joint::oneshot::receiver::Receiver<u32>; it ran last in step 2, woken by main
//!   task 2 "server", spawned at src/main.rs:12:51, waits since 0ns for a
//!     joint::oneshot::receiver::Receiver<u32>; it ran last in step 3, woken by main
//! the simulation does not wait for what is outside of it: threads of `std`, executors that were
//!   made outside, and descriptors
//! ```
//!
//! # Futures that snooze
//! A future that was woken, and that its task does not poll, keeps what it was given: a lock, a
//! permit, a message. A select by reference and a loop over a
//! [`FuturesUnordered`](https://docs.rs/futures/latest/futures/stream/struct.FuturesUnordered.html)
//! can leave one behind. Name the waits by [`waiting_for`](joint_executor::waiting_for). The
//! [`Failure`], and the [`Outcome`] of a run that ends well, then have a [`Snoozing`] for each such
//! future, the trace has each wake-up of a named wait, and [`Check::deny_snoozing`] makes a failure
//! of such an end. `docs/snoozing.md` in the repository shows what cures it.
//!
//! # What belongs to a simulation
//! All tasks and timers of `joint-executor`: [`spawn`](joint_executor::spawn),
//! [`spawn_local`](joint_executor::spawn_local), [`TaskBuilder`](joint_executor::TaskBuilder),
//! [`JoinSet`](joint_executor::JoinSet), [`async_scope`](joint_executor::async_scope),
//! [`join_async`](joint_executor::join_async()), [`time`](joint_executor::time), and each
//! [`Executor`](joint_executor::Executor) that the program builds. A function of
//! [`spawn_blocking`](joint_executor::spawn_blocking) runs at a scheduled point, and
//! [`block_on`](joint::block_on) lets other tasks run meanwhile. [`is_simulated`] tells whether the
//! calling code belongs to one.
//!
//! Anything else cannot be simulated:
//!
//! | use in a simulation | result | use instead |
//! |---|---|---|
//! | an executor made outside | panic | [`spawn`](joint_executor::spawn), or an executor built inside |
//! | a simulated executor on a thread of `std`, or in another simulation | panic | `spawn_blocking` |
//! | `AsyncFd`, a Unix socket, a pipe, or a socket of the standard library | error of kind `Unsupported` | the TCP and UDP sockets of [`io`](joint_executor::io) |
//! | a simulation | panic | a thread of its own |
//! | `spawn` on a thread of `std` | the task runs for real, on the [global](joint_executor::Executor::global) executor, and nothing says so | `spawn_blocking` for the thread |
//! | a wait for a task of an executor outside, such as one that a thread of `std` spawns | failure once it wakes a task, deadlock if there is nothing else to run; none if it is over already | a task inside |
//! | a wait for a thread outside | deadlock, unless it is over already | `spawn_blocking` |
//! | a timer made before the run | failure once it wakes a task | `async { sleep(second).await }` |
//! | an instant from outside of the run | on Linux it is years later than all of the run, which begins at the same time each time | [`time::now`](joint_executor::time::now) inside |
//! | `std::time` where the system is not Linux | real time | [`time::now`](joint_executor::time::now), [`time::wall`](joint_executor::time::wall) |
//! | `std::fs` | it is real: no crash undoes a write, and the next run sees it. On Linux with glibc the report names the first file opened to write, renamed or removed, and the first folder created | [`fs`] |
//! | a socket of `std::net` | on Linux error of kind `Unsupported`, and the report says so; on other systems it is real | the TCP and UDP sockets of [`io`](joint_executor::io) |
//! | `std::thread::sleep` | it sleeps for real | [`time::sleep`](joint_executor::time::sleep()) |
//! | a channel or lock of `std` that blocks | the process is aborted with a report, after [`Builder::max_poll_time`]; in `spawn_blocking` the run fails instead, after [`Builder::max_call_time`] | [`oneshot`](joint::oneshot) |
//!
//! # Limits
//! * One task runs at a time, and tasks are interleaved at their polls. Races between two
//!   instructions, and weak memory, are for a model checker. `docs/below-await.md` in the
//!   repository shows how the same test runs on one.
//! * An operation that is ready need not end a poll. Those that take from the
//!   [budget](joint::budget) do so where [extra yields](Faults::extra_yields) ask for it:
//!   timers, sockets, [`JoinSet`](joint_executor::JoinSet), and the locks, variables, streams and
//!   tasks of `joint-flow`. A [`oneshot`](joint::oneshot), a `shared` value of `joint-flow` or a
//!   [`JoinHandle`](joint::JoinHandle) that has its answer already, and a free lock of another
//!   crate, never do. Put [`point`] beside them.
//! * What a thread of `std` spawns is not caught unless it wakes a task of the simulation. Such a
//!   thread cannot be told from those of other tests in the same process, which may use the global
//!   executor.
//! * A poll that blocks runs other tasks above itself on the stack. It cannot go on before the
//!   polls above it, and the run fails with a report if it would have to.
//! * If the program catches the panic by which a run that has failed ends its waits, and waits
//!   again, the process is aborted after the report is printed.
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

mod attempt;
mod chance;
mod check;
mod clock;
mod disk;
mod disk_event;
mod each_run;
mod failure;
mod faults;
pub mod fs;
mod host;
mod inside;
mod machine;
pub mod net;
mod panicked;
mod reached;
mod record;
mod scheduler;
mod service;
mod settings;
mod snoozing;
mod tasks;
mod trace;
mod traffic;
mod unfinished;
mod verdict;
mod world;

use std::time::Duration;

use self::{chance::Chance, world::World};

pub use self::{
    check::{Check, Checked, Found, ParallelCheck, check},
    failure::Failure,
    faults::Faults,
    host::{Host, current_host},
    inside::{is_simulated, may_cancel, may_panic, note, reached},
    machine::HostEnd,
    reached::Reached,
    record::Event,
    scheduler::Scheduler,
    service::Service,
    settings::{Builder, Panics},
    snoozing::Snoozing,
    trace::Trace,
    unfinished::Unfinished,
    verdict::Verdict,
};
#[doc(no_inline)]
pub use joint_executor::{
    chance::{fault, random},
    point,
};

/// Runs a future to its end in a simulation with this seed.
///
/// The scheduler is [`Random`](Scheduler::Random), and there are no faults. [`Builder`] has all
/// settings.
///
/// # Panics
/// If the future panics, or if the run fails in another way. Then the panic's message is the
/// [`Failure`].
///
/// # Example
/// ```
/// use joint_executor::JoinSet;
///
/// let order = |seed| joint_sim::run(seed, async {
///     let mut set = JoinSet::new();
///     (0..10).for_each(|n| _ = set.spawn(async move { n }));
///     let mut order = Vec::new();
///     while let Some(n) = set.join_next().await {
///         order.push(n.unwrap());
///     }
///     order
/// });
/// assert_eq!(order(1), order(1));
/// assert_ne!(order(1), order(2));
/// ```
pub fn run<F: Future>(seed: u64, future: F) -> F::Output {
    match Builder::new(seed).run(future) {
        Ok(outcome) => outcome.output,
        Err(failure) => failure.pass_on(),
    }
}

impl Builder {
    /// Runs a future to its end. What it has spawned and what has not ended is dropped then.
    ///
    /// # Errors
    /// [`Failure`] if the future panics, if a task does and nobody [looks](Panics) at it, if nobody
    /// can be woken any more, or if the run reaches a limit.
    ///
    /// # Panics
    /// If it is called inside a simulation.
    ///
    /// # Example
    /// ```
    /// use joint::oneshot;
    /// use joint_sim::Builder;
    ///
    /// let outcome = Builder::new(1).run(async { joint_executor::spawn(async { 6 * 7 }).await })?;
    /// assert_eq!(outcome.output, 42);
    ///
    /// let (_sender, receiver) = oneshot::channel::<()>();
    /// assert!(Builder::new(1).run(receiver).unwrap_err().is_deadlock());
    /// # Ok::<(), joint_sim::Failure>(())
    /// ```
    pub fn run<F: Future>(&self, future: F) -> Result<Outcome<F::Output>, Failure> {
        let world = World::new(self, Chance::new(self.seed));
        let ended = world.run(future);
        match ended {
            Ok(output) => {
                let (snoozing, unfinished) = world.take_left();
                Ok(Outcome {
                    output,
                    digest: world.digest(),
                    steps: world.steps(),
                    elapsed: world.elapsed(),
                    snoozing,
                    unfinished,
                    trace: world.trace(),
                })
            }
            Err(mut failure) => {
                failure.trace = world.trace().map(Box::new);
                Err(failure)
            }
        }
    }
}

/// The outcome of a run.
///
/// # Example
/// ```
/// use joint_sim::Builder;
/// use joint_executor::time::sleep;
/// use std::time::Duration;
///
/// let run = || Builder::new(1).run(async {
///     sleep(Duration::from_secs(9)).await;
///     "woken"
/// });
/// let outcome = run()?;
/// assert_eq!((outcome.output, outcome.steps), ("woken", 2));
/// assert_eq!(outcome.elapsed, Duration::from_secs(9));
/// assert_eq!(outcome.digest, run()?.digest);
/// # Ok::<(), joint_sim::Failure>(())
/// ```
#[derive(Debug)]
pub struct Outcome<T> {
    /// The output of the future.
    pub output: T,
    /// A digest of all that has happened. Two runs with the same digest were the same.
    ///
    /// A program that leaves everything to the seed has the same digest on every machine and in
    /// every build, with debug assertions or without. The digest may change with the program, the
    /// settings, and each version of this package or of `joint-executor`.
    pub digest: u64,
    /// The number of polls.
    pub steps: u64,
    /// The virtual time that has passed.
    pub elapsed: Duration,
    /// The futures of [`waiting_for`](joint_executor::waiting_for) that snoozed when the main
    /// future ended.
    pub snoozing: Vec<Snoozing>,
    /// The tasks that had not ended when the main future did, and were dropped then. The one that
    /// was polled longest ago is the first.
    pub unfinished: Vec<Unfinished>,
    /// Everything that has happened, if [`Builder::trace`] asked for it.
    pub trace: Option<Trace>,
}

/// The page on model checkers, whose examples are documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/below-await.md")]
struct BelowAwait;
