//! The smallest world that shows a race of a task: one slot for each task's runnable, and threads
//! that run what they find.
//!
//! A slot hands a runnable over by release and acquire, and by nothing more, so it does not hide an
//! ordering that is missing in the task. It checks that a task has at most one runnable. The thread
//! that puts one in looks into the slot afterwards, so every run takes place in a thread of the
//! race, before the join edge that ends the thread.

use std::{
    ops::{Deref, DerefMut},
    ptr,
    sync::Once,
};

use joint::JoinHandle;
use loom_tests::lab::{
    sync::atomic::{AtomicPtr, AtomicUsize},
    thread,
};

use crate::prelude::*;

pub(crate) use loom_tests::join_all;

/// How a task keeps its schedule function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Schedule {
    /// It is a function, and has size zero.
    ZeroSized,
    /// It is a closure inside the task, which must live until each call of it has returned.
    Stored,
}

const TASKS: usize = 2;

thread_local! {
    /// The slots of the model that this thread of the system runs. A function without captures
    /// finds them here.
    static SLOTS: RefCell<Option<Arc<[Slot; TASKS]>>> = const { RefCell::new(None) };
    static PANICS: Cell<usize> = const { Cell::new(0) };
}

#[derive(Debug)]
struct Slot(AtomicPtr<()>);

impl Slot {
    fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    #[track_caller]
    fn push(&self, runnable: Runnable) {
        let before = self.0.swap(runnable.into_raw().as_ptr(), Release);
        assert!(before.is_null(), "a task had two runnables at once");
    }

    fn pop(&self) -> Option<Runnable> {
        let raw = NonNull::new(self.0.swap(ptr::null_mut(), Acquire))?;
        // SAFETY: `push` put it in, and only this takes it out.
        Some(unsafe { Runnable::from_raw(raw) })
    }
}

/// The schedule function of size zero, for the task of slot `N`.
fn push_to<const N: usize>(runnable: Runnable) {
    let slots = SLOTS.with_borrow(Clone::clone);
    slots.expect("a model runs")[N].push(runnable);
}

/// Lives in a stored schedule function, and knows whether that has been dropped.
struct Canary {
    /// Every call reads it, and the drop writes it: a drop that is not ordered after the calls is a
    /// race.
    alive: Mark,
    /// Tells a call that is still running after the drop, in the same thread, about the drop.
    singing: Counter,
}

impl Canary {
    fn new() -> Self {
        Self {
            alive: Mark::named("schedule function"),
            singing: Counter::new(1),
        }
    }

    #[track_caller]
    fn look(&self) {
        self.alive.read();
        assert_eq!(
            self.singing.load(Relaxed),
            1,
            "the schedule function was used after its drop"
        );
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.alive.write();
        }
        self.singing.store(0, Relaxed);
    }
}

/// One run of a model.
#[derive(Clone)]
pub(crate) struct World {
    slots: Arc<[Slot; TASKS]>,
    runs: Arc<[Counter; TASKS]>,
    drops: Drops,
    values: Arc<Counter>,
}

pub(crate) fn explore(f: impl Fn(&World) + Send + Sync + 'static) {
    watch_panics();
    loom_tests::model(move || World::run(&f));
}

pub(crate) fn explore_bounded(preemptions: usize, f: impl Fn(&World) + Send + Sync + 'static) {
    watch_panics();
    loom_tests::model_bounded(preemptions, move || World::run(&f));
}

impl World {
    fn run(f: impl Fn(&Self)) {
        let panics = PANICS.get();
        let world = Self {
            slots: Arc::new([Slot::new(), Slot::new()]),
            runs: Arc::default(),
            drops: Drops::default(),
            values: Arc::default(),
        };
        SLOTS.set(Some(world.slots.clone()));
        f(&world);
        for slot in &*world.slots {
            assert!(slot.pop().is_none(), "a runnable was not run");
        }
        world.drops.assert_all_of(world.values.load(Relaxed));
        // A task turns a panic of its future into its result, and this panic may be the model's own
        // failure.
        assert_eq!(PANICS.get(), panics, "a panic was caught during the run");
    }

    /// A value that must be dropped, and must be seen whole.
    #[track_caller]
    pub(crate) fn value(&self) -> Value {
        self.values.fetch_add(1, Relaxed);
        self.drops.value()
    }

