//! [`Host`]: what the owner of a thread supplies to the waits, polls and panics on it.
//!
//! Most threads have no owner: they park while they wait, and read the system's clock. A simulator
//! that runs a whole program on one thread, a worker of an executor that has duties while a task
//! blocks it, or a main loop that also draws, sets the parts of its thread's host that it needs. It
//! restores afterwards what was set before.
//!
//! | part | who calls it | on which thread | may it block? | if it panics |
//! |---|---|---|---|---|
//! | [`now`](Host::now) | nobody: it is a value | | | |
//! | [`wait`](Host::wait) | every wait of this crate, instead of parking | the one that waits | yes | the panic passes through the wait. Where other threads use the stack of that wait, as in the `join`, `scope` and `install` of `joint-executor`, it ends the program |
//! | [`attend`](Host::attend) | every wait that is about to park, and one that never parks every 61 [turns](crate::park::Turns) | the one that waits | yes, also in another wait, which calls it again | as above |
//! | [`on_unpark`](Host::on_unpark) | a waker of a [`Parker`] | the one that wakes | no, and it calls no code of a user: it may be inside of any waker | the other thread is unparked, and the panic passes through the waker |
//! | [`on_refused`](Host::on_refused) | the [budget](crate::budget), when it refuses an operation | the one that polls | no | the panic passes through the poll, whose task is not woken |
//! | [`on_wait`](Host::on_wait) | a [oneshot](crate::oneshot) that is about to register a waker | the one that polls | no | the panic passes through the poll, and nothing is registered |
//! | [`on_panic`](Host::on_panic) | the end of a task, and [`PanicPayload`](crate::task::PanicPayload) | the one that polls or looks | no, and it does not use the task | it ends the program: the task could not be joined |
//!
//! A part applies to its thread alone, and to all that runs there, on whatever executor. Another
//! thread ends a wait as it would any other.
//!
//! # Cost
//! One read of a thread-local for each call in the table, whether the part is set or not. For
//! `on_wait` it is one load of a static until a thread of the process has set it.
//!
//! # Example
//! A thread that waits in its own way, because what it waits for is done by itself alone.
//! ```
//! use joint::{block_on, host, park::Parked, oneshot::{self, Sender}};
//! use std::cell::Cell;
//!
//! thread_local! {
//!     static SENDER: Cell<Option<Sender<u32>>> = const { Cell::new(None) };
//! }
//! let (sender, receiver) = oneshot::channel();
//! SENDER.set(Some(sender));
//! let before = host::update(|host| host.wait = Some(|_deadline, is_due| {
//!     // The only other part of this program.
//!     SENDER.take().map(|sender| sender.send(7));
//!     assert!(is_due(), "deadlock");
//!     Parked::Due { slept: false }
//! }));
//! assert_eq!(block_on(receiver), Ok(7));
//! host::set(before);
//! ```

use core::{cell::Cell, num::NonZero, task::Waker};
use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use crate::guard::OnDrop;
use joint_switch::{thread, thread_local};

mod parker;

pub use self::parker::Parker;

/// What the owner of a thread supplies. The [module](self) has the rules for each part.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Host {
    /// The time of this thread, which stands still until it is set again, or `None` if the thread
    /// follows the system's clock. Who sets it replaces the [waits](Host::wait) too, because a
    /// thread that parks sleeps by the system's clock.
    pub now: Option<Instant>,
    /// How the thread waits, instead of parking. Such a wait does not [attend](Host::attend)
    /// itself.
    pub wait: Option<Wait>,
    /// What the thread does for others while it is blocked.
    pub attend: Option<Attend>,
    /// Called before the thread unparks another one, whose wait has become due. A simulator that
    /// runs several threads by turns learns from it whose turn may come next.
    pub on_unpark: Option<fn(&thread::Thread)>,
    /// Called when the budget refuses an operation, before the task is woken: another task should
    /// run next.
    pub on_refused: Option<fn()>,
    /// Called with each waker that a oneshot is about to register, and the [name of the
    /// type](core::any::type_name) that is polled. The waker that it returns is registered instead.
    /// That has to wake the one that was passed. It is woken at most once, and dropped if the wait
    /// ends early.
    pub on_wait: Option<OnWait>,
    /// Called for the payloads of panics.
    pub on_panic: Option<OnPanic>,
}

/// How a thread waits: see [`Host::wait`].
///
/// It is given the deadline, and a check that is true once what the thread waits for is due. It
/// must return [`Parked::Due`] after the check was true, and [`Parked::TimedOut`] after a last
/// check if the deadline has passed. If it returns although nothing is due, or because of a
/// deadline that there is not, it is called again.
pub type Wait = fn(Option<Instant>, &mut dyn FnMut() -> bool) -> Parked;

