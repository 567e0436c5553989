//! The primitives of `std::sync`, with the functions that loom's have.

mod arc;
pub mod atomic;
mod barrier;
mod condvar;
mod handles;
pub mod mpsc;
mod mutex;
mod notify;
mod poison;
mod rwlock;

pub use self::{
    arc::{Arc, Weak},
    barrier::{Barrier, BarrierWaitResult},
    condvar::{Condvar, WaitTimeoutResult},
    mutex::{Mutex, MutexGuard},
    notify::Notify,
    rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard},
};
#[doc(no_inline)]
pub use std::sync::{LockResult, TryLockResult};
