//! Panics that pass through the run: tasks that do not keep them for whoever joins.

use crate::{
    prelude::*,
    support::{Wakes, panics, poll_with},
};

fn spawn<F>(queue: &Queue, future: F) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future<Output: Send> + Send + 'static,
{
    let builder = Builder::new().propagate_panic(false);
    builder.spawn(|()| future, queue.scheduler())
}

fn panicking(dropped: &Count) -> impl Future<Output = ()> + Send + use<> {
    let guard = Dropped(dropped.clone());
    async move {
        let _guard = guard;
        panic!("in poll")
    }
}

#[test]
fn a_panic_that_unwinds_through_run_is_joined_as_cancelled() {
    let queue = Queue::new();
    let (dropped, wakes) = (Count::new(), Wakes::new());
    let (runnable, mut handle) = spawn(&queue, panicking(&dropped));
    assert!(poll_with(&mut handle, &wakes.waker()).is_pending());
    let payload = panics(|| runnable.run());
    assert_eq!(payload.downcast_ref(), Some(&"in poll"));
    assert_eq!((wakes.count(), wakes.wakers()), (1, 0));
    assert_eq!(dropped.get(), 1);
    assert!(is_cancelled(handle));
    assert_eq!(queue.tasks(), 0);
}

/// Panics in its poll, or is ready there; and panics in its drop.
struct Panicking {
    in_poll: bool,
    drops: Count,
}

impl Future for Panicking {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        assert!(!self.in_poll, "in poll");
        Poll::Ready(())
    }
}

impl Drop for Panicking {
    fn drop(&mut self) {
        self.drops.add();
        panic!("in the future's drop");
    }
}

#[test]
fn the_first_panic_propagates_if_the_futures_drop_panics_too() {
    for detach in [false, true] {
        let queue = Queue::new();
        let drops = Count::new();
        let future = Panicking {
            in_poll: true,
            drops: drops.clone(),
        };
        let (runnable, handle) = spawn(&queue, future);
        let handle = match detach {
            true => {
                handle.detach();
                None
            }
            false => Some(handle),
        };
        let payload = panics(|| runnable.run());
        assert_eq!(payload.downcast_ref(), Some(&"in poll"));
        assert_eq!(drops.get(), 1);
        if let Some(handle) = handle {
            ready(handle.result()).expect_err("there is no output");
        }
        assert_eq!(queue.tasks(), 0);
    }
}

#[test]
fn a_panic_that_is_propagated_by_choice_is_joined() {
    let queue = Queue::new();
    let builder = Builder::new().propagate_panic(false).propagate_panic(true);
    let (runnable, handle) = builder.spawn(|()| panicking(&Count::new()), queue.scheduler());
    assert!(!runnable.run());
    assert!(is_panicked(handle));
    assert_eq!(queue.tasks(), 0);
}
