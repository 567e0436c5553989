//! [`TaskLocal`]: values that a task carries with it.
//!
//! Each thread has a list of the values that are set on it now: a frame on the stack for each poll, or drop, of a scoped future
//! that is under way, the innermost first. A frame holds the addresses of the key and of the value, and is gone before either.

use core::{
    any::type_name,
    cell::Cell,
    error::Error,
    fmt,
    future::Future,
    marker::PhantomData,
    mem::ManuallyDrop,
    panic::{Location, RefUnwindSafe, UnwindSafe},
    pin::Pin,
    ptr::{self, NonNull},
    task::{Context, Poll},
};

use crate::sync::thread_local;

/// The name of a value that tasks carry with them: set around a future, and read by all that runs under it.
///
/// It is a `static`. A value is set by [`scope`](TaskLocal::scope) for a future, on whatever threads that runs, and by
/// [`sync_scope`](TaskLocal::sync_scope) for a function. Tasks that are spawned under it do not have it, unless they are wrapped
/// in [`carry`](TaskLocal::carry).
///
/// What a poll calls sees the value: also the tasks of an executor that is run to its end there,
/// such as by a `block_on`. A side of a [`join`](crate::join) sees it when it runs in the caller's
/// place, and no value at all when another worker takes it. A side of a
/// [`join_async`](crate::join_async) that becomes a task does not see it either.
///
/// # Cost
/// None for a task that uses none. A poll under a scope writes one thread-local twice; a look compares the keys that are set, from
/// the innermost outward.
///
/// # Example
/// ```
/// use joint::TaskLocal;
///
/// static REQUEST: TaskLocal<u64> = TaskLocal::new();
///
/// fn log(text: &str) -> String {
///     REQUEST.with(|id| format!("[{id}] {text}"))
/// }
///
/// let task = joint::spawn(REQUEST.scope(7, async {
///     joint::yield_now().await;
///     let child = joint::spawn(REQUEST.carry(async { log("child") }));
///     (log("parent"), child.await)
/// }));
/// assert_eq!(joint::block_on(task), ("[7] parent".into(), "[7] child".into()));
/// ```
///
/// A `const` is not one name but many, and is refused:
/// ```compile_fail,E0716
/// const REQUEST: joint::TaskLocal<u64> = joint::TaskLocal::new();
/// let future = REQUEST.scope(7, async {});
/// drop(future);
/// ```
pub struct TaskLocal<T: 'static> {
    /// What makes its address its own: a place that can be written is merged with no other.
    place: Cell<u8>,
    declared: &'static Location<'static>,
    /// Of exactly this type: a key that passed for one of a longer-lived type would give out values as what they are not.
    value: PhantomData<fn(T) -> T>,
}

// SAFETY: the cell is never used.
unsafe impl<T> Sync for TaskLocal<T> {}

// As above.
impl<T> UnwindSafe for TaskLocal<T> {}
impl<T> RefUnwindSafe for TaskLocal<T> {}

/// There is no value of a [`TaskLocal`] where one was asked for.
#[derive(Clone, Copy, Debug)]
pub struct NotSet {
    of: &'static str,
    declared: &'static Location<'static>,
}

/// A value that is set on this thread.
struct Frame {
    key: *const (),
    value: *const (),
    outer: *const Frame,
}

thread_local! {
    static INNERMOST: Cell<*const Frame> = const { Cell::new(ptr::null()) };
}

/// Sets the innermost frame back, also on unwind.
struct Reset(*const Frame);

impl Drop for Reset {
    fn drop(&mut self) {
        INNERMOST.with(|innermost| innermost.set(self.0));
    }
}

/// Runs `f` with no value set.
pub(super) fn without_values<R>(f: impl FnOnce() -> R) -> R {
    INNERMOST.with(|innermost| {
        let _reset = Reset(innermost.replace(ptr::null()));
        f()
    })
}

