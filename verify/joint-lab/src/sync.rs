//! loom's atomics, fence, locks, condition variable, channel, `Notify` and `Arc`, recorded. The
//! functions are those of [`loom::sync`]. `Barrier` is loom's own, which panics.

mod arc;
pub mod atomic;
pub mod mpsc;
mod mutex;
mod notify;
mod rwlock;

pub use arc::Arc;
pub use loom::sync::Barrier;
pub use mutex::{Condvar, Mutex, MutexGuard, WaitTimeoutResult};
pub use notify::Notify;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
