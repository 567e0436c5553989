//! Panics while the future or the output is dropped.

use std::{
    future::{Future, pending},
    panic::panic_any,
    pin::Pin,
    task::{Context, Poll},
};

use joint::JoinHandle;

use crate::{
    is_panicked,
    support::{Count, Dropped, OnDrop, Queue, panics, poll},
};

/// A future that never ends, counts its drop, and then panics.
fn panicking_drop(dropped: &Count) -> impl Future<Output = ()> + Send + use<> {
    let count = dropped.clone();
    let guard = OnDrop(move || {
        count.add();
        panic!("in the future's drop")
    });
    async move {
        let _guard = guard;
        pending().await
    }
}

mod of_the_future {
    use super::*;

    #[test]
    fn after_it_was_ready_the_output_is_dropped() {
        let queue = Queue::new();
        let (futures, outputs) = (Count::new(), Count::new());
        struct Ready(Count, Option<Dropped>);
        impl Future for Ready {
            type Output = Dropped;
            fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Dropped> {
                Poll::Ready(self.1.take().unwrap())
            }
        }
        impl Drop for Ready {
            fn drop(&mut self) {
                self.0.add();
                panic!("in the future's drop");
            }
        }
        let future = Ready(futures.clone(), Some(Dropped(outputs.clone())));
        let handle = queue.start(future);
        queue.run();
        assert_eq!((futures.get(), outputs.get()), (1, 1));
        assert!(is_panicked(handle));
        assert_eq!(queue.tasks(), 0);
    }

    #[test]
    fn of_a_cancelled_task_it_is_the_result() {
        let queue = Queue::new();
        let dropped = Count::new();
        let handle = queue.start(panicking_drop(&dropped));
        queue.run();
        let mut cancel = handle.cancel();
        queue.run();
        assert_eq!(dropped.get(), 1);
        panics(|| poll(&mut cancel));
        drop(cancel);
        assert_eq!(queue.tasks(), 0);
    }

    #[test]
    fn of_a_dropped_runnable_it_does_not_reach_the_one_who_drops() {
        let queue = Queue::new();
        let dropped = Count::new();
        let (runnable, handle) = queue.spawn(panicking_drop(&dropped));
        let waker = runnable.waker();
        runnable.run();
        waker.wake();
        drop(queue.pop());
        assert_eq!(dropped.get(), 1);
        assert!(is_panicked(handle));
        assert_eq!(queue.tasks(), 0);
    }

    #[test]
    fn of_an_orphan_it_goes_nowhere() {
        let queue = Queue::new();
        for found_by_the_run in [false, true] {
            let dropped = Count::new();
            let (runnable, handle) = queue.spawn(panicking_drop(&dropped));
            if found_by_the_run {
                handle.detach();
                runnable.run();
            } else {
                runnable.run();
                handle.detach();
                assert_eq!(queue.run(), 1);
            }
            assert_eq!((dropped.get(), queue.tasks()), (1, 0));
        }
    }

    #[test]
    fn of_a_task_whose_handle_was_dropped_it_goes_nowhere() {
        let queue = Queue::new();
        let dropped = Count::new();
        let handle = queue.start(panicking_drop(&dropped));
        queue.run();
        drop(handle);
        assert_eq!(queue.run(), 1);
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    }
}

mod of_the_output {
    use super::*;

    fn output(dropped: &Count) -> impl Send + Unpin + use<> {
        let count = dropped.clone();
        OnDrop(move || {
            count.add();
            panic!("in the output's drop")
        })
    }

    /// As when the handle goes first, and the run drops the output: which of the two is up to
    /// chance.
    #[test]
    fn by_the_handle_it_goes_nowhere() {
        let queue = Queue::new();
        let dropped = Count::new();
        for detach in [false, true] {
            let output = output(&dropped);
            let handle = queue.start(async move { output });
            queue.run();
            match detach {
                true => handle.detach(),
                false => drop(handle),
            }
            assert_eq!(queue.tasks(), 0);
        }
        assert_eq!(dropped.get(), 2);
    }

    #[test]
    fn by_a_handle_that_is_dropped_while_a_panic_unwinds_it_does_not_meet_that() {
        let queue = Queue::new();
        let dropped = Count::new();
        let output = output(&dropped);
        let handle = queue.start(async move { output });
        queue.run();
        let payload = panics(|| {
            let _handle = handle;
            panic!("the first")
        });
        assert_eq!(payload.downcast_ref(), Some(&"the first"));
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    }

    /// What a task has panicked with is an output like any other.
    #[test]
    fn of_a_panics_payload_it_goes_nowhere() {
        let queue = Queue::new();
        let dropped = Count::new();
        let payload = output(&dropped);
        let handle = queue.start(async move { panic_any(payload) });
        queue.run();
        drop::<JoinHandle<()>>(handle);
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    }

    #[test]
    fn taken_by_the_one_who_awaits_it_is_theirs() {
        let queue = Queue::new();
        let dropped = Count::new();
        let output = output(&dropped);
        let mut handle = queue.start(async move { output });
        queue.run();
        let taken = poll(&mut handle);
        drop(handle);
        panics(|| drop(taken));
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    }

    #[test]
    fn by_the_run_of_a_detached_task_it_goes_nowhere() {
        let queue = Queue::new();
        let dropped = Count::new();
        let output = output(&dropped);
        queue.start(async move { output }).detach();
        queue.run();
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    }

    #[test]
    fn with_a_waker_left_the_memory_waits_for_that() {
        let queue = Queue::new();
        let dropped = Count::new();
        let output = output(&dropped);
        let (runnable, handle) = queue.spawn(async move { output });
        let waker = runnable.waker();
        runnable.run();
        drop(handle);
        assert_eq!((dropped.get(), queue.tasks()), (1, 1));
        waker.wake();
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    }
}
