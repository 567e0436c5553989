//! The locks of a model. They are never poisoned, because a model fails where a thread panics.

use core::{
    cell::UnsafeCell,
    fmt,
    panic::{RefUnwindSafe, UnwindSafe},
    time::Duration,
};
use real::sync::{LockResult, TryLockError, TryLockResult};

use joint_check::{
    __facade::{guard, made_by_new, of_a_value, shows_its_name, wait_while},
    sync as checked,
};

use crate::{clock::pass, slot::Slot};

pub use checked::WaitTimeoutResult;

/// A lock, its methods and their guards.
macro_rules! lock {
    ($name:ident: $($Guard:ident $Checked:ident $wait:ident $try:ident),+) => {
        pub struct $name<T: ?Sized> {
            slot: Slot<checked::$name<()>>,
            value: UnsafeCell<T>,
        }

        // SAFETY: as std's.
        unsafe impl<T: ?Sized + Send> Send for $name<T> {}
        impl<T: ?Sized> UnwindSafe for $name<T> {}
        impl<T: ?Sized> RefUnwindSafe for $name<T> {}

        impl<T> $name<T> {
            #[track_caller]
            pub const fn new(value: T) -> Self {
                let slot = Slot::new(());
                let value = UnsafeCell::new(value);
                Self { slot, value }
            }

            pub fn into_inner(self) -> LockResult<T> {
                Ok(self.value.into_inner())
            }
        }

        impl<T: ?Sized> $name<T> {
            #[track_caller]
            fn model(&self) -> &checked::$name<()> {
                let start = self.value.get().cast::<()>().addr();
                self.slot.get(Some((start, size_of_val(&self.value))))
            }

            $(
                #[track_caller]
                pub fn $wait(&self) -> LockResult<$Guard<'_, T>> {
                    let held = self.model().$wait().ok();
                    Ok($Guard { lock: self, held })
                }

                #[track_caller]
                pub fn $try(&self) -> TryLockResult<$Guard<'_, T>> {
                    let held = self.model().$try();
                    let held = held.map_err(|_| TryLockError::WouldBlock)?;
                    Ok($Guard { lock: self, held: Some(held) })
                }
            )+

            pub fn get_mut(&mut self) -> LockResult<&mut T> {
                Ok(self.value.get_mut())
            }

            /// Returns false.
            pub fn is_poisoned(&self) -> bool {
                false
            }

            /// Does nothing.
            pub fn clear_poison(&self) {}
        }

        of_a_value! { $name }
        shows_its_name! { $name<?T> }

        $(
            /// Holds the lock.
            pub struct $Guard<'a, T: ?Sized> {
                lock: &'a $name<T>,
                held: Option<checked::$Checked<'a, ()>>,
            }

            // SAFETY: as std's.
            unsafe impl<T: ?Sized + Sync> Sync for $Guard<'_, T> {}

            impl<T: ?Sized + fmt::Debug> fmt::Debug for $Guard<'_, T> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    (**self).fmt(f)
                }
            }
        )+
    };
}

lock! { Mutex: MutexGuard MutexGuard lock try_lock }
lock! {
    RwLock: RwLockReadGuard RwLockReadGuard read try_read,
    RwLockWriteGuard RwLockWriteGuard write try_write
}

// SAFETY: as std's.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
// SAFETY: as std's.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

guard! { mut MutexGuard }
guard! { RwLockReadGuard }
guard! { mut RwLockWriteGuard }

/// The condition variable of a model.
pub struct Condvar(Slot<checked::Condvar>);

impl Condvar {
    #[track_caller]
    pub const fn new() -> Self {
        Self(Slot::new(()))
    }

    #[track_caller]
    pub fn wait<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
    ) -> LockResult<MutexGuard<'a, T>> {
        self.wait_with(&mut guard);
        Ok(guard)
    }

    #[track_caller]
    pub(crate) fn wait_with<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        if let Some(held) = guard.held.take() {
            guard.held = self.0.get(None).wait(held).ok();
        }
    }

    /// Waits, or gives up at once. Both are tried, and the time counts as passed.
    ///
    /// # Errors
    /// Never.
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        time: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let result = self.wait_with_timeout(&mut guard, time);
        Ok((guard, result))
    }

    #[track_caller]
    pub(crate) fn wait_with_timeout<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        time: Duration,
    ) -> WaitTimeoutResult {
        let held = guard.held.take().expect("a guard holds its lock");
        let Ok((held, result)) = self.0.get(None).wait_timeout(held, time) else {
            unreachable!("it is never poisoned");
        };
        if result.timed_out() {
            pass(time);
        }
        guard.held = Some(held);
        result
    }

    /// As in std, with [`wait_timeout`](Self::wait_timeout).
    ///
    /// # Errors
    /// Never.
    #[track_caller]
    pub fn wait_timeout_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        time: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        loop {
            let (held, result) = self.wait_timeout(guard, time)?;
            guard = held;
            if result.timed_out() || !condition(&mut guard) {
                return Ok((guard, result));
            }
        }
    }

    #[track_caller]
    pub fn notify_one(&self) {
        self.0.get(None).notify_one();
    }

    #[track_caller]
    pub fn notify_all(&self) {
        self.0.get(None).notify_all();
    }
}

made_by_new! { Condvar }
shows_its_name! { Condvar }
wait_while! { Condvar: MutexGuard, T: ?Sized }
