//! Cancelling a task that is idle, due, running or ended; by its handle, by its runnable, by the
//! end of its queue.

use crate::{
    prelude::*,
    support::{Wakes, each_row, poll_with},
};

/// A task that does something with its own handle while it is polled.
fn running<T: Send + 'static>(
    queue: &Queue,
    then: impl FnOnce(JoinHandle<T>) -> Option<JoinHandle<T>> + Send + 'static,
    rest: impl Future<Output = T> + Send + 'static,
) -> Place<T> {
    with_its_handle(queue, |own| async move {
        let handle = own
            .lock()
            .unwrap()
            .take()
            .expect("put there before it runs");
        *own.lock().unwrap() = then(handle);
        rest.await
    })
}

#[test]
fn a_running_task_that_is_pending_then_ends_in_that_very_run() {
    let queue = Queue::new();
    let dropped = Count::new();
    let abort = |handle: JoinHandle<()>| {
        handle.abort();
        Some(handle)
    };
    let place = running(&queue, abort, guarded(&dropped));
    assert!(!queue.pop().unwrap().run(), "not scheduled again");
    assert_eq!((queue.len(), dropped.get()), (0, 1));
    assert!(is_cancelled(place.lock().unwrap().take().unwrap()));
    assert_eq!(queue.tasks(), 0);
}

#[test]
fn a_running_task_that_is_ready_then_has_its_output() {
    let queue = Queue::new();
    let abort = |handle: JoinHandle<u32>| {
        handle.abort();
        Some(handle)
    };
    let place = running(&queue, abort, async { 7 });
    assert!(!queue.pop().unwrap().run());
    assert_eq!(queue.len(), 0);
    assert_eq!(ready(place.lock().unwrap().take().unwrap()), 7);
    assert_eq!(queue.tasks(), 0);
}

#[test]
fn an_aborted_task_ends_whatever_becomes_of_its_handle() {
    type Way = fn(JoinHandle<()>);
    let ways: [(&str, Way); 3] = [
        ("aborted and dropped", |handle| handle.abort()),
        ("aborted and detached", |handle| {
            handle.abort();
            handle.detach();
        }),
        ("its `cancel` is dropped", |handle| drop(handle.cancel())),
    ];
    each_row(ways, |way| {
        let (queue, dropped) = (Queue::new(), Count::new());
        let handle = queue.start(guarded(&dropped));
        queue.run();
        way(handle);
        assert_eq!(queue.run(), 1);
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    });
}

#[test]
fn a_handle_dropped_in_its_own_poll_cancels() {
    let queue = Queue::new();
    let dropped = Count::new();
    let place = running(&queue, |_handle: JoinHandle<()>| None, guarded(&dropped));
    assert!(!queue.pop().unwrap().run());
    assert_eq!((queue.len(), dropped.get()), (0, 1));
    drop(place);
    assert_eq!(queue.tasks(), 0);
}

#[test]
fn a_handle_dropped_in_its_own_last_poll_drops_the_output() {
    let queue = Queue::new();
    let dropped = Count::new();
    let output = Dropped(dropped.clone());
    let drop_it = |_handle: JoinHandle<Dropped>| None;
    running(&queue, drop_it, async move { output });
    assert_eq!(queue.run(), 1);
    assert_eq!((dropped.get(), queue.tasks()), (1, 0));
}

#[test]
fn a_handle_detached_in_its_own_poll_lets_the_task_run_on() {
    let queue = Queue::new();
    let dropped = Count::new();
    let output = Dropped(dropped.clone());
    let waker = Arc::new(Mutex::new(None::<Waker>));
    let keep = waker.clone();
    let detach = |handle: JoinHandle<Dropped>| {
        handle.detach();
        None
    };
    let rest = async move {
        let mut first = true;
        std::future::poll_fn(|cx| {
            *keep.lock().unwrap() = Some(cx.waker().clone());
            match std::mem::take(&mut first) {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
        output
    };
    running(&queue, detach, rest);
    assert!(!queue.pop().unwrap().run());
    let woken = waker.lock().unwrap().take().unwrap();
    woken.wake();
    assert_eq!(queue.run(), 1);
    drop(waker);
    assert_eq!((dropped.get(), queue.tasks()), (1, 0));
}

#[test]
fn tasks_outlive_their_queue() {
    let queue = Arc::new(Mutex::new(Vec::new()));
    let dropped = Count::new();
    let wakes = Wakes::new();
    let mut handles: Vec<_> = (0..3)
        .map(|_| {
            let weak = Arc::downgrade(&queue);
            let (runnable, handle) = joint::task::spawn(guarded(&dropped), move |runnable| {
                if let Some(queue) = weak.upgrade() {
                    queue.lock().unwrap().push(runnable);
                }
            });
            queue.lock().unwrap().push(runnable);
            handle
        })
        .collect();
    assert!(poll_with(&mut handles[0], &wakes.waker()).is_pending());
    // The third is idle when the queue goes.
    queue.lock().unwrap().pop().unwrap().run();
    drop(queue);
    assert_eq!((dropped.get(), wakes.count()), (2, 1));
    let idle = handles.pop().unwrap();
    assert!(!idle.is_finished());
    idle.abort();
    assert_eq!(dropped.get(), 3, "the schedule function has dropped it");
    assert!(is_cancelled(idle));
    assert!(handles.into_iter().all(is_cancelled));
}

#[test]
fn a_cancelled_task_drops_what_it_holds_in_its_queue() {
    let queue = Queue::new();
    let outer = queue.clone();
    // The drop of the future uses the queue, as tasks that own tasks do.
    let guard = OnDrop(move || outer.start(async {}).detach());
    let handle = queue.start(keeping(guard));
    queue.run();
    drop(handle);
    assert_eq!(queue.run(), 2);
    assert_eq!(queue.tasks(), 0);
}
