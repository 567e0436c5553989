//! Panics in the functions of the waker of one who waits for a task.

use crate::{
    hooked::Hooks,
    prelude::*,
    support::{Wakes, each_row, panics, poll_with},
};

fn awaited(queue: &Queue) -> (Arc<Hooks>, Runnable, JoinHandle<u32>) {
    let (waiter, waker) = hooked();
    let (runnable, mut handle) = queue.spawn(async {
        pending_once().await;
        7
    });
    assert!(poll_with(&mut handle, &waker).is_pending());
    drop(waker);
    assert_eq!(waiter.wakers(), 1);
    (waiter, runnable, handle)
}

#[test]
fn its_clone_leaves_what_was_registered_before() {
    for is_first in [true, false] {
        let (queue, wakes) = (Queue::new(), Wakes::new());
        let (waiter, waker) = hooked();
        let mut handle = queue.start(async { 7 });
        if !is_first {
            assert!(poll_with(&mut handle, &wakes.waker()).is_pending());
        }
        waiter.panics_next(At::Clone);
        panics(|| poll_with(&mut handle, &waker));
        assert_eq!(waiter.wakers(), 1);
        if is_first {
            assert!(poll_with(&mut handle, &waker).is_pending());
        }
        drop(waker);
        queue.run();
        assert_eq!(waiter.wakers(), 0);
        let woken = usize::from(!is_first);
        assert_eq!((wakes.count(), wakes.wakers()), (woken, 0));
        assert_eq!(ready(handle), 7);
        assert_eq!(queue.tasks(), 0);
    }
}

#[test]
fn its_wake_leaves_the_output_to_be_taken() {
    let queue = Queue::new();
    let (waiter, runnable, handle) = awaited(&queue);
    let waker = runnable.waker();
    runnable.run();
    waker.wake();
    waiter.panics_next(At::Wake);
    panics(|| queue.pop().unwrap().run());
    assert_eq!(waiter.wakers(), 0);
    assert_eq!(ready(handle), 7);
    assert_eq!(queue.tasks(), 0);
}

#[test]
fn its_drop_when_the_handle_goes() {
    type Way = fn(JoinHandle<u32>);
    let ways: [(&str, Way); 2] = [
        ("it is dropped", drop),
        ("it is detached", |handle| handle.detach()),
    ];
    each_row(ways, |way| {
        for is_idle in [false, true] {
            let queue = Queue::new();
            let (waiter, runnable, handle) = awaited(&queue);
            if is_idle {
                runnable.run();
            } else {
                queue.push(runnable);
            }
            waiter.panics_next(At::Drop);
            panics(|| way(handle));
            assert_eq!(waiter.wakers(), 0);
            assert_eq!(queue.run(), 1, "the handle had let go before");
            assert_eq!(queue.tasks(), 0);
        }
    });
}
