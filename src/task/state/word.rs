//! The integer of the state word, of 64 bits. `narrow.rs` is in its place where the machine has no
//! atomics of 64 bits, and in a build with `--cfg joint_narrow`.

pub(super) use joint_switch::AtomicU64 as AtomicWord;
pub(super) type Word = u64;

/// The lowest bit of `WAKES`.
pub(super) const WAKES_AT: u32 = 32;

/// The number of wakers from which on one more ends the program: half of the counter's range, so
/// that it cannot overflow before the program has ended.
pub(super) const REF_LIMIT: Word = 1 << 27;

/// The number of unconsumed wake-ups from which on wakers take theirs back. Above the limit there
/// is room for one wake-up of each waker and of each thread.
pub(super) const WAKE_LIMIT: Word = 1 << 31;
