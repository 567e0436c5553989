//! What is done or made once in an execution.

use core::{cell::UnsafeCell, mem, ops::Deref};
use real::sync::atomic::Ordering::{Acquire, Release};

use joint_check::__facade::{made_by_new, shows_its_name};

use crate::{atomic::AtomicBool, lock::Mutex};

/// [`std::sync::Once`]. It is never poisoned.
#[derive(Debug)]
pub struct Once {
    is_done: AtomicBool,
    lock: Mutex<()>,
}

#[derive(Debug)]
pub struct OnceState(());

impl OnceState {
    /// Returns false.
    pub fn is_poisoned(&self) -> bool {
        false
    }
}

impl Once {
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            is_done: AtomicBool::new(false),
            lock: Mutex::new(()),
        }
    }

    #[track_caller]
    pub fn call_once(&self, f: impl FnOnce()) {
        self.call_once_force(|_| f());
    }

    #[track_caller]
    pub fn call_once_force(&self, f: impl FnOnce(&OnceState)) {
        if self.is_done.load(Acquire) {
            return;
        }
        let _held = self.lock.lock();
        if !self.is_done.load(Acquire) {
            f(&OnceState(()));
            self.is_done.store(true, Release);
        }
    }

    #[track_caller]
    pub fn is_completed(&self) -> bool {
        self.is_done.load(Acquire)
    }
}

pub struct OnceLock<T> {
    once: Once,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: as std's.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}

impl<T> OnceLock<T> {
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            once: Once::new(),
            value: UnsafeCell::new(None),
        }
    }

    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: nobody writes to it any more.
        let value = self
            .once
            .is_completed()
            .then(|| unsafe { &*self.value.get() });
        value.and_then(Option::as_ref)
    }

    #[track_caller]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        match self.once.is_completed() {
            true => self.value.get_mut().as_mut(),
            false => None,
        }
    }

    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("it is taken once"));
        value.map_or(Ok(()), Err)
    }

    #[track_caller]
    pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        self.once.call_once(|| {
            let value = Some(f());
            // A static has the value of the last execution.
            // SAFETY: the lock is held.
            mem::forget(unsafe { (*self.value.get()).take() });
            // SAFETY: the lock is held.
            unsafe { *self.value.get() = value };
        });
        self.get().expect("it was set")
    }

    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    pub fn take(&mut self) -> Option<T> {
        let value = match self.once.is_completed() {
            true => self.value.get_mut().take(),
            false => None,
        };
        self.once = Once::new();
        value
    }
}

made_by_new! { OnceLock<T> }
shows_its_name! { OnceLock<T> }

impl<T: Clone> Clone for OnceLock<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.get().cloned().map_or_else(Self::new, Self::from)
    }
}

impl<T> From<T> for OnceLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        let this = Self::new();
        _ = this.set(value);
        this
    }
}

/// [`std::sync::LazyLock`], of a function that can be called again.
pub struct LazyLock<T, F = fn() -> T> {
    value: OnceLock<T>,
    init: F,
}

impl<T, F: Fn() -> T> LazyLock<T, F> {
    #[track_caller]
    pub const fn new(init: F) -> Self {
        Self {
            value: OnceLock::new(),
            init,
        }
    }

    #[track_caller]
    pub fn force(this: &Self) -> &T {
        this.value.get_or_init(&this.init)
    }
}

impl<T, F: Fn() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        Self::force(self)
    }
}

shows_its_name! { LazyLock<T, F> }