/// What a blocked thread does for others: see [`Host::attend`].
///
/// A worker of an executor may be blocked by a task that it runs. If the worker is also the one
/// that fires timers or watches descriptors, what the task waits for may never come, unless the
/// worker does so here. It does what is due, and returns how long the next call may wait, or `None`
/// if no further call is needed. It may run any code, such as wakers. A wait may wake up early
/// because of it, but its caller does not notice.
///
/// In a [`block_on`](crate::block_on) without a limit, it is given the [`Parker`] by whose waker
/// the future is polled. Only [clones](Parker::clones) of that waker can end the wait then. In
/// every other wait it is given `None`.
///
/// # Example
/// ```
/// use joint::{block_on, host};
/// use std::cell::Cell;
/// use std::task::{Poll, Waker};
/// use std::time::Duration;
///
/// thread_local! {
///     static TIMER: Cell<Option<Waker>> = const { Cell::new(None) };
/// }
///
/// // This thread's duty is a timer that is always due.
/// host::update(|host| host.attend = Some(|_| {
///     TIMER.take().map(Waker::wake);
///     Some(Duration::from_millis(1))
/// }));
/// let mut polls = 0;
/// let timer = std::future::poll_fn(|cx| {
///     polls += 1;
///     if polls == 2 {
///         return Poll::Ready(());
///     }
///     TIMER.set(Some(cx.waker().clone()));
///     Poll::Pending
/// });
/// block_on(timer);
/// ```
pub type Attend = fn(Option<&Parker>) -> Option<Duration>;

/// Notes what a waker waits for: see [`Host::on_wait`].
pub type OnWait = fn(Waker, &'static str) -> Waker;

/// What a thread calls for the payloads of panics: see [`Host::on_panic`]. A simulator learns from
/// it which panics nobody looks at.
///
/// # Example
/// ```
/// use joint::{host::{self, OnPanic}, task};
/// use std::{cell::RefCell, collections::BTreeMap, num::NonZero};
///
/// type Unseen = BTreeMap<NonZero<u64>, String>;
/// thread_local! {
///     static UNSEEN: RefCell<Unseen> = const { RefCell::new(Unseen::new()) };
/// }
/// host::update(|host| host.on_panic = Some(OnPanic {
///     caught: |number, message| {
///         let message = message.unwrap_or_default().into();
///         UNSEEN.with_borrow_mut(|unseen| unseen.insert(number, message));
///     },
///     seen: |number| UNSEEN.with_borrow_mut(|unseen| _ = unseen.remove(&number)),
/// }));
/// let (runnable, handle) = task::spawn(async { panic!("no") }, |_| {});
/// runnable.run();
/// let error = joint::block_on(handle.result()).unwrap_err();
/// assert!(error.is_panic());
/// assert!(UNSEEN.with_borrow(|unseen| unseen.values().eq(["no"])));
/// assert!(error.to_string().ends_with("panicked: no"));
/// assert!(UNSEEN.with_borrow(Unseen::is_empty));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OnPanic {
    /// A task has ended with a panic, or [`PanicPayload::new`](crate::task::PanicPayload::new) was
    /// called. It is given a number, which no other payload of the process has, and the message, if
    /// there is one.
    pub caught: fn(NonZero<u64>, Option<&str>),
    /// The payload with this number was taken, or its message was read, perhaps not for the first
    /// time. Another thread, with other functions, may have caught it. A payload that was caught
    /// while no functions were set has no number, and this is not called for it.
    pub seen: fn(NonZero<u64>),
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parked {
    /// The condition that the thread waited for is met.
    Due {
        /// Whether the thread has parked at least once.
        slept: bool,
    },
    /// The deadline has passed, and nothing was due.
    TimedOut,
}

thread_local! {
    static HOST: Cell<Host> = const {
        Cell::new(Host {
            now: None,
            wait: None,
            attend: None,
            on_unpark: None,
            on_refused: None,
            on_wait: None,
            on_panic: None,
        })
    };
}

/// Returns what is set for this thread.
#[inline]
pub fn get() -> Host {
    part(Some).unwrap_or_default()
}

/// Returns one part, if it is set. The others are not read.
#[inline]
pub(crate) fn part<T>(pick: impl FnOnce(Host) -> Option<T>) -> Option<T> {
    // After its thread-locals are destroyed, a thread has no owner.
    HOST.try_with(|host| pick(host.get())).ok().flatten()
}

/// Set once any thread notes waits. A poll that registers a waker looks here first, because a
/// thread-local costs it more.
static NOTES: OnceLock<()> = OnceLock::new();

/// Returns whether any thread notes waits.
#[inline]
pub(crate) fn has_notes() -> bool {
    NOTES.get().is_some()
}

/// Sets all parts for this thread. Returns what was set before.
#[inline]
pub fn set(host: Host) -> Host {
    if host.on_wait.is_some() {
        NOTES.get_or_init(|| ());
    }
    HOST.with(|cell| cell.replace(host))
}

/// Changes some parts for this thread. Returns what was set before.
#[inline]
pub fn update(f: impl FnOnce(&mut Host)) -> Host {
    let before = get();
    let mut host = before;
    f(&mut host);
    set(host)
}

/// Returns the time of all waits, timers and deadlines of this crate: the thread's own, or else
/// [`Instant::now`]. A future of your own that has a deadline reads the time here, so that the
/// owner of the thread decides.
///
/// # Cost
/// One read of a thread-local beside the call of the system.
///
/// # Example
/// ```
/// use joint::host;
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let hour = Duration::from_secs(3600);
/// host::update(|host| host.now = Some(start + hour));
/// assert_eq!(host::now(), start + hour);
/// host::update(|host| host.now = None);
/// assert!(host::now() < start + hour);
/// ```
#[inline]
pub fn now() -> Instant {
    part(|host| host.now).unwrap_or_else(joint_switch::now)
}

/// Unparks a thread whose wait has become due.
#[inline]
fn unpark(thread: &thread::Thread) {
    // A wake-up is not lost by a panic.
    let _unpark = OnDrop(|| thread.unpark());
    if let Some(on_unpark) = part(|host| host.on_unpark) {
        on_unpark(thread);
    }
}
