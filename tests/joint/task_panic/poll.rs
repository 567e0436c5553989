//! Panics while the future is polled.

use std::num::NonZero;

use crate::{prelude::*, support::panics};

/// Panics in two places one after the other, each caught: the second finds the task whole.
#[test]
fn one_after_the_other() {
    let queue = Queue::new();
    let dropped = Count::new();
    let payload = Dropped(dropped.clone());
    let again = Arc::new(Mutex::new(Some(payload)));
    let mut handle: JoinHandle<()> = queue.start(async move {
        let payload = again.lock().unwrap().take().unwrap();
        panic_any(payload)
    });
    queue.run();
    let payload = panics(|| poll(&mut handle));
    assert_eq!(dropped.get(), 0, "the payload is the one who awaits");
    drop(payload);
    assert_eq!(dropped.get(), 1);
    panics(|| poll(&mut handle));
    drop(handle);
    assert_eq!(queue.tasks(), 0);
}

/// The payload of a task's panic is an output like any other.
#[test]
fn a_panic_is_discarded_when_the_handle_drops_a_panic_payload() {
    let (queue, dropped) = (Queue::new(), Count::new());
    let payload = PanicsInDrop(dropped.clone(), "in the payload's drop");
    let handle = queue.start(async move { panic_any(payload) });
    queue.run();
    drop::<JoinHandle<()>>(handle);
    assert_eq!((dropped.get(), queue.tasks()), (1, 0));
}

#[test]
fn the_error_passes_a_catch_unwind_as_it_is() {
    let queue = Queue::new();
    let handle: JoinHandle<()> = queue.start(async { panic_any(7u32) });
    queue.run();
    let error = ready(handle.result()).unwrap_err();
    let text = catch_unwind(|| error.to_string()).unwrap();
    assert!(text.ends_with("panicked"), "{text}");
    let passed_on = catch_unwind(move || match error {
        JoinError::Panicked(payload) => payload.resume(),
        JoinError::Cancelled(_) => (),
    });
    assert_eq!(passed_on.unwrap_err().downcast_ref(), Some(&7u32));
}

/// Only while functions are set does a payload get a number, which no other one has.
#[test]
fn a_look_at_a_payload_is_reported_to_whoever_has_its_number() {
    thread_local! {
        static UNSEEN: RefCell<Vec<NonZero<u64>>> = const { RefCell::new(Vec::new()) };
        static SEEN: RefCell<Vec<NonZero<u64>>> = const { RefCell::new(Vec::new()) };
    }
    let caught = || {
        let queue = Queue::new();
        let handle: JoinHandle<()> = queue.start(async { panic!("in poll") });
        queue.run();
        ready(handle.result()).unwrap_err()
    };
    let before = caught();
    let on_panic = OnPanic {
        caught: |number, _| UNSEEN.with_borrow_mut(|all| all.push(number)),
        seen: |number| SEEN.with_borrow_mut(|all| all.push(number)),
    };
    let unset = host::update(|host| host.on_panic = Some(on_panic));
    assert!(unset.on_panic.is_none());
    let (first, second) = (caught(), caught());
    let elsewhere = std::thread::spawn(move || {
        host::update(|host| host.on_panic = Some(on_panic));
        drop(caught());
        UNSEEN.take()
    });
    for error in [before, second, first] {
        assert!(error.to_string().ends_with("in poll"));
    }
    let (unseen, mut seen) = (UNSEEN.take(), SEEN.take());
    seen.reverse();
    assert_eq!(unseen, seen);
    assert!(!unseen.contains(&elsewhere.join().unwrap()[0]) && unseen[0] != unseen[1]);
}
