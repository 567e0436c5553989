//! A module for each way to name a type of std. Each has a count that two threads can read at once,
//! so that an addition is lost: `add` reads and writes.

macro_rules! shape {
    ($name:ident: $new:expr, $load:expr, $store:expr; $($item:item)*) => {
        pub mod $name {
            $($item)*

            pub struct Count(Atomic);

            impl Count {
                pub fn new() -> Self {
                    Self($new)
                }

                pub fn get(&self) -> usize {
                    $load(&self.0)
                }

                pub fn add(&self) {
                    let before = self.get();
                    $store(&self.0, before + 1);
                }
            }
        }
    };
}

macro_rules! plain {
    ($name:ident: $($item:item)*) => {
        shape! {
            $name: Atomic::new(0), |it: &Atomic| it.load(Order::SeqCst),
            |it: &Atomic, value| it.store(value, Order::SeqCst);
            $($item)*
        }
    };
}

plain! {
    path:
    use std::sync::atomic::AtomicUsize as Atomic;
    use core::sync::atomic::Ordering as Order;
}
plain! {
    tree:
    use core::{sync::{atomic::{self, AtomicUsize as Atomic}}};
    use atomic::Ordering as Order;
}
plain! {
    glob:
    use std::sync::atomic::*;
    use AtomicUsize as Atomic;
    use Ordering as Order;
}
plain! {
    renamed_module:
    use std::sync::atomic as words;
    use words::{AtomicUsize as Atomic, Ordering as Order};
}
plain! {
    renamed_crate:
    extern crate core as real;
    use real::sync::atomic::{AtomicUsize as Atomic, Ordering as Order};
}
plain! {
    absolute:
    type Atomic = ::core::sync::atomic::AtomicUsize;
    type Order = ::std::sync::atomic::Ordering;
}
plain! {
    reexported:
    mod names {
        pub use std::sync::*;
    }
    use names::atomic::{AtomicUsize as Atomic, Ordering as Order};
}
plain! {
    by_macro:
    macro_rules! atomic {
        ($it:ident) => { std::sync::atomic::$it };
    }
    type Atomic = atomic!(AtomicUsize);
    type Order = atomic!(Ordering);
}
plain! {
    static_item:
    use core::sync::atomic::{AtomicUsize, Ordering as Order};
    static WORD: AtomicUsize = AtomicUsize::new(0);
    pub struct Atomic;
    impl Atomic {
        fn new(_: usize) -> Self {
            Self
        }
        fn load(&self, order: Order) -> usize {
            WORD.load(order)
        }
        fn store(&self, value: usize, order: Order) {
            WORD.store(value, order)
        }
    }
}
shape! {
    locked: Mutex::new(0), |it: &Atomic| *it.lock().unwrap(),
    |it: &Atomic, value| *it.lock().unwrap() = value;
    use std::sync::Mutex;
    type Atomic = Mutex<usize>;
}

/// Here the failure is a race.
pub mod cell {
    use alloc::sync::Arc;
    use core::cell::UnsafeCell;

    pub struct Count(Arc<UnsafeCell<usize>>);

    unsafe impl Sync for Count {}
    unsafe impl Send for Count {}

    impl Count {
        pub fn new() -> Self {
            Self(Arc::new(UnsafeCell::new(0)))
        }

        pub fn get(&self) -> usize {
            unsafe { *self.0.get() }
        }

        pub fn add(&self) {
            unsafe { *self.0.get() += 1 }
        }
    }
}
