//! The waits, through the public interface: the word and its two sides, the channel for one value,
//! and how a thread waits.

mod completion;
mod family;
mod noted;
mod oneshot;
mod oneshot_alloc;
mod park;
