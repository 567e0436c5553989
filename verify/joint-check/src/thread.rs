//! Threads, which are coroutines here, and their locals.

use core::{cell::RefCell, fmt, sync::atomic::Ordering, time::Duration};
use std::{io, rc::Rc, sync::Arc};

use crate::{
    graph::{Freely, Op, Others, Until},
    run::{self, Request, perform},
};

mod local;
mod scope;

#[doc(no_inline)]
pub use std::thread::panicking;

pub use self::{
    local::{AccessError, LocalKey},
    scope::{Scope, ScopedJoinHandle, scope},
};

/// The identity of a thread.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ThreadId(u8);

/// A handle of a thread.
#[derive(Clone, Debug)]
pub struct Thread {
    id: ThreadId,
    name: Option<Arc<str>>,
}

impl Thread {
    /// Returns its identity.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// Returns the name that [`Builder::name`] gave it.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Makes the thread's current or next `park` return.
    #[track_caller]
    pub fn unpark(&self) {
        let token = run::token(self.id.0);
        token.access("unpark", Op::swap(1), Ordering::Release, Ordering::Relaxed);
    }
}

/// Returns the handle of the running thread.
pub fn current() -> Thread {
    let id = number();
    Thread {
        id: ThreadId(id),
        name: run::name(id),
    }
}

/// Returns the number of the running thread, for the package that stands for std.
#[doc(hidden)]
pub fn number() -> u8 {
    run::current()
}

/// Waits for `unpark`. It returns for no reason if
/// [`Builder::spurious`](crate::model::Builder::spurious) allows that.
#[track_caller]
pub fn park() {
    take_token("park", true);
}

#[track_caller]
fn take_token(name: &'static str, awaits: bool) {
    let token = run::token(run::current());
    let op = Op::exchange(1, 0, awaits);
    let op = match awaits {
        true => op.or(Others::Spurious(Freely::Nothing)),
        false => op,
    };
    token.access(name, op, Ordering::Acquire, Ordering::Relaxed);
}

/// Waits for `unpark`, or gives up. Both are tried at each point, so the duration has no effect.
#[track_caller]
pub fn park_timeout(_: Duration) {
    yield_now();
    take_token("park_timeout", false);
}

/// Marks an iteration of a loop that waits. A thread whose iteration changed nothing blocks until
/// another thread writes.
#[track_caller]
pub fn yield_now() {
    let place = run::place();
    perform("yield_now", Request::Again { place });
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
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        perform("join", Request::Join(self.thread.id.0, Until::End));
        let result = self.result.take();
        Ok(result.expect("a model joins the same threads each time that it is run again"))
    }

    /// Returns the handle of the thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
}

/// Starts a thread.
#[track_caller]
pub fn spawn<T: 'static>(f: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    // SAFETY: the closure and its result live forever.
    unsafe { start(None, Until::End, f) }
}

/// Starts a thread, for whose end or whose closure's end others wait.
///
/// # Safety
/// The thread ends before what it borrows does, or nothing of the model runs after that.
#[track_caller]
unsafe fn start<'a, T: 'a>(
    name: Option<Arc<str>>,
    until: Until,
    f: impl FnOnce() -> T + 'a,
) -> JoinHandle<T> {
    let result = Rc::new(RefCell::new(None));
    let ours = result.clone();
    let body: Box<dyn FnOnce() + 'a> = Box::new(move || {
        let value = f();
        ours.replace(Some(value));
        if until == Until::Leave && run::has_locals() {
            perform("leave", Request::Leave);
        }
    });
    // SAFETY: as the caller says.
    let body = unsafe { core::mem::transmute::<Box<dyn FnOnce() + 'a>, Box<dyn FnOnce()>>(body) };
    let thread = run::spawn(name.clone(), body);
    let id = ThreadId(thread);
    JoinHandle {
        result,
        thread: Thread { id, name },
    }
}

/// Starts threads.
#[derive(Debug, Default)]
pub struct Builder(Option<Arc<str>>);

impl Builder {
    /// Creates a builder.
    pub fn new() -> Self {
        Self(None)
    }

    /// Names the thread.
    #[must_use]
    pub fn name(self, name: String) -> Self {
        Self(Some(name.into()))
    }

    /// Sets the size of the stack, which has no effect.
    #[must_use]
    pub fn stack_size(self, _: usize) -> Self {
        self
    }

    /// Starts the thread.
    #[track_caller]
    pub fn spawn<T: 'static>(self, f: impl FnOnce() -> T + 'static) -> io::Result<JoinHandle<T>> {
        // SAFETY: the closure and its result live forever.
        Ok(unsafe { start(self.0, Until::End, f) })
    }
}
