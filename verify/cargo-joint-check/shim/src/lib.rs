//! std with the types of a model in the place of those that threads share. A turned crate sees this
//! crate under the names `std`, `core` and `alloc`, so its source says what it always said.
//!
//! Whatever is not declared here is std's own. Whatever has no comment does what it does in std.
#![feature(
    coerce_unsized,
    const_eval_select,
    core_intrinsics,
    dispatch_from_dyn,
    dropck_eyepatch,
    legacy_receiver_trait,
    panic_can_unwind,
    unsize
)]
#![allow(internal_features)]

extern crate std as real;

#[doc(hidden)]
pub use joint_check as __joint_check;
pub use real::*;

mod arc;
mod atomic;
mod channel;
mod clock;
mod local;
mod lock;
mod memory;
mod model;
mod once;
mod slot;
mod spins;
mod threads;
mod wake;

pub mod cell;
pub mod joint;
#[doc(hidden)]
pub mod parking;

pub mod hint {
    //! [`std::hint`].
    pub use crate::spins::spin_loop;
    pub use real::hint::*;
}

pub mod prelude {
    //! The preludes, with this crate's `thread_local!`.
    macro_rules! preludes {
        ($($name:ident)+) => {$(
            #[allow(missing_docs)]
            pub mod $name {
                pub use crate::thread_local;
                pub use real::prelude::$name::*;
            }
        )+};
    }
    preludes! { v1 rust_2015 rust_2018 rust_2021 rust_2024 }
}

pub mod sync {
    //! [`std::sync`].
    pub use crate::{
        arc::{Arc, Weak},
        lock::{
            Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
            WaitTimeoutResult,
        },
        once::{LazyLock, Once, OnceLock, OnceState},
    };
    pub use joint_check::sync::{Barrier, BarrierWaitResult};
    pub use real::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

    pub mod atomic {
        //! [`std::sync::atomic`].
        pub use crate::atomic::*;
        pub use joint_check::sync::atomic::fence;
        pub use real::sync::atomic::{Ordering, compiler_fence};

        /// The old name of [`spin_loop`](crate::hint::spin_loop).
        #[track_caller]
        pub fn spin_loop_hint() {
            crate::hint::spin_loop();
        }
    }

    pub mod mpsc {
        //! [`std::sync::mpsc`].
        pub use crate::channel::{Receiver, Sender, SyncSender, channel, sync_channel};
        pub use real::sync::mpsc::{
            RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError,
        };
    }
}

pub mod task {
    //! [`std::task`].
    pub use crate::wake::Wake;
    pub use real::task::*;
}

pub mod thread {
    //! [`std::thread`].
    pub use crate::{local::LocalKey, threads::*};
    pub use real::thread::{AccessError, Result, panicking};
}

pub mod time {
    //! [`std::time`], in which time passes only where a thread waits for it.
    pub use crate::clock::Instant;
    pub use real::time::*;
}
