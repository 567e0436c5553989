//! Panics in the schedule function, before and after it has passed the runnable on.

use crate::{
    prelude::*,
    support::{Wakes, each_row, panics, poll_with},
};

/// When the function panics: with the runnable still in hand, or once it is in the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    Before,
    After,
}

struct Scheduled {
    queue: Queue,
    futures: Count,
    functions: Count,
}

impl Scheduled {
    fn new(when: When, wakes_itself: bool) -> (Self, Runnable, JoinHandle<()>) {
        let (queue, futures, functions) = (Queue::new(), Count::new(), Count::new());
        let (guard, function) = (Dropped(futures.clone()), Dropped(functions.clone()));
        let mut woken = !wakes_itself;
        let future = poll_fn(move |cx| {
            let _guard = &guard;
            if !std::mem::replace(&mut woken, true) {
                cx.waker().wake_by_ref();
            }
            Poll::Pending
        });
        let inner = queue.clone();
        let (runnable, handle) = task::spawn(future, move |runnable| {
            let _function = &function;
            if when == When::After {
                inner.push(runnable);
            }
            panic!("in the schedule function")
        });
        let this = Self {
            queue,
            futures,
            functions,
        };
        (this, runnable, handle)
    }

    /// Demands that the task is gone, or due if the function came to that, and then gone.
    #[track_caller]
    fn end(self, when: When) {
        let due = self.queue.pop();
        assert_eq!(due.is_some(), when == When::After);
        drop(due);
        assert_eq!((self.futures.get(), self.functions.get()), (1, 1));
    }
}

fn each(wakes_itself: bool, f: impl Fn(Runnable, JoinHandle<()>)) {
    for when in [When::Before, When::After] {
        let (task, runnable, handle) = Scheduled::new(when, wakes_itself);
        f(runnable, handle);
        task.end(when);
    }
}

#[test]
fn called_in_each_way() {
    each_row(CALLS, |call| {
        // It is cancelled, or due. What is left of it does not schedule it in either case.
        each(false, |runnable, handle| {
            panics(|| call(runnable, handle));
        });
    });
}

#[test]
fn scheduled_again_by_a_run() {
    each(true, |runnable, handle| {
        panics(|| runnable.run());
        drop(handle);
    });
}

#[test]
fn cancelled_by_its_handle() {
    each(false, |runnable, mut handle| {
        runnable.run();
        let wakes = Wakes::new();
        assert!(poll_with(&mut handle, &wakes.waker()).is_pending());
        panics(|| drop(handle));
        assert_eq!(wakes.wakers(), 0, "dropped also on unwinding");
    });
}
