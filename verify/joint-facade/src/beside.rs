//! What types beside the atomics have in common, as macros: they are at the root of this package.

/// `Default` and `From` for a type that is made of one value.
#[macro_export]
macro_rules! of_a_value {
    ($name:ident) => {
        impl<T: Default> Default for $name<T> {
            #[track_caller]
            fn default() -> Self {
                Self::new(T::default())
            }
        }

        impl<T> From<T> for $name<T> {
            #[track_caller]
            fn from(value: T) -> Self {
                Self::new(value)
            }
        }
    };
}

/// `Default` for a type, by its `new` without arguments.
#[macro_export]
macro_rules! made_by_new {
    ($name:ident $(<$t:ident>)?) => {
        impl $(<$t>)? Default for $name $(<$t>)? {
            #[track_caller]
            fn default() -> Self {
                Self::new()
            }
        }
    };
}

/// `Debug` for a type whose value cannot be read without an operation of the model: its name. `?`
/// is before the parameter of a type that may be unsized.
#[macro_export]
macro_rules! shows_its_name {
    ($name:ident<?$t:ident>) => {
        $crate::shows_its_name! { @ $name [<$t: ?Sized>] <$t> }
    };
    ($name:ident $(<$($t:ident),+>)?) => {
        $crate::shows_its_name! { @ $name [$(<$($t),+>)?] $(<$($t),+>)? }
    };
    (@ $name:ident [$($parameters:tt)*] $($arguments:tt)*) => {
        impl $($parameters)* ::core::fmt::Debug for $name $($arguments)* {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    };
}

/// `Deref` for a guard whose `lock` has its value in an `UnsafeCell`, and `DerefMut` if nobody else
/// can hold the lock.
#[macro_export]
macro_rules! guard {
    ($name:ident) => {
        impl<T: ?Sized> ::core::ops::Deref for $name<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                // SAFETY: the lock is held.
                unsafe { &*self.lock.value.get() }
            }
        }
    };
    (mut $name:ident) => {
        $crate::guard! { $name }

        impl<T: ?Sized> ::core::ops::DerefMut for $name<'_, T> {
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY: nobody else holds the lock.
                unsafe { &mut *self.lock.value.get() }
            }
        }
    };
}

/// What std's `Arc` and `Weak` do by their `new`, `from_raw`, `clone`, `deref` and drop.
#[macro_export]
macro_rules! arc {
    ($arc:ident $weak:ident) => {
        impl<T> $arc<T> {
            /// Creates a value with one handle that is pinned.
            #[track_caller]
            pub fn pin(value: T) -> ::core::pin::Pin<Self> {
                // SAFETY: the value stays where it is until the last handle is dropped.
                unsafe { ::core::pin::Pin::new_unchecked(Self::new(value)) }
            }
        }

        impl<T: ?Sized> $arc<T> {
            /// Adds a handle to the pointer of [`into_raw`](Self::into_raw).
            ///
            /// # Safety
            /// The pointer came from there, and a handle exists.
            #[track_caller]
            pub unsafe fn increment_strong_count(pointer: *const T) {
                // SAFETY: as the caller says.
                let this = ::core::mem::ManuallyDrop::new(unsafe { Self::from_raw(pointer) });
                _ = ::core::mem::ManuallyDrop::new(Self::clone(&this));
            }

            /// Drops a handle of the pointer of [`into_raw`](Self::into_raw).
            ///
            /// # Safety
            /// The pointer came from there, and its count is not given up again.
            #[track_caller]
            pub unsafe fn decrement_strong_count(pointer: *const T) {
                // SAFETY: as the caller says.
                drop(unsafe { Self::from_raw(pointer) });
            }
        }

        impl<T: ?Sized> AsRef<T> for $arc<T> {
            fn as_ref(&self) -> &T {
                self
            }
        }

        impl<T: ?Sized + ::core::fmt::Debug> ::core::fmt::Debug for $arc<T> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized> ::core::fmt::Debug for $weak<T> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str("(Weak)")
            }
        }

        $crate::of_a_value! { $arc }
        $crate::made_by_new! { $weak<T> }
    };
}

/// `wait_while` of a condition variable, by its `wait`.
#[macro_export]
macro_rules! wait_while {
    ($condvar:ident: $guard:ident, $t:ident $(: $bound:tt $sized:ident)?) => {
        impl $condvar {
            /// Waits while the condition holds.
            #[track_caller]
            pub fn wait_while<'a, $t $(: $bound $sized)?>(
                &self,
                mut guard: $guard<'a, $t>,
                mut condition: impl FnMut(&mut $t) -> bool,
            ) -> ::std::sync::LockResult<$guard<'a, $t>> {
                while condition(&mut guard) {
                    guard = self.wait(guard)?;
                }
                Ok(guard)
            }
        }
    };
}
