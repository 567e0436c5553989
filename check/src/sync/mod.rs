//! The atomics and the lock.

pub mod atomic;
mod mutex;

pub use self::mutex::{Mutex, MutexGuard};
pub use std::sync::{Arc, LockResult, TryLockResult};
