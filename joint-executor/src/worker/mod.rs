//! One worker: its queues, its LIFO slot, and its loop.
//!
//! # The way of a spawned task
//! 1. `launch.rs` makes the task, counts it, and pushes its runnable: on a worker onto that
//!    worker's own stack of spawned tasks, on any other thread into the injector
//!    (`Shared::inject`).
//! 2. The push wakes a sleeping worker if no worker is looking for work (`sleep.rs`).
//! 3. A worker takes its next runnable by turns from the LIFO slot, its own queues and the injector
//!    (`queues/turn.rs`). An idle worker steals it from another one that is slow (`idle/steal.rs`).
//! 4. `Running::run` polls the future once (`run.rs`).
//! 5. If the future is pending, the task is entered in the registry of owned tasks the first time
//!    (`schedule.rs`), and waits there.
//! 6. A wake-up schedules it: on a worker into that worker's queue or LIFO slot, on any other
//!    thread into the injector, or into the inbox of the worker that it is pinned to. It continues
//!    at 2.
//! 7. If the future is ready, the run stores the output and hands back the waker of the task that
//!    waits for it. That task goes to the LIFO slot and runs next.
//!
//! # The LIFO slot
//! The slot cannot be stolen from, and need not be: it is filled only by the wake-up of a waiting
//! task, after the last poll of the task that it waited for, and emptied by the very next run. It
//! is open while one of this executor's tasks is being woken, which runs no other code, and closed
//! while any stranger's code runs, because that may do anything and may take any time.
//!
//! # The floors
//! A worker is made of values. Each has its own fields and functions, and is given what is not its
//! own: what all workers share, or the worker as one that runs. A file names only what lies on a
//! lower floor, and the files of one floor do not name one another (`tests/tidy/floors.rs`).
//!
//! | floor, from the bottom | the value | what it does |
//! |---|---|---|
//! | `shared.rs` | `Shared` | what the workers of an executor share |
//! | `queues/` | `Queues` | the queues, and which task is next: [`next`](queues::Queues::next) |
//! | `help.rs` | `Helper` | which forks of other workers are worth a theft |
//! | `lent.rs` | `Lent` | the tasks that an owner has taken |
//! | `state.rs` | `Core`, `Running`, `Searching` | the part of a worker that code on it reaches; what it is doing, and who may call the code of a stranger; how it queues and announces a task |
//! | `run.rs` | `Running` | a run, and what it leaves to do |
//! | `attend.rs` | `Attendant` | timers and descriptors: [`attend`](attend::Attendant::attend) |
//! | `closing.rs` | `Closing` | how a worker drops what is left at the end |
//! | `idle/` | `Idle` | the search for work, theft, and when it parks: [`park`](idle::Idle::park) |
//! | `parts.rs` | `Worker` | all of these |
//! | `current.rs` | | which worker a thread is |
//! | `end.rs` | | the drop of a task that no worker runs; what of the end is not a worker's |
//! | `schedule.rs`; `launch.rs` | `Scheduler` | how a task that was woken, or is new, gets into a queue |
//! | `start.rs` | | how a new task is polled on its spawner's stack |
//! | `blocked.rs` | | the work of a worker while a poll blocks its thread |
//! | `thread.rs` | | what the thread of a worker does: the loop |
//! | `stepped.rs` | | a worker that its owner drives step by step, or task by task |

mod attend;
mod blocked;
mod closing;
pub(crate) mod current;
pub(super) mod end;
#[cfg(test)]
mod harness;
mod help;
mod idle;
pub(super) mod launch;
pub(super) mod lent;
mod parts;
mod queues;
mod run;
pub(super) mod schedule;
pub(crate) mod shared;
pub(super) mod start;
mod state;
pub(crate) mod stepped;
mod thread;

pub(crate) use self::{parts::Worker, state::Running};

#[cfg(test)]
mod tests;
