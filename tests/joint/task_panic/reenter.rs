//! Uses of a task from inside the code that it calls: its own poll and drop, its schedule function,
//! and the waker of whoever waits for it.

use crate::{prelude::*, support::poll_with};

#[test]
fn an_output_that_wakes_its_task_in_its_drop_schedules_nothing() {
    let queue = Queue::new();
    for detach in [false, true] {
        let place = Arc::new(Mutex::new(None::<Waker>));
        let own = place.clone();
        let output = OnDrop(move || own.lock().unwrap().take().unwrap().wake());
        let (runnable, handle) = queue.spawn(async move { output });
        *place.lock().unwrap() = Some(runnable.waker());
        if detach {
            handle.detach();
            runnable.run();
        } else {
            runnable.run();
            drop(handle);
        }
        assert!(place.lock().unwrap().is_none());
        assert_eq!((queue.len(), queue.tasks()), (0, 0));
    }
}

type Kept<T> = Arc<Mutex<Vec<T>>>;

/// A task whose schedule function drops what is kept, before or after it passes the runnable on.
fn dropping<T: Send + 'static>(queue: &Queue, before: bool) -> (Runnable, JoinHandle<()>, Kept<T>) {
    let kept = Kept::default();
    let (own, inner) = (kept.clone(), queue.clone());
    let (runnable, handle) = task::spawn(pending(), move |runnable| {
        let mut runnable = Some(runnable);
        if !before {
            inner.push(runnable.take().unwrap());
        }
        own.lock().unwrap().clear();
        runnable
            .into_iter()
            .for_each(|runnable| inner.push(runnable));
    });
    (runnable, handle, kept)
}

#[test]
fn the_last_other_holder_dropped_in_the_schedule_function() {
    for before in [false, true] {
        let queue = Queue::new();
        let (runnable, handle, kept) = dropping(&queue, before);
        let waker = runnable.waker();
        kept.lock().unwrap().push(runnable.waker());
        handle.detach();
        runnable.run();
        waker.wake();
        assert_eq!(queue.run(), 1, "pending again, and nobody is left");
        drop(kept);
        assert_eq!((queue.len(), queue.tasks()), (0, 0));

        let (runnable, handle, kept) = dropping(&queue, before);
        let waker = runnable.waker();
        runnable.run();
        kept.lock().unwrap().push(handle);
        waker.wake();
        assert_eq!(queue.run(), 1, "cancelled by it");
        drop(kept);
        assert_eq!((queue.len(), queue.tasks()), (0, 0));
    }
}

#[test]
fn a_waiter_that_drops_the_handle_when_it_is_woken() {
    // The task ends by an output, by a panic, or by the drop of its runnable.
    let ends: [fn(Runnable); 2] = [
        |runnable| {
            runnable.run();
        },
        drop,
    ];
    for end in ends {
        for panics in [false, true] {
            let queue = Queue::new();
            let place = Place::default();
            let (runnable, mut handle) = queue.spawn(async move { assert!(!panics, "in poll") });
            let own = place.clone();
            let waker = waker_that(move || drop(own.lock().unwrap().take()));
            assert!(poll_with(&mut handle, &waker).is_pending());
            *place.lock().unwrap() = Some(handle);
            drop(waker);
            end(runnable);
            assert!(place.lock().unwrap().is_none());
            assert_eq!(queue.tasks(), 0);
        }
    }
}