impl<T> TaskLocal<T> {
    /// A name, for a `static`.
    #[allow(clippy::new_without_default, reason = "only a static can use it")]
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            place: Cell::new(0),
            declared: Location::caller(),
            value: PhantomData,
        }
    }

    fn key(&'static self) -> *const () {
        self.place.as_ptr().cast_const().cast()
    }

    /// Runs `f` with the value set.
    #[inline]
    fn enter<R>(&'static self, value: &T, f: impl FnOnce() -> R) -> R {
        INNERMOST.with(|innermost| {
            let frame = Frame {
                key: self.key(),
                value: ptr::from_ref(value).cast(),
                outer: innermost.get(),
            };
            let _reset = Reset(innermost.replace(&raw const frame));
            f()
        })
    }

    /// The innermost value.
    fn find(&'static self) -> Option<NonNull<T>> {
        let mut next = INNERMOST.with(Cell::get);
        // SAFETY: a frame lies on this thread's stack, below, for as long as it is in the list.
        while let Some(frame) = unsafe { next.as_ref() } {
            if frame.key == self.key() {
                return NonNull::new(frame.value.cast::<T>().cast_mut());
            }
            next = frame.outer;
        }
        None
    }

    /// Sets the value for a future: while it is polled, and while it is dropped. An outer value is hidden meanwhile.
    pub fn scope<F>(&'static self, value: T, future: F) -> TaskLocalScope<T, F> {
        TaskLocalScope {
            key: self,
            value: Some(value),
            future: ManuallyDrop::new(future),
        }
    }

    /// Sets the value while `f` runs. An outer value is hidden meanwhile.
    ///
    /// # Example
    /// ```
    /// static DEPTH: joint::TaskLocal<u32> = joint::TaskLocal::new();
    ///
    /// assert_eq!(DEPTH.sync_scope(1, || DEPTH.get()), 1);
    /// ```
    pub fn sync_scope<R>(&'static self, value: T, f: impl FnOnce() -> R) -> R {
        self.enter(&value, f)
    }

    /// Sets a copy of the present value for a future that will run elsewhere, as a task that is spawned. Where there is none, the
    /// future has none either, but what is set where it is polled.
    pub fn carry<F>(&'static self, future: F) -> TaskLocalScope<T, F>
    where
        T: Clone,
    {
        TaskLocalScope {
            key: self,
            value: self.try_with(T::clone).ok(),
            future: ManuallyDrop::new(future),
        }
    }

    /// Calls `f` with the value.
    ///
    /// # Panics
    /// When none is set.
    #[track_caller]
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        match self.try_with(f) {
            Ok(result) => result,
            Err(error) => panic!("{error}"),
        }
    }

    /// Calls `f` with the value.
    ///
    /// # Errors
    /// When none is set.
    ///
    /// # Example
    /// ```
    /// static DEPTH: joint::TaskLocal<u32> = joint::TaskLocal::new();
    ///
    /// let error = DEPTH.try_with(|_| ()).unwrap_err();
    /// assert!(error.to_string().starts_with("the task-local value of type `u32`"));
    /// ```
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, NotSet> {
        let value = self.find().ok_or(NotSet {
            of: type_name::<T>(),
            declared: self.declared,
        })?;
        // SAFETY: the frame was made of a `&T` for this key, whose type no other key has; and it lives in a call that is under
        // way below this one, so the value does as long as `f` runs.
        Ok(f(unsafe { value.as_ref() }))
    }

    /// The value.
    ///
    /// # Panics
    /// When none is set.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }
}

impl<T> fmt::Debug for TaskLocal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskLocal")
            .field("of", &type_name::<T>())
            .field("declared", &format_args!("{}", self.declared))
            .finish()
    }
}

impl fmt::Display for NotSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the task-local value of type `{}`, declared at {}, is not set here: wrap the future in `scope`, or in `carry` where it \
             is spawned",
            self.of, self.declared
        )
    }
}

impl Error for NotSet {}

/// A future under a task-local value: of [`TaskLocal::scope`] and [`TaskLocal::carry`].
///
/// Its drop drops the future under the value, and then the value.
#[must_use = "futures do nothing unless awaited"]
pub struct TaskLocalScope<T: 'static, F> {
    key: &'static TaskLocal<T>,
    value: Option<T>,
    /// Pinned with the scope.
    future: ManuallyDrop<F>,
}

/// The value is not pinned: it is pointed to during a call alone.
impl<T, F: Unpin> Unpin for TaskLocalScope<T, F> {}

/// Runs `f` under a scope's value, if it has one.
#[inline]
fn under<T, R>(key: &'static TaskLocal<T>, value: Option<&T>, f: impl FnOnce() -> R) -> R {
    match value {
        Some(value) => key.enter(value, f),
        None => f(),
    }
}

impl<T, F: Future> Future for TaskLocalScope<T, F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future is pinned with `self`, and not moved; the rest is not pinned.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let future = unsafe { Pin::new_unchecked(&mut *this.future) };
        under(this.key, this.value.as_ref(), || future.poll(cx))
    }
}

impl<T, F> Drop for TaskLocalScope<T, F> {
    fn drop(&mut self) {
        let future = &mut self.future;
        under(self.key, self.value.as_ref(), || {
            // SAFETY: dropped here, once, in place.
            unsafe { ManuallyDrop::drop(future) };
        });
    }
}

impl<T, F> fmt::Debug for TaskLocalScope<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskLocalScope")
            .field("key", self.key)
            .finish_non_exhaustive()
    }
}
