//! What an executor waits for that does not come from a task: deadlines, and descriptors that get
//! ready.
//!
//! [`Driver`] is one executor's: the [timers] of each worker, and the [reactor], which is made when
//! the first descriptor asks for it. Until the first timer or descriptor it takes no part in
//! anything.
//!
//! One worker at a time is its [`Keeper`]: whoever rests while nobody else keeps it rests in it,
//! until the earliest deadline, until a descriptor is ready, or until somebody rings. A worker that
//! is busy looks at it now and then (`turn.rs`), as its keeper for that moment. What it finds
//! ready, a worker wakes; the tasks go to its own queue.
//!
//! # A deadline that becomes the earliest
//! Who adds one and a keeper that goes to sleep form the race of a push and a sleeper once more.
//! Here one word settles it, which both exchange: when the keeper means to wake up.
//!
//! | a new earliest deadline (`hurry`) | keeper (`lie`) |
//! |---|---|
//! | D1 publish the deadline | K1 write down until when it sleeps |
//! | D2 read that: the keeper sleeps beyond it: wake the keeper | K2 look at the earliest deadline: sooner: begin again |
//!
//! If D2 comes before K1 on that word, K1 reads from D2 or from what follows it, and K2 sees D1.
//! Else D2 sees what K1 wrote, or that the keeper has risen since; that is an exchange too, so that
//! the next K1 reads on from it. The same two cases hold for a reactor that is made while the
//! keeper sleeps on its thread's parker.
//!
//! A keeper that goes to run a task may be away for long: `reserve.rs` says who takes over then.
//!
//! A thread that is no worker, and finds nobody asleep there, sees to it that some worker is awake,
//! as after a push. A worker is awake itself. It gives the others a sign only where polls are long
//! or there is no reserve; otherwise it keeps the driver itself when it has nothing to do, and
//! looks at it in its turn until then.

#[cfg(not(feature = "io"))]
mod absent;
#[cfg(feature = "io")]
pub(crate) mod clock;
#[cfg(feature = "io")]
pub(crate) mod keeper;
#[cfg(feature = "io")]
pub(crate) mod reactor;
#[cfg(feature = "io")]
mod reserve;
#[cfg(feature = "io")]
pub(crate) mod timers;

#[cfg(not(feature = "io"))]
pub(crate) use self::absent::{Driver, Keeper};
#[cfg(feature = "io")]
pub(crate) use self::keeper::{Driver, Keeper};
