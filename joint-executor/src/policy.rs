//! Every number by which the executor decides: what a worker runs, when it searches, steals, wakes
//! and parks, how long the end waits, and how many threads block. The sizes of buffers are beside
//! them.
//!
//! The table has what changes if a number is half or twice as large, as a part of the time of the
//! rows of the benches as they are (two workers on two processors, medians of alternating rounds,
//! all numbers in one run). A number that is not in the table changes no row by 8% in each of two
//! runs, which is the noise of the rows from outside. It keeps a promise, or a worker from a bad
//! case that no row has.
//!
//! | number | half | twice |
//! |---|---|---|
//! | [`LOOKS`] | | ping-pong inside 1.1; processor time of a wake-up of all workers 1.5 to 2.2; 1.2 for `fib(20)` with threads that start |
//! | [`FIRST_WATCH`] | a task that is woken behind a poll of 2 ms runs after 0.7 | 1.4 to 1.7; spawn and join 1.35 |
//! | [`WORTH_A_STEAL`] | ping-pong inside up to 1.5. At 0: 10,000 detached 2.3 | At infinity: a task behind a poll of 2 ms begins after 5, the last of as many tasks as workers after 19 |
//! | [`WORTH_A_WAKE`] | At 0: yields 1.6, a fan 1.35 | At infinity: 99 of 100 UDP echoes beside a task that yields take 11 |
//! | [`KEPT_OPEN`] | `fib` 0.94 | `fib(25)` 1.7, `fib(20)` 1.4 |
//! | [`NEAR_THE_DRIVER`] | | At 0, if the driver is never left to a busy worker: a TCP echo 3.5 |
//! | [`LONGEST_AWAY`] | a UDP echo while all workers compute 0.7; beside a task that yields every 45 us, 99 of 100 take 3.4 | 1.4. At infinity: 14 |

use core::time::Duration;

use joint_switch::MODELLED;

// Which task a worker runs next (`worker/queues/turn.rs`), in runs.

/// The number of runs between two rounds of a worker. In a round it attends to the driver, and
/// takes what other threads have queued. If runs are long, rounds are more frequent.
pub(crate) const INJECTOR_INTERVAL: u64 = 61;
/// The number of runs for which further rounds take no task, once a round has taken one. Together
/// with the pinned tasks and those of the high lane, the rounds leave one run in 64 to the others.
pub(crate) const ROUND_PAUSE: u64 = 8;
/// The number of rounds after which the oldest spawned task runs instead of an injected one.
pub(crate) const OLDEST_INTERVAL: u64 = 8;
/// The number of runs after which a pinned task runs before all others.
pub(crate) const PINNED_INTERVAL: u64 = 4;
/// The largest number of consecutive runs from the slot; of those from the high lane while there
/// are others; and of those of spawned tasks while there are woken ones.
pub(crate) const STREAK: u32 = 32;
/// The largest number of tasks that a worker takes at once from the injector, from its inbox, or
/// from the timers of a worker.
pub(crate) const BATCH: usize = 64;
/// How many tasks of the normal lane the stack and the queue of a worker each hold. Further tasks
/// go to the injector, whose queue takes no memory.
pub(crate) const MOST_QUEUED: usize = 1 << 14;

// When a worker searches, steals, wakes another and parks (`worker/idle`, `sleep.rs`).

/// The number of looks at the other workers before a worker parks, which costs more than a look.
pub(crate) const LOOKS: u32 = if MODELLED { 1 } else { 4 };
/// How often a worker spins after the first of these looks, and twice as often after each further.
pub(crate) const SPINS: u32 = 8;
/// How long a worker first watches queues that are not empty, and how long a worker blocks first
/// that waits for a fork. Each further time is twice as long, up to [`LONGEST_WATCH`].
pub(crate) const FIRST_WATCH: Duration = Duration::from_micros(50);
pub(crate) const LONGEST_WATCH: Duration = Duration::from_millis(1);
/// The number of times in a row that a worker finds work that it cannot take, before it parks in
/// spite of it: the thread that has it may need this processor.
pub(crate) const MOST_VAIN: u32 = 8;
/// Tasks are stolen if recent polls took at least this long on average, in nanoseconds.
pub(crate) const WORTH_A_STEAL: usize = 600;
/// The same for waking another worker because of a task that is queued.
pub(crate) const WORTH_A_WAKE: usize = 4_000;
/// The length of a poll after which one task is stolen from its worker's queue.
pub(crate) const PATIENCE: Duration = Duration::from_micros(50);
/// The length of a poll after which half of its worker's queue is stolen.
pub(crate) const STUCK: Duration = Duration::from_millis(1);
/// The largest number of tasks that are stolen at once.
pub(crate) const MOST_STOLEN: usize = 256;
/// How often a thief tries that others have forestalled.
pub(crate) const MOST_THEFTS: usize = 8;

