//! The threads of a model.

use core::{
    fmt,
    hash::{Hash, Hasher},
    time::Duration,
};
use real::{io, num::NonZero};

use joint_check::thread as checked;

use crate::{
    clock::pass,
    memory::{checker, user},
    spins,
};

pub use checked::ThreadId;

#[derive(Clone, Debug)]
pub struct Thread(checked::Thread);

impl Thread {
    pub fn id(&self) -> ThreadId {
        self.0.id()
    }

    pub fn name(&self) -> Option<&str> {
        self.0.name()
    }

    #[track_caller]
    pub fn unpark(&self) {
        let _side = checker();
        self.0.unpark();
    }
}

pub fn current() -> Thread {
    let _side = checker();
    Thread(checked::current())
}

/// The number of the running thread, or 0 outside of a model.
pub(crate) fn number() -> u64 {
    #[derive(Default)]
    struct Number(u64);
    impl Hasher for Number {
        fn finish(&self) -> u64 {
            self.0
        }
        fn write(&mut self, bytes: &[u8]) {
            bytes
                .iter()
                .for_each(|&byte| self.0 = self.0 << 8 | u64::from(byte));
        }
    }
    let mut number = Number::default();
    if crate::slot::in_model() {
        checked::current().id().hash(&mut number);
    }
    number.finish()
}

#[track_caller]
pub fn park() {
    let _side = checker();
    spins::wrote();
    checked::park();
}

/// Waits, or gives up at once. Both are tried, and the time counts as passed.
#[track_caller]
pub fn park_timeout(time: Duration) {
    let _side = checker();
    spins::wrote();
    checked::park_timeout(time);
    pass(time);
}

/// Lets other threads run, and the time pass for this one.
#[track_caller]
pub fn sleep(time: Duration) {
    let _side = checker();
    spins::wrote();
    checked::yield_now();
    pass(time);
}

#[track_caller]
pub fn yield_now() {
    let _side = checker();
    spins::wrote();
    checked::yield_now();
}

/// Returns 2.
///
/// # Errors
/// Never.
pub fn available_parallelism() -> io::Result<NonZero<usize>> {
    Ok(const { NonZero::new(2).expect("it is not 0") })
}

pub struct JoinHandle<T>(checked::JoinHandle<T>, Thread);

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JoinHandle")
    }
}

impl<T> JoinHandle<T> {
    fn new(handle: checked::JoinHandle<T>) -> Self {
        let thread = Thread(handle.thread().clone());
        Self(handle, thread)
    }

    #[track_caller]
    pub fn join(self) -> real::thread::Result<T> {
        let _side = checker();
        self.0.join()
    }

    pub fn thread(&self) -> &Thread {
        &self.1
    }
}

/// A thread of a model is none of the system's.
#[cfg(unix)]
impl<T> real::os::unix::thread::JoinHandleExt for JoinHandle<T> {
    fn as_pthread_t(&self) -> real::os::unix::thread::RawPthread {
        panic!("a thread of a model has no pthread_t")
    }

    fn into_pthread_t(self) -> real::os::unix::thread::RawPthread {
        self.as_pthread_t()
    }
}

#[track_caller]
pub fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let _side = checker();
    JoinHandle::new(checked::spawn(of_user(f)))
}

fn of_user<T>(f: impl FnOnce() -> T) -> impl FnOnce() -> T {
    move || {
        let _side = user();
        f()
    }
}

#[derive(Debug, Default)]
pub struct Builder(checked::Builder);

impl Builder {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn name(self, name: String) -> Self {
        Self(self.0.name(name))
    }

    /// Has no effect.
    #[must_use]
    pub fn stack_size(self, _: usize) -> Self {
        self
    }

    #[track_caller]
    pub fn spawn<T: Send + 'static>(
        self,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        let _side = checker();
        self.0.spawn(of_user(f)).map(JoinHandle::new)
    }
}

#[repr(transparent)]
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope>(checked::Scope<'scope, 'env>);

#[derive(Debug)]
pub struct ScopedJoinHandle<'scope, T>(checked::ScopedJoinHandle<'scope, T>, Thread);

#[track_caller]
pub fn scope<'env, T>(f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
    let _side = checker();
    checked::scope(|scope| {
        let _side = user();
        // SAFETY: they have one representation.
        f(unsafe { &*core::ptr::from_ref(scope).cast() })
    })
}

impl<'scope> Scope<'scope, '_> {
    #[track_caller]
    pub fn spawn<T: Send + 'scope>(
        &'scope self,
        f: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, T> {
        let _side = checker();
        let handle = self.0.spawn(of_user(f));
        let thread = Thread(handle.thread().clone());
        ScopedJoinHandle(handle, thread)
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    #[track_caller]
    pub fn join(self) -> real::thread::Result<T> {
        let _side = checker();
        self.0.join()
    }

    pub fn thread(&self) -> &Thread {
        &self.1
    }
}
