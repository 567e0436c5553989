//! A future whose poll panics is dropped while that panic unwinds, as a local variable of the poll
//! is: its destructor sees that the thread is panicking, and a lock in it is poisoned. In whatever
//! it is polled by.

use std::{
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::{Mutex, MutexGuard},
    task::{Context, Poll},
};

use joint::{
    JoinHandle, block_on,
    task::{Builder, spawn_local},
};

use crate::support::{Queue, Unwound, is_panicked, panicking, panics};

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

#[test]
fn a_lock_in_it_is_poisoned() {
    struct Locks(Rc<Mutex<()>>, Option<MutexGuard<'static, ()>>);
    impl Future for Locks {
        type Output = ();

        fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            // SAFETY: the guard is dropped before the reference to the mutex goes.
            let mutex: &'static Mutex<()> = unsafe { &*Rc::as_ptr(&self.0) };
            self.1 = Some(mutex.lock().unwrap());
            panic!("under the lock")
        }
    }
    impl Drop for Locks {
        fn drop(&mut self) {
            self.1 = None;
        }
    }
    let mutex = Rc::new(Mutex::new(()));
    let (runnable, handle) = spawn_local(Locks(mutex.clone(), None), |_| ());
    runnable.run();
    assert!(panics_in_time(handle));
    assert!(mutex.is_poisoned());
}

/// Waits for a task that panics.
fn panics_in_time(handle: JoinHandle<()>) -> bool {
    block_on(handle.result()).is_err_and(|error| error.is_panic())
}
