//! Threads, which are coroutines here, and their locals.

use core::{any::Any, cell::RefCell, fmt, sync::atomic::Ordering};
use std::{io, rc::Rc};

use crate::{
    graph::Op,
    run::{self, Request, perform},
    sync::atomic::access,
};

/// The identity of a thread.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ThreadId(u8);

/// A handle of a thread.
#[derive(Clone, Debug)]
pub struct Thread(ThreadId);

impl Thread {
    /// Returns its identity.
    pub fn id(&self) -> ThreadId {
        self.0
    }

    /// Returns nothing: threads have no names.
    pub fn name(&self) -> Option<&str> {
        None
    }

    /// Lets the thread's next or current `park` return.
    pub fn unpark(&self) {
        let op = Op::Modify {
            with: |_, new| new,
            operand: 1,
        };
        access(
            run::token(self.0.0),
            op,
            Ordering::Release,
            Ordering::Relaxed,
        );
    }
}

/// Returns the handle of the running thread.
pub fn current() -> Thread {
    Thread(ThreadId(run::current()))
}

/// Waits for `unpark`.
pub fn park() {
    let op = Op::CompareExchange {
        current: 1,
        new: 0,
        awaits: true,
    };
    access(
        run::token(run::current()),
        op,
        Ordering::Acquire,
        Ordering::Relaxed,
    );
}

/// Looks again. A thread that reads the same as the last time, and has written nothing, waits for a
/// write.
pub fn yield_now() {
    perform(Request::Again);
}

/// A handle with which to wait for the end of a thread.
pub struct JoinHandle<T> {
    result: Rc<RefCell<Option<T>>>,
    thread: Thread,
}

// SAFETY: all threads of a model are coroutines of one thread of the system.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: as for `Send`.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JoinHandle").field(&self.thread).finish()
    }
}

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread.
    ///
    /// # Errors
    /// Never: a model fails where a thread panics.
    ///
    /// # Panics
    /// Never.
    pub fn join(self) -> std::thread::Result<T> {
        perform(Request::Join(self.thread.0.0));
        Ok(self
            .result
            .take()
            .expect("a thread that has ended has a result"))
    }

    /// Returns the handle of the thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
}

/// Starts a thread.
pub fn spawn<T: 'static>(f: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    let result = Rc::new(RefCell::new(None));
    let ours = result.clone();
    let thread = run::spawn(move || {
        let value = f();
        ours.replace(Some(value));
    });
    JoinHandle {
        result,
        thread: Thread(ThreadId(thread)),
    }
}

/// Starts threads.
#[derive(Debug, Default)]
pub struct Builder(());

impl Builder {
    /// Creates a builder.
    pub fn new() -> Self {
        Self(())
    }

    /// Names the thread, which has no effect.
    #[must_use]
    pub fn name(self, _: String) -> Self {
        self
    }

    /// Sets the size of the stack, which has no effect.
    #[must_use]
    pub fn stack_size(self, _: usize) -> Self {
        self
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// Never.
    pub fn spawn<T: 'static>(self, f: impl FnOnce() -> T + 'static) -> io::Result<JoinHandle<T>> {
        Ok(spawn(f))
    }
}

/// A thread-local that its thread has dropped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AccessError;

/// A thread-local.
pub struct LocalKey<T> {
    #[doc(hidden)]
    pub init: fn() -> T,
}

impl<T> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalKey")
    }
}

impl<T: 'static> LocalKey<T> {
    /// Calls `f` with this thread's value.
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        let key = core::ptr::from_ref(self).addr();
        let value = run::local(key, || Box::new((self.init)()) as Box<dyn Any>);
        // SAFETY: the value lives until the end of its thread, which runs this.
        let value = unsafe { &*value };
        f(value.downcast_ref().expect("the key is the value's"))
    }

    /// Calls `f` with this thread's value.
    ///
    /// # Errors
    /// Outside of a model.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        if run::is_running() {
            Ok(self.with(f))
        } else {
            Err(AccessError)
        }
    }
}

/// Declares thread-locals of a model, with the syntax of std's.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $ty:ty = const { $init:expr }; $($rest:tt)*) => {
        $crate::thread_local! { $(#[$attr])* $vis static $name: $ty = $init; $($rest)* }
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $ty:ty = $init:expr; $($rest:tt)*) => {
        $(#[$attr])* $vis static $name: $crate::thread::LocalKey<$ty> =
            $crate::thread::LocalKey { init: || $init };
        $crate::thread_local! { $($rest)* }
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $ty:ty = $init:expr) => {
        $crate::thread_local! { $(#[$attr])* $vis static $name: $ty = $init; }
    };
}
