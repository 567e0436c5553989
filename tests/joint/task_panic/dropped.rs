//! Panics while the future or the output is dropped.

use std::{
    future::{Future, pending},
    panic::panic_any,
    pin::Pin,
    task::{Context, Poll},
};

use joint::JoinHandle;

use crate::{
    support::{Count, Dropped, OnDrop, Queue, panics, poll},
    task_panic::is_panicked,
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
    fn a_panic_in_the_drop_of_a_ready_future_drops_the_output() {
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
    fn a_panic_in_the_drop_of_a_cancelled_future_is_the_result() {
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
    fn a_panic_in_the_drop_of_a_runnables_future_does_not_reach_the_dropper() {
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
    fn a_panic_in_the_drop_of_an_orphans_future_is_discarded() {
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
    fn a_panic_in_the_drop_of_a_future_without_a_handle_is_discarded() {
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
    fn a_panic_is_discarded_when_the_handle_drops_the_output() {
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
    fn a_handle_that_drops_the_output_during_an_unwinding_does_not_abort() {
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

    /// The payload of a task's panic is an output like any other.
    #[test]
    fn a_panic_is_discarded_when_the_handle_drops_a_panic_payload() {
        let queue = Queue::new();
        let dropped = Count::new();
        let payload = output(&dropped);
        let handle = queue.start(async move { panic_any(payload) });
        queue.run();
        drop::<JoinHandle<()>>(handle);
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    }

    #[test]
    fn a_panic_in_the_drop_of_an_output_that_was_taken_reaches_its_owner() {
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
    fn a_panic_is_discarded_when_the_run_of_a_detached_task_drops_the_output() {
        let queue = Queue::new();
        let dropped = Count::new();
        let output = output(&dropped);
        queue.start(async move { output }).detach();
        queue.run();
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    }

    #[test]
    fn a_panicking_output_leaves_the_memory_to_the_last_waker() {
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
