//! Implementations that several types share.

/// `Default` for a type, by `new` with these arguments.
macro_rules! default {
    ($name:ident $arguments:tt) => {
        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                Self::new $arguments
            }
        }
    };
}

/// The functions of a lock that need no operation of the model.
macro_rules! lock {
    ($name:ident) => {
        impl<T> $name<T> {
            /// Creates a lock.
            #[track_caller]
            pub fn new(value: T) -> Self {
                Self {
                    word: OwnedWord::new(stringify!($name), 0),
                    poison: Poison::default(),
                    value: UnsafeCell::new(value),
                }
            }

            /// Returns the value.
            ///
            /// # Errors
            /// If the lock is poisoned. The error has the value.
            pub fn into_inner(self) -> LockResult<T> {
                self.poison.result(self.value.into_inner())
            }
        }

        impl<T: ?Sized> $name<T> {
            /// Returns the value through an exclusive reference.
            ///
            /// # Errors
            /// If the lock is poisoned. The error has the reference.
            pub fn get_mut(&mut self) -> LockResult<&mut T> {
                self.poison.result(self.value.get_mut())
            }

            /// Returns whether a thread has panicked while it held the lock.
            pub fn is_poisoned(&self) -> bool {
                self.poison.is_set()
            }

            /// Makes the lock one that is not poisoned.
            pub fn clear_poison(&self) {
                self.poison.clear();
            }
        }

        joint_facade::of_a_value! { $name }
    };
}

/// `Deref` for a guard of a lock.
macro_rules! guard {
    ($name:ident) => {
        impl<T: ?Sized> Deref for $name<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                // SAFETY: the lock is held.
                unsafe { &*self.lock.value.get() }
            }
        }
    };
}

/// `Deref` and `DerefMut` for a guard of a lock that nobody else holds.
macro_rules! only_guard {
    ($name:ident) => {
        guard! { $name }

        impl<T: ?Sized> DerefMut for $name<'_, T> {
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY: nobody else holds the lock.
                unsafe { &mut *self.lock.value.get() }
            }
        }
    };
}

/// `Debug` for a type whose value cannot be read without an operation of the model: its name.
macro_rules! shows_its_name {
    ($name:ident) => {
        impl<T> core::fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    };
}
