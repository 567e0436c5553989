//! loom's threads, with spawns, joins, parks and unparks recorded.

use std::{fmt, io, panic::Location};

pub use loom::thread::{AccessError, LocalKey, ThreadId, panicking, yield_now};

use super::{
    event::{Source, Step},
    recorder,
};

/// [`loom::thread::Thread`].
#[derive(Clone, Debug)]
pub struct Thread(loom::thread::Thread);

impl Thread {
    /// Works as [`std::thread::Thread::id`].
    pub fn id(&self) -> ThreadId {
        self.0.id()
    }

    /// Works as [`std::thread::Thread::name`].
    pub fn name(&self) -> Option<&str> {
        self.0.name()
    }

    /// Works as [`std::thread::Thread::unpark`].
    #[track_caller]
    pub fn unpark(&self) {
        recorder::unparks(self.id(), Location::caller());
        self.0.unpark();
    }
}

/// [`loom::thread::current`].
pub fn current() -> Thread {
    Thread(loom::thread::current())
}

/// [`loom::thread::park`].
#[track_caller]
pub fn park() {
    record!(0, Step::Park, loom::thread::park());
}

/// [`loom::thread::JoinHandle`].
pub struct JoinHandle<T> {
    handle: loom::thread::JoinHandle<T>,
    thread: Thread,
    token: usize,
}

impl<T> JoinHandle<T> {
    fn new(handle: loom::thread::JoinHandle<T>, token: usize) -> Self {
        let thread = Thread(handle.thread().clone());
        Self {
            handle,
            thread,
            token,
        }
    }

    /// Waits until the thread has ended.
    ///
    /// # Errors
    /// The same as [`std::thread::JoinHandle::join`], except that a panic ends the model first.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        record!(0, Step::Join(self.token), self.handle.join())
    }

    /// Returns the thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// [`loom::thread::Builder`]. The name of a thread is also its name in pictures.
#[derive(Debug)]
pub struct Builder(loom::thread::Builder, Option<String>);

impl Builder {
    /// Works as [`std::thread::Builder::new`].
    #[allow(clippy::new_without_default, reason = "as in std")]
    pub fn new() -> Self {
        Self(loom::thread::Builder::new(), None)
    }

    /// Works as [`std::thread::Builder::name`].
    #[must_use]
    pub fn name(self, name: String) -> Self {
        Self(self.0.name(name.clone()), Some(name))
    }

    /// Works as [`std::thread::Builder::stack_size`].
    #[must_use]
    pub fn stack_size(self, bytes: usize) -> Self {
        Self(self.0.stack_size(bytes), self.1)
    }

    /// Works as [`std::thread::Builder::spawn`].
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let Self(builder, name) = self;
        let named = move || {
            if let Some(name) = name {
                recorder::name_thread(&name);
            }
            f()
        };
        let (token, f) = recorded(named, Location::caller());
        Ok(JoinHandle::new(builder.spawn(f)?, token))
    }
}

/// [`loom::thread::spawn`].
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    let (token, f) = recorded(f, Location::caller());
    JoinHandle::new(loom::thread::spawn(f), token)
}

/// Records that a thread is spawned, and returns its number and what it runs.
fn recorded<T>(f: impl FnOnce() -> T, source: Source) -> (usize, impl FnOnce() -> T) {
    let token = recorder::token();
    recorder::now(0, Step::Spawn(token), source);
    let run = move || {
        recorder::guarded(|| {
            recorder::now(0, Step::Start(token), source);
            let result = f();
            recorder::now(0, Step::End, source);
            result
        })
    };
    (token, run)
}
