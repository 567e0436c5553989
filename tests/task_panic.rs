//! Panics of the user's code at every place where a task calls it: nothing leaks, nothing is dropped twice, and the task is
//! left whole for the others who know it.

#[path = "task/support.rs"]
mod support;

use std::{
    any::Any,
    future::{Future, pending, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::{Arc, Mutex},
    task::{Poll, RawWaker, RawWakerVTable, Waker},
};

use joint::{
    JoinError, JoinHandle,
    task::{self, Runnable},
};
use support::{Count, Dropped, OnDrop, Queue, Wakes, pending_once, poll, poll_with, ready};

/// Demands that `f` panics.
#[track_caller]
fn panics<R>(f: impl FnOnce() -> R) -> Box<dyn Any + Send> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => panic!("it did not panic"),
        Err(payload) => payload,
    }
}

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

fn is_panicked<T: Send>(handle: JoinHandle<T>) -> bool {
    matches!(ready(handle.result()), Err(JoinError::Panicked(_)))
}

mod in_poll {
    use super::*;

    #[test]
    fn the_future_is_dropped_and_the_payload_arrives() {
        let queue = Queue::new();
        let dropped = Count::new();
        let guard = Dropped(dropped.clone());
        let handle: JoinHandle<()> = queue.start(async move {
            let _guard = guard;
            panic_any(7u32)
        });
        assert!(!queue.pop().unwrap().run());
        assert_eq!(dropped.get(), 1);
        let Err(JoinError::Panicked(payload)) = ready(handle.result()) else {
            panic!("not a panic")
        };
        assert_eq!(payload.message(), None);
        assert_eq!(payload.into_inner().downcast_ref(), Some(&7u32));
        assert_eq!(queue.tasks(), 0);
    }

    #[test]
    fn the_one_who_waits_is_woken() {
        let queue = Queue::new();
        let wakes = Wakes::new();
        let mut handle: JoinHandle<()> = queue.start(async { panic!("in poll") });
        assert!(poll_with(&mut handle, &wakes.waker()).is_pending());
        queue.run();
        assert_eq!((wakes.count(), wakes.wakers()), (1, 0));
        let payload = panics(|| poll(&mut handle));
        assert_eq!(payload.downcast_ref(), Some(&"in poll"));
        drop(handle);
        assert_eq!(queue.tasks(), 0);
    }

    #[test]
    fn the_payload_of_a_detached_task_is_dropped() {
        let queue = Queue::new();
        let dropped = Count::new();
        let payload = Dropped(dropped.clone());
        let future = async move { panic_any(payload) };
        let handle: JoinHandle<()> = queue.start(future);
        handle.detach();
        queue.run();
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    }

    #[test]
    fn an_unread_payload_is_dropped_with_the_handle() {
        let queue = Queue::new();
        let dropped = Count::new();
        let payload = Dropped(dropped.clone());
        let handle: JoinHandle<()> = queue.start(async move { panic_any(payload) });
        queue.run();
        drop(handle);
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    }

    #[test]
    fn after_waking_itself_it_is_not_run_again() {
        let queue = Queue::new();
        let handle: JoinHandle<()> = queue.start(poll_fn(|cx| {
            cx.waker().wake_by_ref();
            panic!("in poll")
        }));
        assert_eq!(queue.run(), 1);
        assert!(is_panicked(handle));
        assert_eq!(queue.tasks(), 0);
    }
}

mod in_the_futures_drop {
    use super::*;

