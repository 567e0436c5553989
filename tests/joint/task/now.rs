//! A task that is polled once before its spawner has it.

use crate::{
    prelude::*,
    support::{panics, yield_now},
};

fn start<F>(queue: &Queue, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    task::spawn_now(future, queue.scheduler())
}

#[test]
fn the_first_poll_leaves_what_it_must() {
    let queue = Queue::new();
    let handle = start(&queue, async { 6 * 7 });
    assert_eq!((ready(handle), queue.len(), queue.tasks()), (42, 0, 0));

    let handle = start(&queue, yield_now());
    assert_eq!(queue.len(), 1, "it has woken itself");
    assert_eq!(queue.run(), 1);
    ready(handle);

    let (sender, receiver) = joint::oneshot::channel::<Waker>();
    let mut sender = Some(sender);
    let handle = start(
        &queue,
        poll_fn(move |cx| match sender.take() {
            Some(sender) => {
                _ = sender.send(cx.waker().clone());
                Poll::Pending
            }
            None => Poll::Ready(1),
        }),
    );
    assert_eq!(queue.len(), 0, "it waits");
    joint::block_on(receiver).unwrap().wake();
    assert_eq!(queue.run(), 1);
    assert_eq!(ready(handle), 1);

    let handle = start(&queue, async { panic!("in the first poll") });
    let error: Result<(), _> = ready(handle.result());
    assert!(matches!(error, Err(JoinError::Panicked(_))));

    let dropped = Count::new();
    let future = guarded(&dropped);
    drop(start(&queue, future));
    assert_eq!(
        (queue.run(), dropped.get()),
        (1, 1),
        "the handle cancels it"
    );
    assert_eq!(queue.tasks(), 0);
}

/// The current task is the new one during its poll, and the spawner's before and after it. A
/// wake-up of the spawner by the new task is not lost.
#[test]
fn the_spawner_is_the_current_task_again() {
    let queue = Queue::new();
    let inner = queue.clone();
    let mut polls = 0;
    let handle = queue.start(poll_fn(move |cx| {
        polls += 1;
        if polls == 2 {
            return Poll::Ready(());
        }
        let (spawner, waker) = (task::id(), cx.waker().clone());
        let started = start(&inner, async move {
            waker.wake();
            task::id()
        });
        let id = started.id();
        assert_eq!((ready(started), task::id()), (id, spawner));
        Poll::Pending
    }));
    assert_eq!(queue.run(), 2);
    ready(handle);
}

#[test]
fn a_panic_that_passes_leaves_no_task() {
    let queue = Queue::new();
    let builder = Builder::new().propagate_panic(false);
    let scheduler = queue.scheduler();
    let start = || builder.spawn_now(|()| async { panic!("it passes") }, scheduler);
    assert_eq!(panics(start).downcast_ref(), Some(&"it passes"));
    assert_eq!(queue.tasks(), 0);
}
