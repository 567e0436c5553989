//! Bugs that others had, each by the name under which they are known.

use crate::{
    prelude::*,
    support::{Wakes, each_row, poll_with, yield_now},
};

/// tokio #2087: the waker is replaced while the task ends.
#[test]
fn tokio_2087_join_waker_replaced_while_the_task_ends() {
    let rounds = if cfg!(miri) { 10 } else { 2_000 };
    let queue = Queue::new();
    for _ in 0..rounds {
        let (runnable, mut handle) = queue.spawn(async { 7 });
        let start = Arc::new(Barrier::new(2));
        let (first, second) = (Wakes::new(), Wakes::new());
        thread::scope(|s| {
            let ready_to = start.clone();
            s.spawn(move || {
                ready_to.wait();
                runnable.run();
            });
            start.wait();
            let joined = poll_with(&mut handle, &first.waker()).is_ready()
                || poll_with(&mut handle, &second.waker()).is_ready();
            while !joined && second.count() == 0 {
                thread::yield_now();
            }
            if !joined {
                assert_eq!(first.count(), 0);
                assert_eq!(poll(&mut handle), Poll::Ready(7));
            }
        });
        assert_eq!((first.wakers(), second.wakers()), (0, 0));
    }
    assert_eq!(queue.tasks(), 0);
}

/// Awaits the task whose handle is in a place. That it was cancelled is as good as its end.
fn awaiting(place: Place) -> impl Future<Output = ()> + Send {
    poll_fn(move |cx| {
        let mut place = place.lock().unwrap();
        let handle = place.as_mut().expect("there before the first run");
        let poll =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Pin::new(handle).poll(cx)));
        poll.unwrap_or(Poll::Ready(()))
    })
}

fn awaiting_each_other(queue: &Queue) -> [Place; 2] {
    let places = [Place::default(), Place::default()];
    let handles = [1, 0].map(|other: usize| queue.start(awaiting(places[other].clone())));
    for (place, handle) in places.iter().zip(handles) {
        *place.lock().unwrap() = Some(handle);
    }
    places
}

/// tokio #4724: two tasks that await each other keep each other alive through their wakers.
#[test]
fn tokio_4724_two_tasks_that_await_each_other() {
    let queue = Queue::new();
    let places = awaiting_each_other(&queue);
    assert_eq!(queue.run(), 2);
    assert_eq!(queue.tasks(), 2);
    places[0].lock().unwrap().as_ref().unwrap().abort();
    assert_eq!(
        queue.run(),
        2,
        "the first is dropped, which wakes the second"
    );
    drop(places);
    assert_eq!(queue.tasks(), 0);
}

/// The same, when instead the executor goes with both runnables in it.
#[test]
fn tokio_4724_the_executor_is_dropped_with_both_runnables() {
    let queue = Queue::new();
    let places = awaiting_each_other(&queue);
    drop(places);
    while let Some(runnable) = queue.pop() {
        drop(runnable);
    }
    assert_eq!(queue.tasks(), 0);
}

/// async-executor #163: the schedule function goes on after the task has run elsewhere, and been
/// freed.
#[test]
fn async_executor_163_the_schedule_function_outlives_its_task() {
    each_row(CALLS, |call| {
        let dropped = Count::new();
        let canary = Dropped(dropped.clone());
        // It may run, end and have nobody left, all inside the function.
        let (runnable, handle) = task::spawn(pending_once(), move |runnable| {
            runnable.run();
            assert_eq!(canary.0.get(), 0, "dropped while it was being called");
        });
        call(runnable, handle);
        assert_eq!(dropped.get(), 1);
    });
}

/// The same for a run that schedules again because it was woken.
#[test]
fn async_executor_163_a_task_that_wakes_itself() {
    let dropped = Count::new();
    let canary = Dropped(dropped.clone());
    let (runnable, handle) = task::spawn(yield_now(), move |runnable| {
        runnable.run();
        assert_eq!(canary.0.get(), 0, "dropped while it was being called");
    });
    handle.detach();
    assert!(runnable.run());
    assert_eq!(dropped.get(), 1);
}

/// folo #463: the drop of a waker re-enters, and drops the other side.
#[test]
fn folo_463_the_drop_of_the_registered_waker_drops_the_runnable() {
    for replaced in [false, true] {
        let queue = Queue::new();
        let dropped = Count::new();
        let guard = Dropped(dropped.clone());
        let (runnable, mut handle) = queue.spawn(async move { drop(guard) });
        let place = Arc::new(Mutex::new(Some(runnable)));
        let own = place.clone();
        let drops = OnDrop(move || {
            let runnable = own.lock().unwrap().take();
            drop(runnable);
        });
        let waiter = waker_that(move || drop(drops));
        assert!(poll_with(&mut handle, &waiter).is_pending());
        drop(waiter);
        assert_eq!(dropped.get(), 0);
        if replaced {
            // Its drop ends the task after the new waker was registered.
            let wakes = Wakes::new();
            assert!(poll_with(&mut handle, &wakes.waker()).is_pending());
            assert_eq!((wakes.count(), wakes.wakers()), (1, 0));
            assert!(handle.is_finished());
        }
        drop(handle);
        assert!(place.lock().unwrap().is_none());
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    }
}

/// cppcoro #114: what is left over from an earlier wait is counted in a later one.
#[test]
fn cppcoro_114_stale_wakers_disturb_no_later_task() {
    let queue = Queue::new();
    let mut stale = Vec::new();
    for round in 0..100 {
        let (runnable, handle) = queue.spawn(async move { round });
        stale.push(runnable.waker());
        runnable.run();
        for waker in &stale {
            waker.wake_by_ref();
        }
        assert_eq!(ready(handle), round);
        if round % 3 == 0 {
            stale.swap_remove(round / 3).wake();
        }
        assert_eq!(queue.len(), 0);
    }
    assert_eq!(queue.tasks(), stale.len());
    stale.clear();
    assert_eq!(queue.tasks(), 0);
}

/// FoundationDB 13885: the clean-up of a cancelled task cancels it again.
#[test]
fn foundationdb_13885_cancelled_again_by_its_own_clean_up() {
    let queue = Queue::new();
    let place = Place::default();
    let dropped = Count::new();
    let (own, count) = (place.clone(), dropped.clone());
    let guard = OnDrop(move || {
        count.add();
        let handle = own.lock().unwrap().take();
        if let Some(handle) = handle {
            handle.abort();
            drop(handle);
        }
    });
    let handle = queue.start(keeping(guard));
    queue.run();
    handle.abort();
    *place.lock().unwrap() = Some(handle);
    assert_eq!(queue.run(), 1);
    assert_eq!((dropped.get(), queue.tasks()), (1, 0));
}
