//! Implementations that several types share.

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
