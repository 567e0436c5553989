//! Cases that end the program: panics while panicking, where nobody is left to tell.
#![cfg(not(miri))]

use std::mem::forget;

use crate::{
    prelude::*,
    support::{ends_the_program, poll_with},
};

fn panics_in_drop(text: &'static str) -> impl Send {
    OnDrop(move || panic!("{text}"))
}

#[test]
fn a_pool_that_is_dropped_while_a_waker_is_left_aborts() {
    ends_the_program("a `TaskPool` was dropped while", || {
        let storage = pin!(TaskStorage::<256>::new());
        let slot = storage.as_ref().reserve_pinned().unwrap();
        let runnable = Builder::new()
            .slot(slot)
            .spawn_detached(|()| async {}, |_| {});
        let waker = runnable.waker();
        runnable.run();
        forget(waker);
    });
}

#[test]
fn a_second_panic_in_the_drop_of_the_output_aborts() {
    ends_the_program(
        "dropping the output or the payload of a panicked task",
        || {
            let (future, output) = (panics_in_drop("future"), panics_in_drop("output"));
            let mut output = Some(output);
            let (runnable, _handle) = Queue::new().spawn(poll_fn(move |_| {
                let _future = &future;
                Poll::Ready(output.take().unwrap())
            }));
            runnable.run();
        },
    );
}

#[test]
fn a_panicking_waker_during_a_propagated_panic_aborts() {
    ends_the_program("waking the waiter of a panicked task", || {
        let builder = Builder::new().propagate_panic(false);
        let (runnable, mut handle) = builder.spawn(|()| async { panic!("in poll") }, |_| {});
        let waker = waker_that(|| panic!("in the waker"));
        let pending = poll_with::<joint::JoinHandle<()>>(&mut handle, &waker);
        assert!(pending.is_pending());
        runnable.run();
    });
}

/// A schedule function that panics where its task could be neither woken nor joined any more.
#[derive(Clone, Copy)]
struct Panics {
    at_end: bool,
}

impl Schedule for Panics {
    fn schedule(&self, _: Runnable, _: ScheduleInfo) {}

    fn pending(&self, _: &PendingTask<'_, ()>) {
        assert!(self.at_end, "pending");
    }

    fn ended(&self, _: &EndedTask<'_, ()>, _: TaskEnd) {
        assert!(!self.at_end, "ended");
    }
}

#[test]
fn a_panic_of_a_schedule_functions_pending_aborts() {
    ends_the_program("a schedule function's `pending` panicked", || {
        let (runnable, _handle) =
            Builder::new().spawn(|()| pending::<()>(), Panics { at_end: false });
        runnable.run();
    });
}

#[test]
fn a_panic_of_a_schedule_functions_ended_aborts() {
    ends_the_program("a schedule function's `ended` panicked", || {
        let (runnable, _handle) = Builder::new().spawn(|()| async {}, Panics { at_end: true });
        runnable.run();
    });
}

#[test]
fn a_panic_of_a_function_that_is_told_of_panics_aborts() {
    ends_the_program("a function of `Host::on_panic` panicked", || {
        let (caught, seen) = (|_, _: Option<&str>| panic!("in the hook"), |_| ());
        host::update(|host| host.on_panic = Some(OnPanic { caught, seen }));
        let (runnable, _handle) = task::spawn(async { panic!("in poll") }, |_| {});
        runnable.run();
    });
}

/// A local future that has been polled is pinned: it can be neither touched on another thread nor
/// left behind in memory that is given back.
#[test]
fn dropping_a_polled_local_future_on_another_thread_aborts() {
    ends_the_program("was dropped by another thread", || {
        let (runnable, handle) = task::spawn_local(pending::<()>(), |runnable| {
            let _ = thread::spawn(move || runnable.run()).join();
        });
        runnable.run();
        handle.abort();
    });
}