// When a busy worker looks at the others, which it does once in `LONGEST_WATCH` (`worker/idle`).

/// The largest number of runs between two readings of the clock.
pub(crate) const CLOCK_INTERVAL: u64 = 244;
/// The same after a search.
pub(crate) const FIRST_CLOCK: u64 = 16;
/// The number of looks in a row, after which more is known than after one. Also the number of runs
/// that a worker makes during a poll of another before it takes that one for stuck.
pub(crate) const LOOKS_IN_A_ROW: u32 = 32;

// Which forks are offered and taken (`fork_join/forks.rs`, `worker/help.rs`).

/// A fork is taken once its worker has had one open in the same place for this long.
pub(crate) const WORTH_A_THEFT: Duration = Duration::from_micros(20);
/// The number of forks that a worker keeps open if no thief has asked for more.
pub(crate) const KEPT_OPEN: usize = 4;
/// The number of further forks that are offered after a thief has asked for more.
pub(crate) const CREDIT: usize = 256;
/// The largest number of open forks of one worker.
pub(crate) const MOST_FORKS: usize = 1024;
/// The largest stack use, in bytes, with which a worker that waits for a fork takes another one.
pub(crate) const ROOM_TO_HELP: usize = 64 << 10;

// Who attends to the driver, and when (`worker/attend.rs`, `driver`).

/// For how long the driver may wait for a worker that runs, in nanoseconds. If recent polls took
/// this long, another worker is woken for the driver; and a worker that was away for no longer is
/// expected back within the same time.
pub(crate) const NEAR_THE_DRIVER: u64 = 50_000;
/// The shortest time between two checks of the descriptors by a busy worker, in nanoseconds.
pub(crate) const LOOK_INTERVAL: u64 = 20_000;
/// How long a busy worker may stay away from the driver, in nanoseconds, judged by the length of
/// its recent polls.
pub(crate) const LONGEST_AWAY: u64 = 200_000;
/// The interval at which a blocked worker checks the driver, and looks for tasks to drop once its
/// executor is closed.
pub(crate) const BLOCKED_LOOK: Duration = Duration::from_millis(1);
/// The interval at which a blocked worker looks whether its wait is a deadlock.
pub(crate) const DEADLOCK_LOOK: Duration = Duration::from_secs(1);

// Tasks that start on their spawner's stack (`worker/start.rs`, `local`).

/// The largest number of first polls by `spawn_now` that may be nested on a thread's stack. Each
/// takes 3.6 KiB of it in a debug build on x86_64, and 4.3 KiB with hooks for polls, without the
/// frames of the task: 70 KiB of the 2 MiB that a thread usually has.
pub(crate) const MOST_STARTS: u32 = 16;

// What the end of an executor waits for (`worker/closing.rs`).

/// The largest number of drops that may be nested on a thread's stack, in each executor: of those
/// that block a worker, and of those of tasks that were spawned too late.
pub(crate) const MOST_INSIDE: usize = 16;
/// How long a poll must have been blocked in a closed executor, with no other worker free, before
/// its worker drops tasks that another worker could drop. Much longer than the system usually keeps
/// a thread off its processor.
pub(crate) const ALONE: Duration = Duration::from_millis(100);
/// The same, if the last poll of another worker is over. That worker has dropped everything by then
/// that it can drop, unless it is blocked in a drop, or nobody drives it any more.
pub(crate) const ALONE_BESIDE_ARRIVED: Duration = Duration::from_secs(1);

// The threads for functions that block (`blocking`).

/// The largest number of these threads.
pub(crate) const MOST_BLOCKING: usize = 512;
/// The time after which one that is idle exits.
pub(crate) const BLOCKING_KEPT: Duration = Duration::from_secs(10);