    pub(crate) fn spawn<F>(
        &self,
        how: Schedule,
        future: F,
    ) -> (Kept<Runnable>, Kept<JoinHandle<F::Output>>)
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.spawn_at::<0, F>(how, future)
    }

    pub(crate) fn spawn_at<const N: usize, F>(
        &self,
        how: Schedule,
        future: F,
    ) -> (Kept<Runnable>, Kept<JoinHandle<F::Output>>)
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let future = self.watched(N, future);
        let (runnable, handle) = match how {
            Schedule::ZeroSized => task::spawn(future, push_to::<N>),
            Schedule::Stored => task::spawn(future, self.push_stored(N)),
        };
        (Kept::new(runnable), Kept::new(handle))
    }

    pub(crate) fn spawn_detached<F>(&self, how: Schedule, future: F) -> Kept<Runnable>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let future = self.watched(0, future);
        Kept::new(match how {
            Schedule::ZeroSized => task::spawn_detached(future, push_to::<0>),
            Schedule::Stored => task::spawn_detached(future, self.push_stored(0)),
        })
    }

    fn watched<F>(&self, task: usize, future: F) -> Watched<F> {
        Watched {
            future,
            whole: self.value(),
            runs: self.runs.clone(),
            task,
        }
    }

    /// The schedule function that is stored in the task.
    fn push_stored(&self, slot: usize) -> impl Fn(Runnable) + Send + Sync + use<> {
        let (slots, canary) = (self.slots.clone(), Canary::new());
        move |runnable| {
            canary.look();
            slots[slot].push(runnable);
            canary.look();
        }
    }

    /// Runs the runnables in the slots, until there are none.
    pub(crate) fn drain(&self) {
        for slot in &*self.slots {
            while let Some(runnable) = slot.pop() {
                runnable.run();
            }
        }
    }

    /// Runs `f` in a thread of its own, which then runs the runnables in the slots.
    pub(crate) fn start(&self, f: impl FnOnce() + 'static) -> thread::JoinHandle<()> {
        let world = self.clone();
        thread::spawn(move || {
            f();
            world.drain();
        })
    }

    pub(crate) fn start_run(&self, runnable: Kept<Runnable>) -> thread::JoinHandle<()> {
        self.start(move || _ = runnable.take().run())
    }

    pub(crate) fn run_and_drain(&self, runnable: Kept<Runnable>) {
        runnable.take().run();
        self.drain();
    }

    /// How often the task of slot 0 was polled.
    pub(crate) fn runs(&self) -> usize {
        self.runs[0].load(Relaxed)
    }
}

/// Counts every panic on its thread, including those that are caught.
fn watch_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let next = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICS.set(PANICS.get() + 1);
            next(info);
        }));
    });
}

/// A future that must be whole whenever it is polled or dropped, and is dropped once.
struct Watched<F> {
    future: F,
    whole: Value,
    runs: Arc<[Counter; TASKS]>,
    task: usize,
}

impl<F: Future> Future for Watched<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.whole.look();
        self.runs[self.task].fetch_add(1, Relaxed);
        // SAFETY: the future is not moved out of its pinned owner.
        let future = unsafe { self.map_unchecked_mut(|this| &mut this.future) };
        future.poll(cx)
    }
}

/// A flag that one thread raises for the others. It orders nothing: only a wake-up makes sure that
/// the flag is seen.
#[derive(Clone, Debug)]
pub(crate) struct Flag(Arc<AtomicUsize>);

impl Flag {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(0)))
    }

    pub(crate) fn raise(&self) {
        self.0.store(1, Relaxed);
    }

    pub(crate) fn is_up(&self) -> bool {
        self.0.load(Relaxed) == 1
    }
}

/// Is not dropped if the model fails. Unwinding would drop it, and so touch what the model has just
/// found to be broken.
#[derive(Debug)]
pub(crate) struct Kept<T>(ManuallyDrop<T>);

impl<T> Kept<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }

    pub(crate) fn take(self) -> T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `self` is not used again, and not dropped.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: dropped here once.
            unsafe { ManuallyDrop::drop(&mut self.0) }
        }
    }
}

impl<T> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum By {
    Reference,
    Value,
}

impl By {
    pub(crate) fn wake(self, waker: Kept<Waker>) {
        match self {
            Self::Reference => waker.wake_by_ref(),
            Self::Value => waker.take().wake(),
        }
    }
}

pub(crate) fn waker_of(runnable: &Runnable) -> Kept<Waker> {
    Kept::new(runnable.waker())
}

pub(crate) fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}
