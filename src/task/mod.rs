//! Tasks: a task is a future on the heap, or in memory of your own. Its executor decides where and
//! when it runs, and it can be joined through a handle.
//!
//! This layer is for authors of executors. [`spawn`] takes a future and a schedule function. It
//! returns the [`Runnable`], to be queued and run, and the [`JoinHandle`], by which the output is
//! awaited. The task knows no executor. Each time that it is woken while idle, it calls the
//! schedule function with its next runnable.
//!
//! # Promises
//! * A task takes one allocation (a large one [two or three](#memory)). A runnable is one word, a
//!   handle three.
//! * No operation waits for another thread. Each is a bounded number of atomic instructions,
//!   apart from the allocator and the user code that it calls. Two kinds of exceptions are
//!   lock-free only: to cancel a task, by [`JoinHandle::abort`], [`AbortHandle::abort`],
//!   [`Runnable::raw_abort`] or the drop of the [`JoinHandle`] of a task that has not ended; and
//!   to wake a task that has billions of unconsumed wake-ups (thousands [where a task has fewer
//!   wakers](#limits)).
//! * Spawn, run, join and drop take one atomic read-modify-write in total, or four if another
//!   task awaited the handle before the end.
//! * The future and the output are each dropped exactly once (but see [`spawn_local`]). The
//!   future is dropped on the thread that runs or drops the runnable, before the join sees the end
//!   of the task.
//! * An idle task without a handle or a waker is scheduled once more, so that its executor drops
//!   it. If the end of a run leaves the task so, that run drops it.
//! * Waking a task while it runs, however often, runs it once more.
//! * A task that wakes itself takes no atomic operation but one load (see below).
//!
//! # A task that wakes itself
//! To run again, a future can wake its own task during a poll and return `Pending`, as a yield
//! and a [refused operation][budget] do. The executor then gets the same runnable back, and
//! [`Waker::wake_by_ref`](core::task::Waker::wake_by_ref) and the end of the run take no atomic
//! read-modify-write. If the task was also woken from elsewhere since its last run, the end of the
//! run takes one. This needs the feature `std`, for a thread-local. Without it, and for a
//! wake-up by another thread, or by code of a task that is polled inside of this poll, the wake-up
//! takes one, and the end of the run another.
//!
//! # Memory
//! A task's allocation is freed with the last of its handle, its runnable, its wakers and abort
//! handles, which may be long after its end: whatever it has waited for may keep its waker. A
//! future of more than 16 KiB therefore has an allocation of its own, which is freed as soon as the
//! future has been dropped. So has an output of more than 16 KiB, which is freed when the output is
//! taken or dropped. A task in a [`TaskPool`] keeps everything in its slot.
//!
//! # An executor
//! It needs a queue, a loop that runs the queued tasks, and a way to sleep. Here a channel is all
//! three:
//! ```
//! use joint::task::{self, Runnable};
//! use std::{sync::mpsc, thread};
//!
//! let (sender, queue) = mpsc::channel::<Runnable>();
//! thread::spawn(|| queue.into_iter().for_each(|runnable| _ = runnable.run()));
//! // If the thread has gone, the runnable comes back and is dropped, which cancels the task.
//! let push = move |runnable| drop(sender.send(runnable));
//! let (runnable, handle) = task::spawn(async { 6 * 7 }, push);
//! runnable.schedule();
//! assert_eq!(joint::block_on(handle), 42);
//! ```
//!
//! The folder `examples` in the repository has larger ones:
//!
//! | example | what it has |
//! |---|---|
//! | `executor` | a queue under a lock, and any number of threads |
//! | `shutdown` | cancels the tasks that wait when it is [shut down](#an-executor-that-can-be-shut-down) |
//! | `microcontroller` | tasks in a `static`, [without an allocator](#without-an-allocator) |
//!
//! With `#[track_caller]` on a `spawn` of your own, and on each function between it and this
//! module's, errors, `Debug` and hooks say where the user has called it. The attribute does not
//! reach through a closure. There, take [`Location::caller`](core::panic::Location::caller) before,
//! and hand it on by [`Builder::spawned_at`].
//!
//! # An executor that can be shut down
//! The executor above loses sight of a task that waits: only its wakers and its handle refer to it.
//! If it is never woken, it is never dropped, and a task that awaits it waits forever. To cancel
//! such tasks at its end an executor keeps their addresses. [`Schedule`] has two more functions for
//! that: `pending` is called when a task begins to wait, and `ended` when its future has been
//! dropped. [`Runnable::raw_abort`] turns the address of a waiting task into its runnable.
//!
//! Such an executor may also queue a task that yields without calling the schedule function
//! ([`Runnable::poll`]), give each poll a [budget], and hide its metadata from its users
//! ([`JoinHandle::without_metadata`]). The example `shutdown` does all of this. The package
//! `joint-executor` is built by these means, and uses no others.
//!
//! # Without an allocator
//! A [`TaskPool`] is memory for tasks, usually a `static`. It needs neither the feature `std` nor
//! `alloc`. Everything else is as for tasks on the heap. An executor can keep its queue in the
//! tasks themselves, by their [`Link`], as the example `microcontroller` does.
//!
//! # In models
//! With loom's mutex and threads, an executor and its tasks can be model-checked
//! ([how](crate#in-your-own-models)). The folder `loom-tests/tests/guide` in the repository
//! contains models of the examples for threads, and mistakes that the models catch. Lesson 9 in
//! `verify/course/lessons` shows how to read what loom reports about a lost wake-up.
//!
//! # Panics and re-entrance
//! All user code that a task calls may panic, and may use the task:
//!
//! | source of the panic | outcome |
//! |---|---|
//! | polling the future | it becomes the result of the task, or passes through [`Runnable::run`], depending on [`Builder::propagate_panic`]. The future is dropped while the panic unwinds, so its destructor sees `std::thread::panicking()`, and a lock in it is poisoned |
//! | dropping the future | it becomes the result of the task, unless the poll has panicked before |
//! | dropping the output | it is caught if the handle, or the run of a task without a handle, drops the output. Code that has awaited the output owns it, and its panic |
//! | the schedule function | it passes through the wake-up, `schedule`, `run` or cancellation that called the function. The function's runnable is dropped, which cancels the task |
//! | [`Schedule::pending`], [`Schedule::ended`], [`Host::on_panic`] | it ends the program, because the task could be neither woken nor joined after it |
//! | cloning the waker of the waiter | it passes through the poll of the handle, and nothing has changed |
//! | waking that waker | it passes through the run or the drop of the runnable. The task has ended |
//! | dropping that waker | it passes through the poll that replaces the waker, or the drop of the handle. Everything else is done by then |
//! | dropping the metadata, the schedule function or a value that is [attached](Runnable::attach) | it passes through the drop of the last reference. The memory is freed |
//! | dropping a value because of another panic | it ends the program |
//!
//! A future may drop or await its own handle, may wake itself while it is polled or dropped, and
//! may outlive the executor that ran it. The schedule function may drop the handle or waker whose
//! use has called it. `pending` and `ended` may wake, abort and detach the task, drop its handle
//! and its last waker, and run other tasks.
//!
//! # References to a task
//! Each of these refers to a task, and can be the last that does. Its drop then drops the metadata,
//! the schedule function and the name, on its own thread:
//! * the [`Runnable`], also in a [`Polled`] or as an [address](Runnable::into_raw);
//! * the [`JoinHandle`], also as a [`Fallible`] or [`JoinResult`];
//! * each [`AbortHandle`], which calls the schedule function too;
//! * each [`Waker`](core::task::Waker) of the task, which calls it too, and each
//!   [`ThinWaker`](crate::waker::ThinWaker).
//!
//! Abort handles and wakers may be sent to any thread, and safe code makes them: an abort handle
//! from the handle, wakers in each poll. A [`PendingTask`], [`EndedTask`] or [`TaskView`] borrows
//! the task, and is no reference to it.
//!
//! # Tasks that borrow
//! [`spawn_unchecked`] takes a future that borrows. Its caller promises that the borrowed values
//! stay until the task has ended and its output is gone. After that nothing of the task touches
//! what the future borrowed, though wakers, abort handles and other references may be left: the
//! future has been dropped, and what they use and free is the task's own memory, its metadata, its
//! name and its schedule function. These may borrow only what outlives *all* references.
//!
//! | what is known | what is left to do |
//! |---|---|
//! | the handle, or its [result](JoinHandle::result), is ready | to drop the output |
//! | [`JoinHandle::is_finished`] | to drop the handle, or to take the output by it |
//! | [`Runnable::poll`] has said [`Polled::Ended`] | the same; nothing if the task is detached |
//! | the drop of a [`Runnable`] has returned | nothing: there is no output |
//! | [`Schedule::ended`] is called | the future is gone, but not its output |
//! | the handle was dropped, which cancels the task | **to wait**: the future may be in a poll |
//!
//! A function that lends its own variables must not be left before that, not even by a panic. This
//! one would end the program:
//! ```
//! use joint::task::{self, Runnable};
//! use std::{mem, process, thread};
//!
//! /// Ends the program when it is dropped.
//! struct NoExit;
//! impl Drop for NoExit {
//!     fn drop(&mut self) {
//!         process::abort();
//!     }
//! }
//!
//! /// Runs a future on another thread, and waits for its output.
//! fn run_there<F: Future<Output: Send> + Send>(future: F) -> F::Output {
//!     let schedule = |runnable: Runnable| drop(thread::spawn(move || runnable.run()));
//!     let lends = NoExit;
//!     // SAFETY: future and output may be sent, and this function is left only when the task has
//!     // ended and its output has been taken out. The schedule function borrows nothing.
//!     let (runnable, handle) = unsafe { task::spawn_unchecked(future, schedule) };
//!     runnable.schedule();
//!     let result = joint::block_on(handle.result());
//!     mem::forget(lends);
//!     result.unwrap()
//! }
//!
//! let words = vec![String::from("borrowed"), String::from("twice")];
//! let longest = run_there(async { words.iter().max_by_key(|word| word.len()) });
//! assert_eq!(longest, Some(&words[0]));
//! ```
//!
//! The scopes of `joint-executor` are built so, and need no `unsafe` of their users. The models in
//! `loom-tests/tests/task/borrow.rs` have a waker and an abort handle that are used while the
//! borrowed value is taken back.
//!
//! # Limits
//! A task has at most 2^27 wakers at a time (134,217,728), including clones, or 2^13 (8,192) where
//! the machine has no atomics of 64 bits. One more ends the program with a message, because wakers
//! are counted in a word, and an overflow would free a task that is still in use. The number of
//! wake-ups has no limit. All wake-ups between two runs together cause one run.
//!
//! A task is built from small parts, each with its own proof: the state word in `state.rs`, the
//! allocation and the rules of access in `cell.rs`, and the join word in
//! [`completion`](crate::completion).
//!
//! [budget]: crate::budget
//! [`Host::on_panic`]: crate::host::Host::on_panic

