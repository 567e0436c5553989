//! Statics that are made at their first use, once in each execution.

use core::{any::Any, marker::PhantomData, sync::atomic::Ordering};
use std::sync::{Mutex, PoisonError};

use crate::run::{self, STATICS};

pub use crate::thread::AccessError;

/// The addresses of all that were used so far. Each has two bits of the word: not made, being made,
/// made.
static KNOWN: Mutex<Vec<usize>> = Mutex::new(Vec::new());
const MADE: u64 = 2;

/// A static that is made at its first use. `lazy_static!` declares it.
pub struct Lazy<T> {
    #[doc(hidden)]
    pub init: fn() -> T,
    #[doc(hidden)]
    pub _p: PhantomData<fn(T)>,
}

shows_its_name! { Lazy }

fn state(word: u64, shift: u64) -> u64 {
    word >> shift & 3
}

impl<T: 'static> Lazy<T> {
    /// Returns the value of this execution. The first thread makes it, and others wait.
    ///
    /// # Panics
    /// If a program has more than 32.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        let key = core::ptr::from_ref(self).addr();
        let shift = 2 * number(key);
        if state(STATICS.load("lazy static", Ordering::Acquire), shift) != MADE {
            let claim = |word, [shift, _]: [u64; 2]| match state(word, shift) {
                0 => Some(word + (1 << shift)),
                MADE => Some(word),
                _ => None,
            };
            let before = STATICS.wait("lazy static", shift, claim);
            if state(before, shift) == 0 {
                run::set_static(key, Box::new((self.init)()) as Box<dyn Any>);
                let made = |word, [shift, _]: [u64; 2]| Some(word + (1 << shift));
                STATICS.update("make a static", shift, Ordering::Release, made);
            }
        }
        // SAFETY: the value is kept until the process ends.
        let value = unsafe { &*run::get_static(key) };
        value.downcast_ref().expect("the key is the value's")
    }
}

fn number(key: usize) -> u64 {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let number = known.iter().position(|&other| other == key);
    let number = number.unwrap_or_else(|| {
        known.push(key);
        known.len() - 1
    });
    assert!(number < 32, "a program has at most 32 lazy statics");
    number as u64
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
