//! loom's atomics, each of whose operations asks [`change`] what to do.

use core::{
    fmt,
    sync::atomic::{
        self as real,
        Ordering::{self, Relaxed},
    },
};

use loom::sync::atomic as model;

use crate::{named::Halves, place::Change};

#[track_caller]
fn change(operation: &'static str, order: Ordering, failure: Option<Ordering>) -> Option<Change> {
    crate::request::change([operation, ""], [Some(order), failure])
}

/// Makes a fence, or none if this process deletes it.
#[track_caller]
pub fn fence(order: Ordering) {
    match change("fence", order, None) {
        Some(Change::Order(Relaxed)) => {}
        Some(Change::Order(weaker)) => model::fence(weaker),
        _ => model::fence(order),
    }
}

/// The bodies of the atomics: loom's operation, or what it is changed to.
macro_rules! changed {
    (type $name:ident [$($t:ident)?] $value:ty) => {
        #[doc = concat!("loom's `", stringify!($name), "`, whose operations can be changed.")]
        pub struct $name $(<$t>)? {
            model: model::$name $(<$t>)?,
            /// What a blind load returns.
            initial: real::$name $(<$t>)?,
        }

        impl $(<$t>)? $name $(<$t>)? {
            /// The load of a read-modify-write, and the store unless it is deleted.
            #[track_caller]
            fn in_parts(
                &self,
                halves: Halves,
                next: impl FnOnce($value) -> Option<$value>,
            ) -> $value {
                let before = self.model.load(halves.load);
                if let (Some(next), Some(order)) = (next(before), halves.store) {
                    self.model.store(next, order);
                }
                before
            }

            /// Loads the value without synchronization, as loom's atomics do.
            ///
            /// # Safety
            /// No other thread accesses the atomic at the same time.
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $value {
                // SAFETY: as the caller promises.
                unsafe { self.model.unsync_load() }
            }

            /// Returns the value.
            #[track_caller]
            pub fn into_inner(self) -> $value {
                self.model.into_inner()
            }
        }

        impl $(<$t>)? fmt::Debug for $name $(<$t>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.model.fmt(f)
            }
        }
    };
    (new $name:ident $value:ident) => {
        Self {
            model: model::$name::new($value),
            initial: real::$name::new($value),
        }
    };
    (load $it:ident $order:ident) => {
        match change("load", $order, None) {
            Some(Change::Order(weaker)) => $it.model.load(weaker),
            Some(Change::Blind) => {
                // It is one of loom's steps, so a loop of loads is seen to have no end.
                $it.model.load(Relaxed);
                $it.initial.load(Relaxed)
            }
            _ => $it.model.load($order),
        }
    };
    (store $it:ident $value:ident $order:ident) => {
        match change("store", $order, None) {
            Some(Change::Order(weaker)) => $it.model.store($value, weaker),
            Some(Change::Deleted) => {}
            _ => $it.model.store($value, $order),
        }
    };
    (modify $it:ident $value:ty, $method:ident ($next:expr) $operand:ident $order:ident) => {
        match change(stringify!($method), $order, None) {
            None => $it.model.$method($operand, $order),
            Some(Change::Order(weaker)) => $it.model.$method($operand, weaker),
            Some(change) => {
                let next: fn($value, $value) -> $value = $next;
                let next = |before| Some(next(before, $operand));
                $it.in_parts(Halves::of(change, $order, $order), next)
            }
        }
    };
    (exchange $it:ident $method:ident [$current:ident, $new:ident] $success:ident $failure:ident) => {
        match change(stringify!($method), $success, Some($failure)) {
            None => $it.model.compare_exchange($current, $new, $success, $failure),
            Some(Change::Order(weaker)) => {
                $it.model.compare_exchange($current, $new, weaker, $failure)
            }
            Some(Change::Failure(weaker)) => {
                $it.model.compare_exchange($current, $new, $success, weaker)
            }
            Some(Change::Blind) => Err($it.model.load($failure)),
            Some(change) => {
                let next = |before| (before == $current).then_some($new);
                let before = $it.in_parts(Halves::of(change, $success, $failure), next);
                if before == $current { Ok(before) } else { Err(before) }
            }
        }
    };
    (with_mut $it:ident $f:ident) => {
        $it.model.with_mut($f)
    };
    // One place, not the loads and exchanges that it makes.
    (update $it:ident $f:ident $set:ident $fetch:ident) => {{
        let (set, fetch) = match change("fetch_update", $set, Some($fetch)) {
            None => ($set, $fetch),
            Some(Change::Order(weaker)) => (weaker, $fetch),
            Some(Change::Failure(weaker)) => ($set, weaker),
            Some(change) => {
                let mut is_some = false;
                let before = $it.in_parts(Halves::of(change, $set, $fetch), |before| {
                    $f(before).inspect(|_| is_some = true)
                });
                return if is_some { Ok(before) } else { Err(before) };
            }
        };
        joint_facade::update!($it.model, $f, set, fetch)
    }};
}

joint_facade::atomics! {
    changed:
    AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicUsize usize,
    AtomicI8 i8, AtomicI16 i16, AtomicI32 i32, AtomicIsize isize,
}
#[cfg(target_pointer_width = "64")]
joint_facade::atomics! { changed: AtomicU64 u64, AtomicI64 i64 }
joint_facade::atomics! { changed }