    #[test]
    fn after_it_was_ready_the_output_is_dropped() {
        let queue = Queue::new();
        let (futures, outputs) = (Count::new(), Count::new());
        struct Ready(Count, Option<Dropped>);
        impl Future for Ready {
            type Output = Dropped;
            fn poll(
                mut self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> Poll<Dropped> {
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

mod in_the_outputs_drop {
    use super::*;

    fn output(dropped: &Count) -> impl Send + use<> {
        let count = dropped.clone();
        OnDrop(move || {
            count.add();
            panic!("in the output's drop")
        })
    }

    #[test]
    fn by_the_handle_it_passes_through() {
        let queue = Queue::new();
        let dropped = Count::new();
        for detach in [false, true] {
            let output = output(&dropped);
            let handle = queue.start(async move { output });
            queue.run();
            panics(|| match detach {
                true => handle.detach(),
                false => drop(handle),
            });
            assert_eq!(queue.tasks(), 0);
        }
        assert_eq!(dropped.get(), 2);
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
        panics(|| drop(handle));
        assert_eq!((dropped.get(), queue.tasks()), (1, 1));
        waker.wake();
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    }
}

mod in_the_schedule_function {
    use super::*;

    /// When the function panics: with the runnable still in hand, or once it is in the queue.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum When {
        Before,
        After,
    }

    /// A task whose schedule function panics.
    struct Scheduled {
        queue: Queue,
        futures: Count,
        functions: Count,
    }

    impl Scheduled {
        fn new(when: When, wakes_itself: bool) -> (Self, Runnable, JoinHandle<()>) {
            let (queue, futures, functions) = (Queue::new(), Count::new(), Count::new());
            let (guard, function) = (Dropped(futures.clone()), Dropped(functions.clone()));
            let mut woken = !wakes_itself;
            let future = poll_fn(move |cx| {
                let _guard = &guard;
                if !std::mem::replace(&mut woken, true) {
                    cx.waker().wake_by_ref();
                }
                Poll::Pending
            });
            let inner = queue.clone();
            let (runnable, handle) = task::spawn(future, move |runnable| {
                let _function = &function;
                if when == When::After {
                    inner.push(runnable);
                }
                panic!("in the schedule function")
            });
            let this = Self {
                queue,
                futures,
                functions,
            };
            (this, runnable, handle)
        }

        /// Demands that the task is gone, or due if the function came to that, and then gone.
        #[track_caller]
        fn end(self, when: When) {
            let due = self.queue.pop();
            assert_eq!(due.is_some(), when == When::After);
            drop(due);
            assert_eq!((self.futures.get(), self.functions.get()), (1, 1));
        }
    }

    fn each(wakes_itself: bool, f: impl Fn(Runnable, JoinHandle<()>)) {
        for when in [When::Before, When::After] {
            let (task, runnable, handle) = Scheduled::new(when, wakes_itself);
            f(runnable, handle);
            task.end(when);
        }
    }

    fn woken(wake: fn(Waker)) {
        each(false, |runnable, handle| {
            let waker = runnable.waker();
            runnable.run();
            panics(|| wake(waker));
            // It is cancelled, or due. Neither schedules it.
            drop(handle);
        });
    }

    #[test]
    fn woken_by_reference() {
        woken(|waker| waker.wake_by_ref());
    }

    #[test]
    fn woken_by_value() {
        woken(Waker::wake);
    }

    #[test]
    fn scheduled_again_by_a_run() {
        each(true, |runnable, handle| {
            panics(|| runnable.run());
            drop(handle);
        });
    }

    #[test]
    fn cancelled_by_its_handle() {
        each(false, |runnable, mut handle| {
            runnable.run();
            let wakes = Wakes::new();
            assert!(poll_with(&mut handle, &wakes.waker()).is_pending());
            panics(|| drop(handle));
            assert_eq!(wakes.wakers(), 0, "dropped also on unwinding");
        });
    }

    #[test]
    fn aborted() {
        for when in [When::Before, When::After] {
            let (task, runnable, handle) = Scheduled::new(when, false);
            runnable.run();
            panics(|| handle.abort());
            assert_eq!(handle.is_finished(), when == When::Before);
            drop(task.queue.pop());
            assert!(matches!(ready(handle.result()), Err(JoinError::Cancelled)));
            task.end(When::Before);
        }
    }

    #[test]
    fn orphaned_by_its_last_waker() {
        each(false, |runnable, handle| {
            let waker = runnable.waker();
            runnable.run();
            handle.detach();
            panics(|| drop(waker));
        });
    }

    #[test]
    fn orphaned_by_its_handle() {
        each(false, |runnable, handle| {
            runnable.run();
            panics(|| handle.detach());
        });
    }

    #[test]
    fn given_the_first_runnable() {
        each(false, |runnable, handle| {
            panics(|| runnable.schedule());
            drop(handle);
        });
    }

    #[test]
    fn dropped_with_a_panic() {
        let (dropped, queue) = (Count::new(), Queue::new());
        let count = dropped.clone();
        let captured = OnDrop(move || {
            count.add();
            panic!("in the drop of the schedule function")
        });
        let counted = queue.clone();
        let (runnable, handle) = task::spawn(async move { drop(counted) }, move |_| {
            let _captured = &captured;
        });
        runnable.run();
        panics(|| drop(handle));
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    }
}

mod in_the_waiters_waker {
    use super::*;

    /// Which of its functions panics.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum At {
        Clone,
        Wake,
        Drop,
    }

    /// How many of its wakers there are, and which function panics next.
    struct Waiter {
        alive: Mutex<usize>,
        panics: Mutex<Option<At>>,
    }

    impl Waiter {
        fn new() -> &'static Self {
            /// Kept in sight, so that a leak checker does not take them for leaks.
            static ALL: Mutex<Vec<&Waiter>> = Mutex::new(Vec::new());
            let waiter: &'static Self = Box::leak(Box::new(Self {
                alive: Mutex::new(0),
                panics: Mutex::new(None),
            }));
            ALL.lock().unwrap().push(waiter);
            waiter
        }

        fn waker(&'static self) -> Waker {
            *self.alive.lock().unwrap() += 1;
            // SAFETY: the functions follow the contract, and the data lives for ever.
            unsafe { Waker::from_raw(RawWaker::new((&raw const *self).cast(), &TABLE)) }
        }

        fn alive(&self) -> usize {
            *self.alive.lock().unwrap()
        }

        fn panics_next(&self, at: At) {
            *self.panics.lock().unwrap() = Some(at);
        }

