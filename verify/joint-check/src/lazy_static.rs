//! Statics that are made at their first use, once in each execution.

use core::{any::Any, marker::PhantomData, sync::atomic::Ordering};

use crate::run;

pub use crate::thread::AccessError;

/// The states of the word of a static. At first it is 0.
const BEING_MADE: u64 = 1;
const MADE: u64 = 2;

/// A static that is made at its first use. `lazy_static!` declares it.
pub struct Lazy<T> {
    #[doc(hidden)]
    pub init: fn() -> T,
    #[doc(hidden)]
    pub _p: PhantomData<fn(T)>,
}

joint_facade::shows_its_name! { Lazy<T> }

impl<T: 'static> Lazy<T> {
    /// Returns the value of this execution. The first thread makes it, and others wait.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        let key = core::ptr::from_ref(self).addr();
        let word = run::static_word(key);
        if word.load("lazy static", Ordering::Acquire) != MADE {
            let claim = |word, _: [u64; 2]| match word {
                BEING_MADE => None,
                state => Some(state.max(BEING_MADE)),
            };
            if word.wait("lazy static", 0, claim) != MADE {
                run::set_static(key, Box::new((self.init)()) as Box<dyn Any>);
                word.store("make a static", MADE, Ordering::Release);
            }
        }
        // SAFETY: the value is kept until all threads have ended.
        let value = unsafe { &*run::get_static(key) };
        value.downcast_ref().expect("the key is the value's")
    }
}

/// Declares statics that are made at their first use, with the syntax of the crate of that name.
#[macro_export]
macro_rules! lazy_static {
    () => {};
    ($(#[$attr:meta])* $vis:vis static ref $name:ident: $ty:ty = $init:expr; $($rest:tt)*) => {
        #[allow(non_camel_case_types, dead_code)]
        $(#[$attr])*
        $vis struct $name { _is: () }
        $vis static $name: $name = $name { _is: () };
        impl ::core::ops::Deref for $name {
            type Target = $ty;
            fn deref(&self) -> &$ty {
                static LAZY: $crate::lazy_static::Lazy<$ty> = $crate::lazy_static::Lazy {
                    init: || $init,
                    _p: ::core::marker::PhantomData,
                };
                LAZY.get()
            }
        }
        $crate::lazy_static! { $($rest)* }
    };
}
