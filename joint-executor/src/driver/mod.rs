//! The events that an executor waits for besides its tasks: deadlines, and ready descriptors.
//!
//! There is one [`Driver`] for each executor. It has the [timers] of each worker, and the
//! [reactor], which is made when the first descriptor needs it. Until the first timer or descriptor
//! the driver takes no part in anything.
//!
//! One worker at a time is its [`Keeper`](keeper::Keeper). A worker that parks while no other keeps
//! the driver parks in it, until the earliest deadline, until a descriptor is ready, or until the
//! driver is rung. A busy worker checks the driver after at most 32 runs (`worker/queues/turn.rs`),
//! and is its keeper for that moment. The worker wakes the tasks whose timers or descriptors it
//! finds ready, and they go to its own queue.
//!
//! # A deadline that becomes the earliest
//! The race is between a thread that adds a deadline and a keeper that is going to sleep. It is the
//! race of a push and a sleeper once more. Here it is settled by one word, the time at which the
//! keeper means to wake up, which both sides exchange.
//!
//! | a new earliest deadline (`hurry`) | keeper (`park`) |
//! |---|---|
//! | D1 publish the deadline | K1 write down until when it sleeps |
//! | D2 read that time. If the keeper sleeps beyond the deadline, wake it | K2 look at the earliest deadline. If it is sooner, begin again |
//!
//! If D2 comes before K1 on that word, K1 reads from D2 or from an exchange that follows it, so K2
//! sees D1. Otherwise D2 sees what K1 wrote, or sees that the keeper has woken up since. That is an
//! exchange too, so the next K1 still reads from D2 or from an exchange that follows it. The
//! same two cases hold for a reactor that is made while the keeper sleeps on its thread's parker.
//!
//! # A keeper that leaves
//! A keeper that wakes up and leaves to run a task abandons the driver, and that task may block.
//! Waking another worker each time would cost more than most of the work that the wake-up is for.
//! So a worker that leaves the driver wakes another one only if there is no lookout (`sleep.rs`),
//! or if recent polls were long. A lookout that finds the driver vacant keeps it, and watches as
//! long as others make progress. When it goes to sleep, it looks at the driver after its fence: the
//! driver is one more queue, and a vacant one has work.
//!
//! If a thread that is not a worker adds a new earliest deadline and finds no keeper asleep, it
//! ensures that some worker is awake, as after a push. A worker that adds one is awake itself, and
//! does as if it left the driver.

pub(crate) mod clock;
mod due;
mod event_source;
#[cfg_attr(not(feature = "io"), allow(dead_code, reason = "no descriptors"))]
pub(crate) mod keeper;
#[cfg_attr(not(feature = "io"), path = "no_reactor.rs")]
pub(crate) mod reactor;
pub(crate) mod timers;

pub(crate) use self::keeper::Driver;
