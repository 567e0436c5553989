//! A task without counts: a function pointer, a link, one word for the end, and the future.

use std::{
    alloc::Layout,
    future::Future,
    hint::spin_loop,
    marker::PhantomData,
    mem::ManuallyDrop,
    pin::Pin,
    ptr::{self, NonNull, null_mut},
    sync::atomic::{
        AtomicPtr,
        Ordering::{AcqRel, Acquire, Relaxed},
    },
    task::{Context, Poll, RawWaker, RawWakerVTable, Waker},
    thread,
};

use super::blocks;

/// The first part of each task.
pub(super) struct Head {
    run: unsafe fn(NonNull<Head>),
    /// The next one in the queue of those that were spawned outside.
    pub(super) next: AtomicPtr<Head>,
    /// Null, the task that waits for the end, or one of the addresses below.
    end: AtomicPtr<Head>,
}

// No heads: these are never read or written through.
const DONE: *mut Head = ptr::without_provenance_mut(1);
const DETACHED: *mut Head = ptr::without_provenance_mut(2);

#[repr(C)]
struct Whole<F: Future> {
    head: Head,
    stage: Stage<F>,
}

union Stage<F: Future> {
    future: ManuallyDrop<F>,
    _output: ManuallyDrop<F::Output>,
}

impl Head {
    /// A link that is no task.
    pub(super) const fn link() -> Self {
        unsafe fn nothing(_: NonNull<Head>) {}

        Self {
            run: nothing,
            next: AtomicPtr::new(null_mut()),
            end: AtomicPtr::new(null_mut()),
        }
    }
}

impl<F: Future> Whole<F> {
    const SIZE: usize = {
        let layout = Layout::new::<Self>();
        assert!(layout.align() <= align_of::<Head>(), "so `STAGE` is right");
        layout.size()
    };

    /// Drops the future, and frees the task.
    ///
    /// # Safety
    ///
    /// The task has not ended, and nobody uses it any more.
    unsafe fn cancel(head: NonNull<Head>) {
        let stage = stage::<F>(head);
        // SAFETY: the future is there, because the task has not ended.
        unsafe { stage.drop_in_place() };
        // SAFETY: the caller's promise. `spawn` has taken the block with this size.
        unsafe { blocks::put(head.cast(), Self::SIZE) };
    }

    /// Polls the future. Afterwards `SHARED` says how the end is announced.
    ///
    /// # Safety
    ///
    /// The task is of this type, has not ended, and is not being polled.
    unsafe fn run<S: Fn(Runnable), const SHARED: bool>(head: NonNull<Head>) {
        let waker = raw_waker::<S>(head.as_ptr().cast());
        // SAFETY: the rows use wakers as the module's documentation demands.
        let waker = ManuallyDrop::new(unsafe { Waker::from_raw(waker) });
        let mut future = stage::<F>(head);
        // SAFETY: the future is there, and nobody else reaches it.
        let future = unsafe { future.as_mut() };
        // SAFETY: it is not moved until it is dropped.
        let future = unsafe { Pin::new_unchecked(future) };
        let Poll::Ready(output) = future.poll(&mut Context::from_waker(&waker)) else {
            return;
        };
        let future = stage::<F>(head);
        // SAFETY: it is dropped here, and never polled again.
        unsafe { future.drop_in_place() };
        // SAFETY: the place belongs to the runner until the exchange.
        unsafe { stage::<F::Output>(head).write(output) };
        // SAFETY: the handle does not free the task before the exchange.
        let end = unsafe { &(*head.as_ptr()).end };
        let found = if SHARED {
            end.swap(DONE, AcqRel)
        } else {
            let found = end.load(Relaxed);
            end.store(DONE, Relaxed);
            found
        };
        match found {
            DETACHED => {
                // SAFETY: the output was written above.
                unsafe { stage::<F::Output>(head).drop_in_place() };
                // SAFETY: there is no handle. `spawn` has taken the block with this size.
                unsafe { blocks::put(head.cast(), Self::SIZE) };
            }
            // SAFETY: a waiter lives until it has been woken.
            found => unsafe { schedule::<S>(found) },
        }
    }
}

/// Where the future or the output is.
#[inline]
fn stage<T>(head: NonNull<Head>) -> NonNull<T> {
    // SAFETY: the stage follows the head at once, because it is aligned no more strictly.
    unsafe { head.add(1) }.cast()
}

/// Passes a task to the schedule function, if there is one.
///
/// # Safety
///
/// It is null, or a task that waits.
#[inline]
unsafe fn schedule<S: Fn(Runnable)>(head: *const Head) {
    if let Some(head) = NonNull::new(head.cast_mut()) {
        // SAFETY: `spawn` has been given a value of this type, which has no bytes.
        let schedule = unsafe { NonNull::<S>::dangling().as_ref() };
        schedule(Runnable(head));
    }
}

fn raw_waker<S: Fn(Runnable)>(task: *const ()) -> RawWaker {
    const fn vtable<S: Fn(Runnable)>() -> &'static RawWakerVTable {
        const {
            &RawWakerVTable::new(
                raw_waker::<S>,
                // SAFETY: the rows wake a task that waits, and only once.
                |task| unsafe { schedule::<S>(task.cast()) },
                // SAFETY: as above.
                |task| unsafe { schedule::<S>(task.cast()) },
                |_| (),
            )
        }
    }
    RawWaker::new(task, vtable::<S>())
}

