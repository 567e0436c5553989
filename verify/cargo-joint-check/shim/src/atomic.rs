//! The atomics of a model.

use core::{fmt, marker::PhantomData, mem::ManuallyDrop, panic::RefUnwindSafe, ptr};
use real::sync::atomic::Ordering;

use joint_check::sync::atomic as checked;

use crate::{
    memory::{checker, later},
    slot::{Model, Slot},
    spins::{looks, wrote},
};

/// Methods with a value and an ordering.
macro_rules! modify {
    ($value:ty, $out:ty: $($method:ident)*) => {$(
        #[track_caller]
        pub fn $method(&self, value: $value, order: Ordering) -> $out {
            let model = self.0.get(None);
            let _side = checker();
            wrote();
            model.$method(value as _, order) as _
        }
    )*};
}

macro_rules! exchange {
    ($value:ty: $($method:ident)+) => {$(
        #[track_caller]
        pub fn $method(
            &self,
            current: $value,
            new: $value,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$value, $value> {
            let model = self.0.get(None);
            looks();
            let _side = checker();
            let result = model.$method(current as _, new as _, success, failure);
            if result.is_ok() {
                wrote();
            }
            result.map(|value| value as _).map_err(|value| value as _)
        }
    )+};
}

/// Declares an atomic: its name, its value, that of the model, and its methods.
macro_rules! atomic {
    ($name:ident [$($t:ident)?] $value:ty, $model:ty, $stored:ty: $($method:ident)*) => {
        pub struct $name $(<$t>)? (Slot<$model>, PhantomData<$value>);

        impl $(<$t>)? $name $(<$t>)? {
            #[track_caller]
            pub const fn new(value: $value) -> Self {
                Self(Slot::new(value as $stored), PhantomData)
            }

            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                let model = self.0.get(None);
                looks();
                let _side = checker();
                model.load(order) as _
            }

            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                let model = self.0.get(None);
                let _side = checker();
                wrote();
                model.store(value as _, order);
            }

            modify! { $value, $value: swap $($method)* }
            exchange! { $value: compare_exchange compare_exchange_weak }

            #[track_caller]
            pub fn compare_and_swap(&self, old: $value, new: $value, order: Ordering) -> $value {
                let model = self.0.get(None);
                let _side = checker();
                model.compare_and_swap(old as _, new as _, order) as _
            }

            #[track_caller]
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut before = self.load(fetch);
                while let Some(new) = f(before) {
                    match self.compare_exchange(before, new, set, fetch) {
                        Ok(before) => return Ok(before),
                        Err(other) => before = other,
                    }
                }
                Err(before)
            }

            /// As in std. What is written through the reference is known to the model from this
            /// thread's next operation on.
            #[track_caller]
            pub fn get_mut(&mut self) -> &mut $value {
                let mut value = self.0.value();
                if let Some(model) = self.0.used() {
                    let _side = checker();
                    value = exclusive(model).with_mut(|value| *value);
                }
                let value = self.0.own(value);
                let (value, before) = (ptr::from_mut(value), *value);
                later(Self::write_back, ptr::from_mut(self).addr(), <$model>::bits(before));
                // SAFETY: the value is part of `self`, which is borrowed as long.
                unsafe { &mut *value.cast() }
            }

            fn write_back(address: usize, before: u64) {
                // SAFETY: memory is kept until the execution ends, and the caller of `get_mut` owns
                // the atomic.
                let this = unsafe { &*(address as *const Self) };
                if let Some((model, value)) = this.0.made_with()
                    && <$model>::bits(value) != before
                {
                    exclusive(model).with_mut(|old| *old = value);
                }
            }

            #[track_caller]
            pub fn into_inner(mut self) -> $value {
                *self.get_mut()
            }
        }

        impl $(<$t>)? fmt::Debug for $name $(<$t>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }

        impl $(<$t>)? From<$value> for $name $(<$t>)? {
            #[track_caller]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        // SAFETY: as std's.
        unsafe impl $(<$t>)? Send for $name $(<$t>)? {}
        // SAFETY: as std's.
        unsafe impl $(<$t>)? Sync for $name $(<$t>)? {}
        impl $(<$t>)? RefUnwindSafe for $name $(<$t>)? {}

        impl Model for $model {
            type Init = $stored;
            const NAME: &'static str = stringify!($name);

            #[track_caller]
            fn make(value: $stored) -> Self {
                Self::new(value)
            }

            fn bits(value: $stored) -> u64 {
                value as u64
            }

            #[track_caller]
            fn end(&self) {
                exclusive(self).with_mut(|_| ());
            }
        }
    };
}

/// The atomic, for an exclusive access. It has no state but its name in the model.
fn exclusive<T>(atomic: &T) -> ManuallyDrop<T> {
    // SAFETY: the copy is not dropped.
    ManuallyDrop::new(unsafe { ptr::read(atomic) })
}

macro_rules! integers {
    ($($name:ident $value:ty),+) => {$(
        atomic! {
            $name [] $value, checked::$name, $value:
            fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min
        }

        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                Self::new(0)
            }
        }
    )+};
}

integers! {
    AtomicI8 i8, AtomicI16 i16, AtomicI32 i32, AtomicI64 i64, AtomicIsize isize,
    AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize
}
atomic! {
    AtomicBool [] bool, checked::AtomicBool, bool: fetch_and fetch_nand fetch_or fetch_xor
}
atomic! { AtomicPtr [T] *mut T, checked::AtomicPtr<()>, *mut (): }

impl Default for AtomicBool {
    #[track_caller]
    fn default() -> Self {
        Self::new(false)
    }
}

impl AtomicBool {
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(ptr::null_mut())
    }
}
