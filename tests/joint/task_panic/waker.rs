//! Panics in the functions of the waker of one who waits for a task.

use std::{
    sync::Mutex,
    task::{RawWaker, RawWakerVTable, Waker},
};

use joint::{JoinError, JoinHandle, task::Runnable};

use crate::support::{Queue, Wakes, panics, pending_once, poll_with, ready};

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
fn its_drop_when_the_handle_is_dropped_or_detached() {
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
fn its_drop_when_the_handle_of_an_idle_task_is_dropped() {
    let queue = Queue::new();
    let (waiter, runnable, handle) = awaited(&queue);
    runnable.run();
    waiter.panics_next(At::Drop);
    panics(|| drop(handle));
    assert_eq!(waiter.alive(), 0);
    assert_eq!(queue.run(), 1, "cancelled all the same");
    assert_eq!(queue.tasks(), 0);
}
