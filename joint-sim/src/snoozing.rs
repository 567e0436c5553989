//! [`Snoozing`]: a future that was woken and is not polled.

use std::{fmt, panic::Location, sync::Arc, time::Duration};

use super::record::Actor;

/// A future of [`waiting_for`](joint_executor::waiting_for) that was woken, and that its task has
/// not polled although the task was polled since. What the future was given, such as a lock, it
/// keeps from all others.
///
/// `Display` says all of it in one line.
///
/// # Example
/// Both branches of a select take the same lock, and the one that has lost is kept:
/// ```
/// use std::{pin::pin, time::Duration};
///
/// use async_lock::Mutex;
/// use futures_lite::future::{poll_once, zip};
/// use joint_executor::{time::sleep, waiting_for};
/// use joint_sim::Builder;
///
/// let failure = Builder::new(1).run(async {
///     let lock = Mutex::new(());
///     let held = async {
///         let _guard = lock.lock().await;
///         sleep(Duration::from_secs(1)).await;
///     };
///     let stuck = async {
///         let mut first = pin!(waiting_for("the lock", lock.lock()));
///         assert!(poll_once(first.as_mut()).await.is_none());
///         lock.lock().await;
///     };
///     zip(held, stuck).await;
/// });
/// let failure = failure.unwrap_err();
/// let [snoozing] = failure.snoozing() else { panic!("one future snoozes") };
/// assert_eq!((snoozing.what, snoozing.woken), ("the lock", Duration::from_secs(1)));
/// assert!(failure.to_string().contains("the wait of main for the lock, at "));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snoozing {
    /// What it waits for, as `waiting_for` was told.
    pub what: &'static str,
    /// Where `waiting_for` was called.
    pub place: &'static Location<'static>,
    /// When it was woken: the virtual time since the start of the run.
    pub woken: Duration,
    /// The step in which it was woken.
    pub step: u64,
    /// The number of polls of its task that began since.
    pub polls: u64,
    /// The task that polled it last, by the order of spawning, and its name. The main future has
    /// none.
    pub(super) actor: Actor,
    pub(super) name: Option<Arc<str>>,
    pub(super) by: Actor,
}

impl fmt::Display for Snoozing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { actor, by, .. } = self;
        write!(f, "the wait of {actor}")?;
        if let Some(name) = &self.name {
            write!(f, " \"{name}\"")?;
        }
        write!(
            f,
            " for {}, at {}, snoozes since step {}, at {:?}, when {by} woke it; polls of {actor} \
             since: {}",
            self.what, self.place, self.step, self.woken, self.polls
        )
    }
}
