//! Cancelling a task by its address, without owning any part of it, as the executor's registry does
//! at a shutdown. As in the registry, the address is looked at under a lock, which the end of the
//! future takes to remove it.
//!
//! A cancellation loads the state word and then exchanges it. This hides races from loom unless
//! loom tries the cancellation first. The model's first thread therefore cancels; if two threads
//! cancel, there is a model for each of them as the first.

use loom_tests::lab::sync::Mutex;

use super::{
    race::{
        Act::{Abort, Cancel, Detach, DropHandle, DropWaker, Run, Wake},
        Ends::{AtOnce, Never},
        race,
    },
    world::{By, Kept},
};
use crate::prelude::*;

/// The address of one task, for as long as its future exists.
#[derive(Clone, Debug)]
pub(crate) struct Register(Arc<Mutex<Option<Address>>>);

#[derive(Clone, Copy, Debug)]
struct Address(NonNull<()>);

// SAFETY: an address, which is used under the lock.
unsafe impl Send for Address {}

impl Register {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(None)))
    }

    /// A future whose drop removes the address.
    pub(crate) fn watch<F>(&self, future: F) -> Entered<F> {
        Entered {
            future,
            _entry: Entry(self.clone()),
        }
    }

    pub(crate) fn enter(&self, runnable: Kept<Runnable>) -> Kept<Runnable> {
        let raw = runnable.take().into_raw();
        *self.0.lock().unwrap() = Some(Address(raw));
        // SAFETY: from `into_raw` above, once.
        Kept::new(unsafe { Runnable::from_raw(raw) })
    }

    /// Cancels the task if it still exists. The schedule function takes the runnable, if there is
    /// one.
    pub(crate) fn cancel(&self) {
        let entry = self.0.lock().unwrap();
        // SAFETY: the address is removed under the lock, before the task ends.
        let runnable = entry.and_then(|task| unsafe { Runnable::<()>::raw_abort(task.0) });
        drop(entry);
        if let Some(runnable) = runnable {
            runnable.schedule();
        }
    }
}

pub(crate) struct Entered<F> {
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

/// The executor's schedule function has size zero.
macro_rules! as_in_the_executor {
    ($($model:ident)*) => {$(
        mod $model {
            #[test]
            fn zero_sized() {
                super::$model(crate::task::world::Schedule::ZeroSized);
            }
        }
    )*};
}

races! {
    as_in_the_executor;
    completion: race(AtOnce, &[Run], Cancel).registered().runs(0..=1);
    /// By its address and through the handle at once, and by its address again.
    a_second_abort:
        race(Never, &[Abort, Cancel], Cancel).registered().after(&[Run]).within(3).runs(1..=1);
    /// Nobody joins: either side gives the idle task its last run.
    last_waker_dropped:
        race(Never, &[DropWaker], Cancel).registered().after(&[Run, Detach]).runs(1..=1);
    woken_by_reference:
        race(Never, &[Wake(By::Reference)], Cancel).registered().after(&[Run, Detach]).runs(1..=2);
    woken_by_value:
        race(Never, &[Wake(By::Value)], Cancel).registered().after(&[Run, Detach]).runs(1..=2);
    /// The run ends pending, while there is no handle and no waker.
    run_of_a_detached_task:
        race(Never, &[Run], Cancel).registered().after(&[Detach]).runs(0..=1);
    /// The task is idle, and the drop of its handle cancels as well.
    drop_of_the_handle:
        race(Never, &[DropHandle], Cancel).registered().after(&[Run]).runs(1..=1);
    drop_of_the_handle_first:
        race(Never, &[Cancel], DropHandle).registered().after(&[Run]).runs(1..=1);
    drop_of_the_handle_against_run:
        race(Never, &[Run, DropHandle], Cancel).registered().within(3).runs(0..=1);
    /// Either side gives the idle task its last run.
    detach_of_the_handle:
        race(Never, &[Detach], Cancel).registered().after(&[Run]).runs(1..=1);
    drop_of_the_handle_against_wake:
        race(Never, &[Wake(By::Value), DropHandle], Cancel)
            .registered().after(&[Run]).within(3).runs(1..=2);
}
