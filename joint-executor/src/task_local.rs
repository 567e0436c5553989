//! [`TaskLocal`]: values that a task carries with it.
//!
//! Each thread has a linked list of the values that are set on it now, the innermost first. While a
//! scoped future is polled or dropped, a frame on the stack is in the list. The frame holds the
//! addresses of the key and of the value, and is removed before either goes away.

use core::{
    any::type_name,
    cell::Cell,
    fmt,
    future::Future,
    marker::PhantomData,
    mem::ManuallyDrop,
    panic::{Location, RefUnwindSafe, UnwindSafe},
    pin::Pin,
    ptr,
    task::{Context, Poll},
};

use super::who;

/// A key for a value that tasks carry with them. The value is set around a future, and everything
/// that runs inside that future can read it.
///
/// A `TaskLocal` is a `static`. Use [`scope`](TaskLocal::scope) to set a value for a future, on
/// whatever threads it runs, and [`sync_scope`](TaskLocal::sync_scope) to set one for a function.
/// Tasks that are spawned inside the scope do not see the value, unless they are wrapped in
/// [`carry`](TaskLocal::carry).
///
/// Everything that a poll calls sees the value, including the tasks of an executor that is run to
/// its end there, such as by a `block_on`. A side of a [`join`](crate::join()) sees it if it runs
/// in the caller's place, and sees no value at all if another worker takes it. A side of a
/// [`join_async`](crate::join_async()) that becomes a task does not see it either.
///
/// # Cost
/// Nothing for a task that uses no value. A poll inside a scope writes one thread-local twice. A
/// lookup compares the keys that are set, from the innermost outward.
///
/// # Example
/// ```
/// use joint_executor::TaskLocal;
///
/// static REQUEST: TaskLocal<u64> = TaskLocal::new();
///
/// fn log(text: &str) -> String {
///     REQUEST.with(|id| format!("[{id}] {text}"))
/// }
///
/// let task = joint_executor::spawn(REQUEST.scope(7, async {
///     joint_executor::yield_now().await;
///     let child = joint_executor::spawn(REQUEST.carry(async { log("child") }));
///     (log("parent"), child.await)
/// }));
/// assert_eq!(joint_executor::block_on(task), ("[7] parent".into(), "[7] child".into()));
/// ```
///
/// A `const` is not one key but many, so it is refused:
/// ```compile_fail,E0716
/// const REQUEST: joint_executor::TaskLocal<u64> = joint_executor::TaskLocal::new();
/// let future = REQUEST.scope(7, async {});
/// drop(future);
/// ```
pub struct TaskLocal<T> {
    /// Gives the static an address of its own: a place that can be written is not merged with any
    /// other.
    place: Cell<u8>,
    declared: &'static Location<'static>,
    /// Makes the key exactly of this type. A key that could pass as the key of a longer-lived type
    /// would hand out values under a wrong type.
    value: PhantomData<fn(T) -> T>,
}

// SAFETY: the cell is never read or written.
unsafe impl<T> Sync for TaskLocal<T> {}

// As above.
impl<T> UnwindSafe for TaskLocal<T> {}
impl<T> RefUnwindSafe for TaskLocal<T> {}

/// A value that is set on this thread.
struct Frame {
    key: *const (),
    value: *const (),
    outer: *const Frame,
}

impl<T> TaskLocal<T> {
    /// Creates a key, for a `static`.
    #[allow(clippy::new_without_default, reason = "useful only in a static")]
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

    #[inline]
    fn enter<R>(&'static self, value: &T, f: impl FnOnce() -> R) -> R {
        let frame = Frame {
            key: self.key(),
            value: ptr::from_ref(value).cast(),
            outer: who::values(),
        };
        who::with_values(&raw const frame, f)
    }

    /// Sets the value for a future, while the future is polled and while it is dropped. An outer
    /// value is hidden meanwhile.
    pub fn scope<F>(&'static self, value: T, future: F) -> TaskLocalScope<T, F> {
        TaskLocalScope {
            key: self,
            value: Some(value),
            future: ManuallyDrop::new(future),
        }
    }

    /// Sets the value while `f` runs. An outer value is hidden meanwhile.
    pub fn sync_scope<R>(&'static self, value: T, f: impl FnOnce() -> R) -> R {
        self.enter(&value, f)
    }

    /// Sets a clone of the current value for a future that will run elsewhere, such as in a spawned
    /// task. If no value is set here, the future sees only what is set where it is polled.
    pub fn carry<F>(&'static self, future: F) -> TaskLocalScope<T, F>
    where
        T: Clone,
    {
        TaskLocalScope {
            key: self,
            value: self.try_with(T::clone),
            future: ManuallyDrop::new(future),
        }
    }

    /// Calls `f` with the value.
    ///
    /// # Panics
    /// If no value is set.
    #[track_caller]
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        let Some(result) = self.try_with(f) else {
            panic!(
                "the task-local value of type `{}`, declared at {}, is not set here; wrap the \
                 future in `scope`, or in `carry` where it is spawned",
                type_name::<T>(),
                self.declared
            );
        };
        result
    }

    /// Calls `f` with the value. Returns `None` if no value is set.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Option<R> {
        let mut next = who::values::<Frame>();
        // SAFETY: a frame lies further down this thread's stack while it is in the list.
        let mut frame = unsafe { next.as_ref() }?;
        while frame.key != self.key() {
            next = frame.outer;
            // SAFETY: as above.
            frame = unsafe { next.as_ref() }?;
        }
        // SAFETY: the frame was made from a `&T` for this key, and no other key has this address,
        // so the type is right. The frame belongs to a call further down the stack that has not
        // returned, so the value lives while `f` runs.
        Some(f(unsafe { &*frame.value.cast() }))
    }

    /// Returns a clone of the value.
    ///
    /// # Panics
    /// If no value is set.
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

/// The future of [`TaskLocal::scope`] and [`TaskLocal::carry`].
///
/// Dropping it drops the inner future while the value is set, and then the value.
#[must_use = "futures do nothing unless awaited"]
pub struct TaskLocalScope<T: 'static, F> {
    key: &'static TaskLocal<T>,
    value: Option<T>,
    /// Pinned with the scope.
    future: ManuallyDrop<F>,
}

/// The value is not pinned, because it is pointed to only during a call.
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
        // SAFETY: the inner future is pinned with `self` and is not moved. The other fields are not
        // pinned.
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
            // SAFETY: the future is dropped here, once, in place.
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
