//! The id of a task, which is made when somebody first asks for it; and abort handles.

use std::{
    future::{pending, ready},
    sync::{Arc, Mutex},
};

use loom_tests::Value;

use crate::world::{Kept, Schedule, explore, explore_bounded, join_now};

tests! {
    two_ask_at_once
    one_attaches_while_another_asks
    one_asks_against_the_end
    abort_against_the_drop_of_the_handle
    abort_against_the_end
}

/// Both get the id of the one that was faster.
pub(crate) fn two_ask_at_once(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, ready(world.value()));
        let abort = Kept::new(handle.abort_handle());
        let answer = Arc::new(Mutex::new(None));
        let answers = answer.clone();
        let other = world.start(move || *answers.lock().unwrap() = Some(abort.take().id()));
        let id = handle.id();
        other.join().unwrap();
        assert_eq!(*answer.lock().unwrap(), Some(id));
        world.run_and_drain(runnable);
        join_now(handle);
    });
}

/// If the value comes first, both get the id that it was made for.
pub(crate) fn one_attaches_while_another_asks(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, ready(world.value()));
        let abort = Kept::new(handle.abort_handle());
        let answer = Arc::new(Mutex::new(None));
        let answers = answer.clone();
        let other = world.start(move || *answers.lock().unwrap() = Some(abort.take().id()));
        let (value, mut made_for) = (world.value(), None);
        let is_attached = runnable.attach(|id| {
            made_for = Some(id);
            Box::new(value)
        });
        let data = runnable.view().data();
        assert_eq!(data.is_some_and(|data| data.is::<Value>()), is_attached);
        assert_eq!(made_for == Some(runnable.id()), is_attached);
        other.join().unwrap();
        assert_eq!(*answer.lock().unwrap(), Some(runnable.id()));
        world.run_and_drain(runnable);
        join_now(handle);
    });
}

/// The block of the id is freed with the task, after the one who asked has read it.
pub(crate) fn one_asks_against_the_end(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, ready(world.value()));
        let abort = Kept::new(handle.abort_handle());
        let other = world.start(move || _ = abort.take().id());
        let _id = runnable.id();
        world.run_and_drain(runnable);
        join_now(handle);
        other.join().unwrap();
    });
}

/// The task is idle: its handle cancels it, or another does. At most three preemptions.
pub(crate) fn abort_against_the_drop_of_the_handle(how: Schedule) {
    explore_bounded(3, move |world| {
        let (runnable, handle) = world.spawn(how, pending::<Value>());
        let abort = Kept::new(handle.abort_handle());
        runnable.take().run();
        let other = world.start(move || {
            let abort = abort.take();
            abort.abort();
        });
        drop(handle);
        world.drain();
        other.join().unwrap();
        assert_eq!(world.runs(), 1);
    });
}

/// At most three preemptions.
pub(crate) fn abort_against_the_end(how: Schedule) {
    explore_bounded(3, move |world| {
        let (runnable, handle) = world.spawn(how, ready(world.value()));
        let abort = Kept::new(handle.abort_handle());
        let other = world.start(move || {
            let abort = abort.take();
            abort.abort();
            abort.is_finished();
        });
        handle.take().detach();
        world.run_and_drain(runnable);
        other.join().unwrap();
    });
}
