//! Waking: while idle, due, running and ended; and what becomes of a task that nobody can wake any
//! more.

use crate::prelude::*;

#[test]
fn many_wakes_make_one_run() {
    let queue = Queue::new();
    let (runnable, handle) = queue.spawn(pending_once());
    let waker = runnable.waker();
    waker.wake_by_ref();
    assert_eq!(queue.len(), 0, "it is due already");
    assert!(!runnable.run(), "consumed by the run");
    for _ in 0..5 {
        waker.wake_by_ref();
    }
    waker.clone().wake();
    assert_eq!(queue.len(), 1);
    drop(waker);
    assert_eq!(queue.run(), 1);
    ready(handle);
    assert_eq!(queue.tasks(), 0);
}

#[test]
fn a_waker_may_be_cloned_and_used_while_the_future_is_dropped() {
    let queue = Queue::new();
    let place = Arc::new(Mutex::new(None::<Waker>));
    let kept = Arc::new(Mutex::new(Vec::new()));
    let (own, keep) = (place.clone(), kept.clone());
    let guard = OnDrop(move || {
        let waker = own.lock().unwrap().take().expect("put there below");
        waker.wake_by_ref();
        keep.lock().unwrap().push(waker.clone());
        waker.wake();
    });
    let (runnable, handle) = queue.spawn(keeping(guard));
    *place.lock().unwrap() = Some(runnable.waker());
    runnable.run();
    drop(handle);
    assert_eq!(
        queue.run(),
        1,
        "a task that is being dropped is not run again"
    );
    assert_eq!(queue.tasks(), 1);
    kept.lock().unwrap().clear();
    assert_eq!(queue.tasks(), 0);
}