#[cfg(feature = "alloc")]
mod apart;
mod builder;
mod cell;
mod error;
mod handle;
mod header;
#[cfg(feature = "alloc")]
mod id;
mod link;
#[cfg(feature = "std")]
mod local;
#[cfg(not(feature = "alloc"))]
mod no_alloc;
#[cfg(not(feature = "std"))]
mod no_std;
#[cfg(feature = "std")]
mod on_panic;
#[cfg(feature = "alloc")]
mod payload;
#[cfg(feature = "std")]
mod polled;
mod runnable;
mod schedule;
mod scheduled;
#[cfg(feature = "alloc")]
mod spawning;
mod state;
mod storage;
mod unwind;
mod view;

// What has another body without a feature.
#[cfg(not(feature = "alloc"))]
use self::no_alloc::{Origin, Payload, Text, message_of};
#[cfg(all(feature = "alloc", not(feature = "std")))]
use self::no_std::on_panic;
#[cfg(not(feature = "std"))]
use self::no_std::polled;
#[cfg(feature = "alloc")]
use self::{
    id::{Origin, Text},
    payload::{Payload, message_of},
};

#[doc(alias = "FallibleTask")]
pub use self::handle::Fallible;
#[doc(alias = "Task")]
pub use self::handle::JoinHandle;
#[cfg(feature = "alloc")]
#[doc(alias = "TaskId")]
pub use self::id::Id;
#[cfg(feature = "std")]
pub use self::local::spawn_local;
#[cfg(not(feature = "alloc"))]
pub use self::no_alloc::PanicPayload;
#[cfg(feature = "alloc")]
pub use self::payload::PanicPayload;
#[cfg(feature = "std")]
pub use self::polled::{id, set_panic_hook, try_id, with_current, without_current};
#[cfg(feature = "alloc")]
#[doc(alias = "immediate")]
#[doc(alias = "undispatched")]
pub use self::spawning::spawn_now;
#[cfg(feature = "alloc")]
pub use self::spawning::{spawn, spawn_detached, spawn_unchecked};
pub use self::{
    builder::Builder,
    error::{CancelledTask, JoinError},
    handle::{AbortHandle, JoinResult},
    link::Link,
    runnable::{Polled, Runnable},
    schedule::{Schedule, ScheduleInfo, WithInfo},
    storage::{FreeSlot, Full, TaskPool, TaskStorage},
    view::{EndedTask, PendingTask, TaskEnd, TaskView},
};
