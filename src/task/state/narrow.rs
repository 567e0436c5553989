//! The integer of the state word, of 32 bits. See `word.rs`.

pub(super) use joint_switch::AtomicU32 as AtomicWord;
pub(super) type Word = u32;

pub(super) const WAKES_AT: u32 = 18;
pub(super) const REF_LIMIT: Word = 1 << 13;
pub(super) const WAKE_LIMIT: Word = 1 << 12;
