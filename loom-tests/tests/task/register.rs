//! Cancelling a task by its address, without owning any part of it, as the executor's registry does
//! at a shutdown. As in the registry, the address is looked at under a lock, which the end of the
//! future takes to remove it.
//!
//! A cancellation loads the state word and then exchanges it. This hides races from loom unless
//! loom tries the cancellation first. The model's first thread therefore cancels; if two threads
//! cancel, there is a model for each of them as the first.

use std::{
    future::{Future, pending, ready},
    pin::Pin,
    ptr::NonNull,
    sync::Arc,
    task::{Context, Poll},
};

use joint::{JoinHandle, task::Runnable};
use loom_tests::Value;
use loom_tests::lab::sync::Mutex;

use super::world::{
    By, Kept, Schedule, World, explore, explore_bounded, join_all, poll_once, waker_of,
};

/// The address of one task, for as long as its future exists.
#[derive(Clone, Debug)]
struct Register(Arc<Mutex<Option<Address>>>);

#[derive(Clone, Copy, Debug)]
struct Address(NonNull<()>);

// SAFETY: an address, which is used under the lock.
unsafe impl Send for Address {}

impl Register {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(None)))
    }

    /// A future whose drop removes the address.
    fn watch<F>(&self, future: F) -> Entered<F> {
        Entered {
            future,
            _entry: Entry(self.clone()),
        }
    }

    fn enter(&self, runnable: Kept<Runnable>) -> Kept<Runnable> {
        let raw = runnable.take().into_raw();
        *self.0.lock().unwrap() = Some(Address(raw));
        // SAFETY: from `into_raw` above, once.
        Kept::new(unsafe { Runnable::from_raw(raw) })
    }

    /// Cancels the task if it still exists. The schedule function takes the runnable, if there is
    /// one.
    fn cancel(&self) {
        let entry = self.0.lock().unwrap();
        // SAFETY: the address is removed under the lock, before the task ends.
        let runnable = entry.and_then(|task| unsafe { Runnable::<()>::raw_abort(task.0) });
        drop(entry);
        if let Some(runnable) = runnable {
            runnable.schedule();
        }
    }
}

struct Entered<F> {
    future: F,
    /// Dropped after the future.
    _entry: Entry,
}

impl<F: Future> Future for Entered<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future is not moved out of its pinned owner.
        let future = unsafe { self.map_unchecked_mut(|this| &mut this.future) };
        future.poll(cx)
    }
}

struct Entry(Register);

impl Drop for Entry {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let before = self.0.0.lock().unwrap().take();
            assert!(before.is_some(), "the address was removed twice");
        }
    }
}

/// A registered task that waits forever, after one run.
fn idle(world: &World, how: Schedule) -> (Register, Kept<Runnable>, Kept<JoinHandle<Value>>) {
    let register = Register::new();
    let (runnable, handle) = world.spawn(how, register.watch(pending::<Value>()));
    let runnable = register.enter(runnable);
    (register, runnable, handle)
}

/// Detaches the handle.
fn detach(handle: Kept<JoinHandle<Value>>) {
    handle.take().detach();
}

/// Nobody joins, and the last waker is dropped: either that or the cancellation gives the task its
/// last run.
pub(crate) fn last_waker_dropped(how: Schedule) {
    explore(move |world| {
        let (register, runnable, handle) = idle(world, how);
        let waker = waker_of(&runnable);
        runnable.take().run();
        detach(handle);
        let other = world.start(move || drop(waker));
        register.cancel();
        world.drain();
        other.join().unwrap();
        assert_eq!(world.runs(), 1);
    });
}

/// The task is woken, and cancelled by its address, and nobody joins.
fn woken(how: Schedule, by: By) {
    explore(move |world| {
        let (register, runnable, handle) = idle(world, how);
        let waker = waker_of(&runnable);
        runnable.take().run();
        detach(handle);
        let other = world.start(move || by.wake(waker));
        register.cancel();
        world.drain();
        other.join().unwrap();
        assert!((1..=2).contains(&world.runs()));
    });
}

pub(crate) fn woken_by_reference(how: Schedule) {
    woken(how, By::Reference);
}

pub(crate) fn woken_by_value(how: Schedule) {
    woken(how, By::Value);
}

