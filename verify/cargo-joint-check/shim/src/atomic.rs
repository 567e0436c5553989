//! The atomics of a model.

use core::{marker::PhantomData, mem::ManuallyDrop, panic::RefUnwindSafe, ptr};
use real::sync::atomic::Ordering;

use joint_check::{
    __facade::{atomics, shows_its_name},
    sync::atomic as checked,
};

use crate::{
    memory::later,
    slot::{Model, Slot},
    spins::{looks, wrote},
};

/// The bodies of the atomics: the model's operation.
macro_rules! modelled {
    (type AtomicPtr [$t:ident] $value:ty) => {
        modelled! { @type AtomicPtr [$t] $value, checked::AtomicPtr<()>, *mut () }
    };
    (type $name:ident [] $value:ty) => {
        modelled! { @type $name [] $value, checked::$name, $value }
    };
    (@type $name:ident [$($t:ident)?] $value:ty, $model:ty, $stored:ty) => {
        pub struct $name $(<$t>)? (Slot<$model>, PhantomData<$value>);

        impl $(<$t>)? $name $(<$t>)? {
            /// As in std. What is written through the reference is known to the model from this
            /// thread's next operation on.
            #[track_caller]
            pub fn get_mut(&mut self) -> &mut $value {
                let mut value = self.0.value();
                if let Some(model) = self.0.used() {
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

        shows_its_name! { $name $(<$t>)? }

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
    (new $name:ident $value:ident) => {
        Self(Slot::new($value as _), PhantomData)
    };
    (load $it:ident $order:ident) => {{
        let model = $it.0.get(None);
        looks();
        model.load($order) as _
    }};
    (store $it:ident $value:ident $order:ident) => {{
        let model = $it.0.get(None);
        wrote();
        model.store($value as _, $order);
    }};
    (modify $it:ident $value:ty, $method:ident ($next:expr) $operand:ident $order:ident) => {{
        let model = $it.0.get(None);
        wrote();
        model.$method($operand as _, $order) as _
    }};
    (exchange $it:ident compare_and_swap $values:tt $success:ident $failure:ident) => {
        modelled! { exchange $it compare_exchange $values $success $failure }
    };
    (exchange $it:ident $method:ident [$current:ident, $new:ident] $success:ident $failure:ident) => {{
        let model = $it.0.get(None);
        looks();
        let result = model.$method($current as _, $new as _, $success, $failure);
        if result.is_ok() {
            wrote();
        }
        result.map(|value| value as _).map_err(|value| value as _)
    }};
    (with_mut $it:ident $f:ident) => {
        $f($it.get_mut())
    };
    (update $it:ident $f:ident $set:ident $fetch:ident) => {
        joint_check::__facade::update!($it, $f, $set, $fetch)
    };
}

/// The atomic, for an exclusive access. It has no state but its name in the model.
fn exclusive<T>(atomic: &T) -> ManuallyDrop<T> {
    // SAFETY: the copy is not dropped.
    ManuallyDrop::new(unsafe { ptr::read(atomic) })
}

atomics! { modelled [const] }
atomics! {
    modelled [const]:
    AtomicI8 i8, AtomicI16 i16, AtomicI32 i32, AtomicI64 i64, AtomicIsize isize,
    AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize
}

impl AtomicBool {
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}
