//! The waits, through the public interface: the word and its two sides, the channel
//! for one value, the value for many waiters, and how a thread waits.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/counting.rs"]
mod counting;

mod completion;
mod family;
mod oneshot;
mod oneshot_alloc;
mod park;
mod shared;
mod shared_alloc;
