//! Every number by which the executor decides: what a worker runs, when it searches, steals, wakes
//! and parks, how long the end waits, and how many threads block.
//!
//! There are twelve. Most have several uses: a use has a number of its own only if some row of
//! the benches gets worse by 5% without it. No other file has such a number, only the sizes of
//! words.
//!
//! | number | the row that shows it, and what it takes there |
//! |---|---|
//! | [`LOOKS`] | ping-pong inside: 1.1 at twice. Processor time of a wake-up of all workers: 1.5 to 2.2 at twice |
//! | [`WORTH_A_STEAL`] | 10,000 detached: 2.3 at 0. A task behind a poll of 2 ms: 5 at infinity |
//! | [`WORTH_A_WAKE`] | yields: 1.6 at 0. 99 of 100 UDP echoes beside a task that yields: 11 at infinity |
//! | [`FEW`] | `fib(25)`: 1.7 at twice. 99 of 100 UDP echoes beside a task that yields: 3.4 at half |
//! | [`SOON`] | a task that is woken behind a poll of 2 ms: 1.4 to 1.7 at twice. A TCP echo: 3.5 at 0, if the driver is never left to a busy worker |
//!
//! The others keep the promises of `docs/executor.md`. While each of their uses had a number of its
//! own, none of these changed a row by 8% at half or at twice.

use core::time::Duration;

use joint_switch::MODELLED;

/// The number of runs between two turns. A worker makes a round after this many runs, or sooner if
/// runs are long: it attends to the driver, and takes up to this many of the tasks that other
/// threads have queued. It makes at most this many consecutive runs from the slot; from the high
/// lane while there are others; and of spawned tasks while there are woken ones. It also judges by
/// this many looks at the others in a row, and takes a worker for stuck that has been in one poll
/// during this many of its own runs.
pub(crate) const TURN: u32 = 32;
/// One run in this many is of a pinned task, and one belongs to a round that takes a task. One
/// round in this many runs the oldest spawned task instead of an injected one. A worker keeps this
/// many forks open if no thief has asked for more. And see [`LONGEST_AWAY`].
pub(crate) const FEW: u64 = 4;
/// How often a worker tries in vain before it gives up: looks at the other workers before it parks,
/// which costs more than a look; thefts that others have forestalled; and parks for a short time
/// beside work that it cannot take. It also spins this often after the first look, and twice as
/// often after each further one.
pub(crate) const LOOKS: u32 = if MODELLED { 1 } else { 4 };
/// More than this is no longer handled at once: tasks that are stolen; runs between two readings of
/// the clock; open forks, and those that are offered after a thief has asked for more; events
/// of one wait; places that a queue of timers keeps when it is empty; threads that block.
pub(crate) const MANY: usize = 512;

/// Tasks are stolen if recent polls took at least this long on average, in nanoseconds. Shorter
/// ones cost less than the theft.
pub(crate) const WORTH_A_STEAL: usize = 600;
/// Likewise, for waking another worker because of a task that is queued.
pub(crate) const WORTH_A_WAKE: usize = 4_000;

/// The shortest time after which a worker acts without being told. It watches queues that are not
/// empty for this long at first, and then for twice as long each time. It steals one task from a
/// worker that has been in a poll for this long, and a fork that has been open for it. The driver
/// may wait this long for a worker that runs, which checks the descriptors no more often.
pub(crate) const SOON: Duration = Duration::from_micros(50);
/// How long a busy worker may stay away from the driver, judged by the length of its recent polls.
pub(crate) const LONGEST_AWAY: Duration = SOON.saturating_mul(FEW as u32);
/// After a poll of this length its worker's queue is stolen: half of it by an idle worker, and all
/// by a busy one. The interval at which a busy worker looks at the others, and a blocked one at the
/// driver and at what is left to drop.
pub(crate) const STUCK: Duration = Duration::from_millis(1);
/// For how long a worker watches at most. A poll that nobody expected to be long is found by then.
pub(crate) const LONGEST_WATCH: Duration = STUCK.saturating_mul(1 << LOOKS);
/// After this time without any progress, something does not go on by itself: a blocked worker looks
/// whether its wait is a deadlock; and in a closed executor, it drops tasks that another worker
/// could drop, which has dropped by then what it can.
pub(crate) const STANDSTILL: Duration = Duration::from_secs(1);
/// Likewise, if no other worker is there to drop them. Dropping an executor whose workers are
/// blocked takes at least this long: with a second, the tests of `soak` take 50 seconds instead of
/// 11.
pub(crate) const ALONE: Duration = Duration::from_millis(100);
/// For how long a thread for functions that block is kept if it is idle, as users of other runtimes
/// expect.
pub(crate) const KEPT_IDLE: Duration = Duration::from_secs(10);

/// The largest stack use, in bytes, with which a worker that waits for a fork takes another one.
pub(crate) const ROOM_ON_STACK: usize = 64 << 10;
/// How many first polls by `spawn_now` fit there, and how many drops inside drops, at 4 KiB each: a
/// start takes 3.6 KiB in a debug build on x86_64, and 4.3 KiB with hooks for polls, without the
/// frames of the task.
pub(crate) const MOST_NESTED: usize = ROOM_ON_STACK >> 12;
