//! The waits, through the public interface: the word and its two sides, the channel for one value,
//! and how a thread waits.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/counting.rs"]
mod counting;

mod completion;
mod family;
mod noted;
mod oneshot;
mod oneshot_alloc;
mod park;
