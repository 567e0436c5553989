//! A future whose poll panics is dropped while that panic unwinds, as a local variable of the poll
//! is: its destructor sees that the thread is panicking, by which a lock in it is poisoned too. In
//! whatever it is polled by.

use crate::{
    prelude::*,
    support::{Unwound, panicking, panics},
};

#[test]
fn a_panicking_task_drops_its_future_during_the_unwinding() {
    for detach in [false, true] {
        let (queue, seen) = (Queue::new(), Unwound::default());
        let handle = queue.start(panicking(&seen));
        if detach {
            handle.detach();
            queue.run();
        } else {
            queue.run();
            assert!(is_panicked(handle));
        }
        assert_eq!(*seen.lock().unwrap(), [true]);
        assert_eq!(queue.tasks(), 0);
    }
}

#[test]
fn a_panic_through_run_drops_the_future_while_it_unwinds() {
    let (queue, seen) = (Queue::new(), Unwound::default());
    let builder = Builder::new().propagate_panic(false);
    let runnable = builder.spawn_detached(|()| panicking(&seen), queue.scheduler());
    panics(|| runnable.run());
    assert_eq!(*seen.lock().unwrap(), [true]);
    assert_eq!(queue.tasks(), 0);
}