/// A task that is to run.
pub struct Runnable(pub(super) NonNull<Head>);

// SAFETY: the future has been sent.
unsafe impl Send for Runnable {}

impl Runnable {
    /// Polls the task.
    #[inline]
    pub fn run(self) {
        // SAFETY: the head is initialized as long as the task exists.
        let run = unsafe { (*self.0.as_ptr()).run };
        // SAFETY: `spawn` has put the function of the task's type there. There is one runnable for
        // each wake-up, so it is not being polled, and none after the end.
        unsafe { run(self.0) };
    }

    /// Returns the address.
    pub fn into_raw(self) -> NonNull<()> {
        self.0.cast()
    }

    /// Makes it from its address again.
    ///
    /// # Safety
    ///
    /// [`into_raw`](Self::into_raw) has returned it, and this is called once.
    pub unsafe fn from_raw(raw: NonNull<()>) -> Self {
        Self(raw.cast())
    }
}

/// The only way to a task's output. Dropping it drops the future at once.
pub struct Handle<T> {
    /// `None`: the output was taken.
    head: Option<NonNull<Head>>,
    size: usize,
    cancel: unsafe fn(NonNull<Head>),
    /// Whether another thread runs the task.
    pub(super) is_outside: bool,
    output: PhantomData<fn() -> T>,
}

// SAFETY: it reaches the output, and drops the future, which has been sent as well.
unsafe impl<T: Send> Send for Handle<T> {}

impl<T> Handle<T> {
    fn end(&self) -> Option<&AtomicPtr<Head>> {
        // SAFETY: the task lives until the output is taken.
        self.head.map(|head| unsafe { &(*head.as_ptr()).end })
    }

    /// Lets the task continue, which must not have ended.
    pub fn detach(self) {
        self.end().expect("a task").store(DETACHED, Relaxed);
        std::mem::forget(self);
    }

    /// Whether the task has ended.
    pub fn is_finished(&self) -> bool {
        self.end().is_none_or(|end| end.load(Acquire) == DONE)
    }

    /// Waits on this thread, which has nothing else to do.
    fn wait(&self) {
        for spins in 1u32.. {
            if self.is_finished() {
                break;
            }
            // The runner may need this processor.
            if spins % 1_000 == 0 {
                thread::yield_now();
            }
            spin_loop();
        }
    }
}

impl<T> Future for Handle<T> {
    type Output = T;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        if self.is_outside {
            self.wait();
        }
        let end = self.end().expect("it is not polled after its end");
        if end.load(Acquire) != DONE {
            end.store(cx.waker().data().cast_mut().cast(), Relaxed);
            return Poll::Pending;
        }
        let head = self.head.take().expect("a task");
        // SAFETY: the task has ended, and its output is read once.
        let output = unsafe { stage::<T>(head).read() };
        // SAFETY: the runner leaves it alone after the end. `spawn` has taken it with this size.
        unsafe { blocks::put(head.cast(), self.size) };
        Poll::Ready(output)
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        if let Some(head) = self.head {
            // SAFETY: the rows cancel tasks that wait.
            unsafe { (self.cancel)(head) };
        }
    }
}

fn make<F, S, const SHARED: bool>(future: F, _: S, end: *mut Head) -> NonNull<Head>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Fn(Runnable) + Copy + Send + Sync + 'static,
{
    const { assert!(size_of::<S>() == 0, "a plain function, which is not kept") };
    let place = blocks::take(Whole::<F>::SIZE).cast::<Whole<F>>();
    let whole = Whole {
        head: Head {
            run: Whole::<F>::run::<S, SHARED>,
            next: AtomicPtr::new(null_mut()),
            end: AtomicPtr::new(end),
        },
        stage: Stage {
            future: ManuallyDrop::new(future),
        },
    };
    // SAFETY: the block is large enough, aligned, and nobody else's.
    unsafe { place.write(whole) };
    place.cast()
}

/// Makes a task whose end takes no atomic operation.
pub fn spawn<F, S>(future: F, schedule: S) -> (Runnable, Handle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Fn(Runnable) + Copy + Send + Sync + 'static,
{
    spawn_as::<F, S, false>(future, schedule)
}

/// Makes a task. If it is `SHARED`, its end is one exchange, as it has to be for tasks that another
/// thread may run.
pub(super) fn spawn_as<F, S, const SHARED: bool>(
    future: F,
    schedule: S,
) -> (Runnable, Handle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Fn(Runnable) + Copy + Send + Sync + 'static,
{
    let head = make::<F, S, SHARED>(future, schedule, null_mut());
    let handle = Handle {
        head: Some(head),
        size: Whole::<F>::SIZE,
        cancel: Whole::<F>::cancel,
        is_outside: false,
        output: PhantomData,
    };
    (Runnable(head), handle)
}

/// Makes a task without a handle, whose end takes no atomic operation either way.
pub fn spawn_detached<F, S>(future: F, schedule: S) -> Runnable
where
    F: Future<Output = ()> + Send + 'static,
    S: Fn(Runnable) + Copy + Send + Sync + 'static,
{
    Runnable(make::<F, S, false>(future, schedule, DETACHED))
}