/// The run ends with an output.
pub(crate) fn completion(how: Schedule) {
    explore(move |world| {
        let register = Register::new();
        let (runnable, handle) = world.spawn(how, register.watch(ready(world.value())));
        let runnable = register.enter(runnable);
        let other = world.start(move || {
            runnable.take().run();
        });
        register.cancel();
        world.drain();
        other.join().unwrap();
        let mut result = Kept::new(handle.take().result());
        match poll_once(&mut *result) {
            Poll::Ready(Ok(output)) => output.look(),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => panic!("the task has not ended"),
        }
        assert!(world.runs() <= 1);
    });
}

/// The run ends pending, while there is no handle and no waker.
pub(crate) fn run_of_a_detached_task(how: Schedule) {
    explore(move |world| {
        let (register, runnable, handle) = idle(world, how);
        detach(handle);
        let other = world.start(move || {
            runnable.take().run();
        });
        register.cancel();
        world.drain();
        other.join().unwrap();
        assert!(world.runs() <= 1);
    });
}

/// The task is idle, and its handle is dropped, which also cancels.
pub(crate) fn drop_of_the_handle(how: Schedule) {
    explore(move |world| {
        let (register, runnable, handle) = idle(world, how);
        runnable.take().run();
        let other = world.start(move || drop(handle));
        register.cancel();
        world.drain();
        other.join().unwrap();
        assert_eq!(world.runs(), 1);
    });
}

/// As [`drop_of_the_handle`], tried in the other order first.
pub(crate) fn drop_of_the_handle_first(how: Schedule) {
    explore(move |world| {
        let (register, runnable, handle) = idle(world, how);
        runnable.take().run();
        let other = world.start(move || register.cancel());
        drop(handle);
        world.drain();
        other.join().unwrap();
        assert_eq!(world.runs(), 1);
    });
}

/// The handle is dropped and the task is cancelled by its address while it runs. At most three
/// preemptions.
pub(crate) fn drop_of_the_handle_against_run(how: Schedule) {
    explore_bounded(3, move |world| {
        let (register, runnable, handle) = idle(world, how);
        let others = [
            world.start(move || {
                runnable.take().run();
            }),
            world.start(move || drop(handle)),
        ];
        register.cancel();
        world.drain();
        join_all(others);
        assert!(world.runs() <= 1);
    });
}

/// The task is idle without a waker, and its handle detaches: either that or the cancellation gives
/// the task its last run.
pub(crate) fn detach_of_the_handle(how: Schedule) {
    explore(move |world| {
        let (register, runnable, handle) = idle(world, how);
        runnable.take().run();
        let other = world.start(move || detach(handle));
        register.cancel();
        world.drain();
        other.join().unwrap();
        assert_eq!(world.runs(), 1);
    });
}

/// The task is cancelled by its address and through the handle at once, and by its address again.
pub(crate) fn a_second_abort(how: Schedule) {
    explore(move |world| {
        let (register, runnable, handle) = idle(world, how);
        runnable.take().run();
        let again = register.clone();
        let other = world.start(move || {
            handle.abort();
            again.cancel();
            drop(handle);
        });
        register.cancel();
        world.drain();
        other.join().unwrap();
        assert_eq!(world.runs(), 1);
    });
}

/// The handle is dropped, the task is woken for the last time, and is cancelled by its address. At
/// most three preemptions.
pub(crate) fn drop_of_the_handle_against_wake(how: Schedule) {
    explore_bounded(3, move |world| {
        let (register, runnable, handle) = idle(world, how);
        let waker = waker_of(&runnable);
        runnable.take().run();
        let others = [
            world.start(move || waker.take().wake()),
            world.start(move || drop(handle)),
        ];
        register.cancel();
        world.drain();
        join_all(others);
        assert!((1..=2).contains(&world.runs()));
    });
}

/// The executor's schedule function has size zero.
macro_rules! as_in_the_executor {
    ($($model:ident)*) => {$(
        mod $model {
            #[test]
            fn zero_sized() {
                super::$model(super::Schedule::ZeroSized);
            }
        }
    )*};
}

as_in_the_executor! {
    last_waker_dropped
    woken_by_reference
    woken_by_value
    completion
    run_of_a_detached_task
    drop_of_the_handle
    drop_of_the_handle_first
    drop_of_the_handle_against_run
    detach_of_the_handle
    a_second_abort
    drop_of_the_handle_against_wake
}