        fn at(&self, here: At) {
            let mut next = self.panics.lock().unwrap();
            if *next == Some(here) {
                *next = None;
                drop(next);
                panic!("in the waker");
            }
        }
    }

    fn waiter(data: *const ()) -> &'static Waiter {
        // SAFETY: the data of these wakers is a waiter, which lives for ever.
        unsafe { &*data.cast() }
    }

    static TABLE: RawWakerVTable = RawWakerVTable::new(
        |data| {
            waiter(data).at(At::Clone);
            *waiter(data).alive.lock().unwrap() += 1;
            RawWaker::new(data, &TABLE)
        },
        |data| {
            *waiter(data).alive.lock().unwrap() -= 1;
            waiter(data).at(At::Wake);
        },
        |_| {},
        |data| {
            *waiter(data).alive.lock().unwrap() -= 1;
            waiter(data).at(At::Drop);
        },
    );

    /// A task that the waiter waits for.
    fn awaited(queue: &Queue) -> (&'static Waiter, Runnable, JoinHandle<u32>) {
        let waiter = Waiter::new();
        let (runnable, mut handle) = queue.spawn(async {
            pending_once().await;
            7
        });
        assert!(poll_with(&mut handle, &waiter.waker()).is_pending());
        assert_eq!(waiter.alive(), 1);
        (waiter, runnable, handle)
    }

    #[test]
    fn its_clone() {
        let queue = Queue::new();
        let waiter = Waiter::new();
        let mut handle = queue.start(async { 7 });
        let waker = waiter.waker();
        waiter.panics_next(At::Clone);
        panics(|| poll_with(&mut handle, &waker));
        assert_eq!(waiter.alive(), 1);
        assert!(poll_with(&mut handle, &waker).is_pending());
        drop(waker);
        queue.run();
        assert_eq!(waiter.alive(), 0);
        assert_eq!(ready(handle), 7);
        assert_eq!(queue.tasks(), 0);
    }

    #[test]
    fn its_clone_leaves_an_older_waker_registered() {
        let queue = Queue::new();
        let wakes = Wakes::new();
        let waiter = Waiter::new();
        let mut handle = queue.start(async { 7 });
        assert!(poll_with(&mut handle, &wakes.waker()).is_pending());
        let waker = waiter.waker();
        waiter.panics_next(At::Clone);
        panics(|| poll_with(&mut handle, &waker));
        queue.run();
        assert_eq!((wakes.count(), wakes.wakers()), (1, 0));
        assert_eq!(ready(handle), 7);
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
        assert_eq!(waiter.alive(), 0);
        assert_eq!(ready(handle), 7);
        assert_eq!(queue.tasks(), 0);
    }

    #[test]
    fn its_wake_by_a_runnable_that_is_dropped() {
        let queue = Queue::new();
        let (waiter, runnable, handle) = awaited(&queue);
        waiter.panics_next(At::Wake);
        panics(|| drop(runnable));
        assert_eq!(waiter.alive(), 0);
        assert!(matches!(ready(handle.result()), Err(JoinError::Cancelled)));
        assert_eq!(queue.tasks(), 0);
    }

    #[test]
    fn its_drop_when_another_is_registered() {
        let queue = Queue::new();
        let (waiter, runnable, mut handle) = awaited(&queue);
        let wakes = Wakes::new();
        waiter.panics_next(At::Drop);
        panics(|| poll_with(&mut handle, &wakes.waker()));
        assert_eq!((waiter.alive(), wakes.wakers()), (0, 1));
        let waker = runnable.waker();
        runnable.run();
        waker.wake();
        queue.run();
        assert_eq!(wakes.count(), 1);
        assert_eq!(ready(handle), 7);
        assert_eq!(queue.tasks(), 0);
    }

    #[test]
    fn its_drop_when_the_handle_goes() {
        for detach in [false, true] {
            let queue = Queue::new();
            let (waiter, runnable, handle) = awaited(&queue);
            waiter.panics_next(At::Drop);
            panics(|| match detach {
                true => handle.detach(),
                false => drop(handle),
            });
            assert_eq!(waiter.alive(), 0);
            runnable.run();
            assert_eq!(queue.tasks(), 0, "the handle had let go before");
        }
    }

    #[test]
    fn its_drop_when_the_handle_of_an_idle_task_goes() {
        let queue = Queue::new();
        let (waiter, runnable, handle) = awaited(&queue);
        runnable.run();
        waiter.panics_next(At::Drop);
        panics(|| drop(handle));
        assert_eq!(waiter.alive(), 0);
        assert_eq!(queue.run(), 1, "cancelled all the same");
        assert_eq!(queue.tasks(), 0);
    }
}

/// Panics in two places one after the other, each caught: the second finds the task whole.
#[test]
fn one_after_the_other() {
    let queue = Queue::new();
    let dropped = Count::new();
    let payload = Dropped(dropped.clone());
    let again = Arc::new(Mutex::new(Some(payload)));
    let mut handle: JoinHandle<()> = queue.start(async move {
        let payload = again.lock().unwrap().take().unwrap();
        panic_any(payload)
    });
    queue.run();
    let payload = panics(|| poll(&mut handle));
    assert_eq!(dropped.get(), 0, "the payload is the one who awaits");
    drop(payload);
    assert_eq!(dropped.get(), 1);
    panics(|| poll(&mut handle));
    assert_eq!(queue.tasks(), 0);
}
