//! Joining: before the end, after it, through another waker, as a value.

use crate::{prelude::*, support::poll_with};

#[test]
#[should_panic = "polled again after it had returned the result"]
fn polling_a_handle_again_after_its_output_panics() {
    let queue = Queue::new();
    let mut handle = queue.start(async {});
    queue.run();
    assert!(poll(&mut handle).is_ready());
    let _ = poll(&mut handle);
}

#[test]
fn the_future_is_gone_before_the_end_can_be_seen() {
    let queue = Queue::new();
    let dropped = Count::new();
    let guard = Dropped(dropped.clone());
    let mut handle = queue.start(async move {
        let _guard = guard;
    });
    let woken = Count::new();
    let wakes = woken.clone();
    let waker = waker_that(move || {
        assert_eq!(dropped.get(), 1);
        wakes.add();
    });
    assert!(poll_with(&mut handle, &waker).is_pending());
    queue.run();
    assert_eq!(woken.get(), 1);
    ready(handle);
}

#[test]
fn a_task_that_awaits_itself_is_pending_until_it_is_cancelled() {
    let queue = Queue::new();
    let place = with_its_handle(&queue, |own: Place| {
        poll_fn(move |cx| {
            let mut own = own.lock().unwrap();
            Pin::new(own.as_mut().expect("put there below")).poll(cx)
        })
    });
    assert_eq!(queue.run(), 1);
    let mut cancel = place.lock().unwrap().take().unwrap().cancel();
    assert!(poll(&mut cancel).is_pending());
    assert_eq!(queue.run(), 1);
    assert_eq!(poll(&mut cancel), Poll::Ready(None));
    drop(cancel);
    assert_eq!(queue.tasks(), 0);
}
