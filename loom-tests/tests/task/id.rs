//! The id of a task, which is made when somebody first asks for it; and abort handles.

use std::sync::Mutex;

use joint::{JoinHandle, task::AbortHandle};
use loom_tests::lab::thread::{self, ThreadId};

use super::{
    race::has_output,
    world::{Kept, Schedule, explore, explore_bounded, poll_once},
};
use crate::prelude::*;

scheduled! {
    the_end_stays_seen_when_the_handle_registers: |how| the_end_stays_seen(how, |handle| drop(handle.as_deref_mut().map(poll_once)));
}

tests! {
    two_ask_at_once
    one_attaches_while_another_asks
    the_end_stays_seen_when_the_handle_detaches
}

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
        assert!(has_output(&mut Kept::new(handle.take().result())));
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
        assert!(has_output(&mut Kept::new(handle.take().result())));
    });
}

/// An output that the main thread drops only after the end, and then asks.
struct Asks(Value, Arc<Mutex<Option<AbortHandle>>>, ThreadId);

impl Drop for Asks {
    fn drop(&mut self) {
        self.0.look();
        let abort = self.1.lock().unwrap().take();
        let has_ended = abort.is_none_or(|abort| abort.is_finished());
        assert!(has_ended || thread::current().id() != self.2);
    }
}

/// Each exchange that the handle makes takes the end out of the join word.
fn the_end_stays_seen(how: Schedule, exchange: fn(&mut Option<Kept<JoinHandle<Asks>>>)) {
    explore_bounded(3, move |world| {
        let slot = Arc::new(Mutex::new(None));
        let output = Asks(world.value(), slot.clone(), thread::current().id());
        let (runnable, handle) = world.spawn(how, ready(output));
        let abort = Kept::new(handle.abort_handle());
        *slot.lock().unwrap() = Some(handle.abort_handle());
        let other = world.start(move || {
            runnable.take().run();
            let abort = abort.take();
            assert!(!abort.is_finished() || abort.is_finished());
        });
        let mut handle = Some(handle);
        exchange(&mut handle);
        world.drain();
        other.join().unwrap();
        drop(handle);
    });
}

pub(crate) fn the_end_stays_seen_when_the_handle_detaches(how: Schedule) {
    the_end_stays_seen(how, |handle| drop(handle.take()));
}
