//! FoundationDB's [Flow] vocabulary, in idiomatic Rust, on [`joint`] and [`joint_executor`].
//!
//! [Flow]: https://apple.github.io/foundationdb/flow.html
//!
//! Flow is the language of actors in which FoundationDB is written: futures that are raced, joined
//! and counted, and that are cancelled by dropping them. Each of its pieces is here by the name and
//! in the shape that a user of async Rust expects. If `joint`, or a well-kept crate, has a piece
//! already, this crate has it by reference.
//!
//! | Flow | here | module |
//! |---|---|---|
//! | `Promise`, `Future` | [`channel`](promise::channel), [`Shared`](promise::Shared), [`never`](promise::never()) | [`promise`] |
//! | the `Future` of an actor, `Uncancellable` | [`spawn`], [`Task`], [`uncancellable`], [`spawn_local`](task::spawn_local) | [`task`] |
//! | `race` | [`race()`] | |
//! | `Choose().When().run()` | [`choose`](choice::choose), [`try_choose`](choice::try_choose) | [`choice`] |
//! | `&&`, `waitForAll`, `getAll`, `waitForAllReady` | [`all()`], [`try_all`], [`all_ready`] | |
//! | `quorum`, `waitForAny` | [`quorum()`], [`any()`] | |
//! | `ActorCollection` | [`Collection`] | [`collection`] |
//! | `PromiseStream`, `FutureStream` | [`Sender`](stream::Sender), [`Receiver`](stream::Receiver) | [`stream`] |
//! | `FlowLock`, `FlowMutex` | [`FlowLock`](lock::FlowLock) | [`lock`] |
//! | `AsyncVar`, `AsyncTrigger` | [`AsyncVar`](variable::AsyncVar), [`Trigger`](variable::Trigger) | [`variable`] |
//! | `Generator`, `AsyncGenerator` | [`stream!`](generator::stream), [`try_stream!`](generator::try_stream), [`blocking_iter`](generator::blocking_iter) | [`generator`] |
//! | `db.run`, `onError` | [`retry`](retry::retry()), [`Backoff`](retry::Backoff) | [`retry`](mod@retry) |
//! | `timeout`, `delay`, `yield`, `now`, `TaskPriority` | [`timeout`](time::timeout()), [`delay`](time::delay), [`yield_now`](time::yield_now), [`now`](time::now), [`Priority`](time::Priority) | [`time`] |
//!
//! The [guide] shows Flow's constructs beside these, and Flow's hazards beside the compiler's
//! errors.
//!
//! # Example
//! A replicated read: two of three replicas have to answer, and each is asked again if it fails.
//! ```
//! use std::time::Duration;
//! use joint_flow::{quorum, retry::{Backoff, retry}, time::timeout};
//!
//! async fn read(replica: usize) -> Result<&'static str, &'static str> {
//!     if replica == 1 { Err("down") } else { Ok("value") }
//! }
//!
//! let answers = joint::block_on(async {
//!     let reads = [0, 1, 2].map(|replica| {
//!         let policy = Backoff::new(Duration::from_millis(1)).tries(3);
//!         retry(policy, move || read(replica))
//!     });
//!     timeout(Duration::from_secs(60), quorum(2, reads)).await
//! });
//! assert_eq!(answers, Ok(Ok([Some("value"), None, Some("value")])));
//! ```
//!
//! # Cancellation
//! Dropping cancels. Dropping a future, and so a combinator with all that it holds, drops what it
//! awaits, from the first to the last. Dropping the last handle of a [`Task`] drops its future, at
//! once if it is idle, and at its next suspension if it is being polled. Dropping a [`Collection`]
//! does that to its tasks in the order of their insertion. A combinator that is ready has dropped
//! its losers before its caller goes on. A cancelled future runs no more code of its own, only
//! destructors, and no destructor runs twice. [`uncancellable`] starts a task that nothing but the
//! end of its executor cancels. [`task`] has the details.
//!
//! # Tests
//! Every piece is tested under `joint_sim`, with some hundred seeds and all faults. Races
//! between threads are also checked by loom models. `docs/flow.md` in the repository has a table of
//! the semantics with their tests and models, and FoundationDB's own tests of Flow with ours.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[macro_use]
mod debug;

mod all;
pub mod choice;
pub mod collection;
pub mod generator;
mod group;
#[doc = include_str!("../guide.md")]
pub mod guide {}
pub mod lock;
mod payload;
pub mod promise;
mod quorum;
mod race;
mod references;
pub mod retry;
pub mod shared;
#[doc(alias = "mpsc")]
pub mod stream;
pub mod task;
pub mod time;
pub mod variable;
mod waiting;
mod woken;

#[doc(alias = "join_all")]
pub use all::all;
pub use all::{All, AllReady, TryAll, all_ready, try_all};
#[doc(inline)]
pub use collection::Collection;
pub use group::{
    Group, Kept, OneOf2, OneOf3, OneOf4, OneOf5, OneOf6, OneOf7, OneOf8, TryGroup, TryList,
};
pub use quorum::{Any, KeepLosers, Losers, Quorum, Strict, any, quorum};
pub use race::Race;
#[doc(alias = "select")]
pub use race::race;
pub use shared::Closed;
#[doc(inline)]
pub use task::{Task, TaskError, spawn, uncancellable};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The page on futures that snooze.
#[cfg(doctest)]
#[doc = include_str!("../../docs/snoozing.md")]
struct Snoozing;
