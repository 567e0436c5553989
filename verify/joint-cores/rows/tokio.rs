// Takes the place of `src/loom/std/mod.rs` in a copy of tokio: the types of joint-cores for std's.

pub(crate) use ::loom::{cell, hint, thread};

pub(crate) mod future {
    pub(crate) use crate::sync::AtomicWaker;
}

pub(crate) mod rand {
    pub(crate) use ::loom::seed;
}

pub(crate) mod sync {
    pub(crate) use ::loom::sync::{
        Arc, Condvar, MutexGuard, RwLock, RwLockReadGuard, WaitTimeoutResult, Weak,
    };

    /// tokio's own lock, whose `lock` returns no result.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T: ?Sized>(::loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(::loom::sync::Mutex::new(value))
        }

        pub(crate) const fn const_new(value: T) -> Self {
            Self::new(value)
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }

    pub(crate) mod atomic {
        pub(crate) use ::loom::sync::atomic::*;
        pub(crate) type StaticAtomicU64 = AtomicU64;
    }
}

pub(crate) mod sys {
    pub(crate) fn num_cpus() -> usize {
        1
    }
}
