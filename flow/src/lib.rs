//! FoundationDB's [Flow] vocabulary, in idiomatic Rust, on [`joint`]'s public API.
//!
//! [Flow]: https://apple.github.io/foundationdb/flow.html

mod all;
mod broken_promise;
pub mod choice;
pub mod collection;
pub mod generator;
mod group;
pub mod lock;
pub mod promise;
mod quorum;
mod race;
pub mod retry;
pub mod stream;
mod sync;
pub mod task;
pub mod time;
pub mod variable;
mod woken;

pub use all::{All, AllReady, TryAll, all, all_ready, try_all};
pub use broken_promise::BrokenPromise;
#[doc(inline)]
pub use collection::Collection;
pub use group::{Group, OneOf2, OneOf3, OneOf4, OneOf5, OneOf6, OneOf7, OneOf8, TryGroup, TryList};
pub use quorum::{Any, KeepLosers, Losers, Quorum, Strict, any, quorum};
pub use race::{Race, race};
#[doc(inline)]
pub use task::{Task, TaskError, spawn, uncancellable};
