//! loom's atomics, fence, locks, condition variable, channel, `Notify` and `Arc`, recorded. The
//! functions are those of [`loom::sync`]. `Barrier` is loom's own, which panics.

mod arc;
pub mod atomic;
mod condvar;
mod lock;
pub mod mpsc;
mod notify;

pub use arc::Arc;
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lock::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use loom::sync::Barrier;
pub use notify::Notify;
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
