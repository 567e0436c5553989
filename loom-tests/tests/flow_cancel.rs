//! Models of a task with many handles (`joint_flow::Task`): a canceller in a thread of its own,
//! against the poll that begins, suspends or ends.
//!
//! The future has a value that each poll and the destructor access exclusively. This fails unless
//! the state names one side at a time, and unless the last poll happens before a destructor that
//! runs on another thread. The canceller writes a cell before it cancels, which the destructor
//! reads.

use std::{sync::atomic::AtomicUsize, task::Wake};

use joint_flow::{Task, TaskError, task::from_future};
use loom_tests::{join_all, lab::thread};

use crate::prelude::*;

/// Ends in its poll of this number, from 1 on.
struct Counts {
    ends_in: usize,
    polls: Arc<AtomicUsize>,
    state: Value,
    output: Option<Value>,
    /// Set if the destructor is to look at the request, which only a cancellation writes.
    request: Option<Arc<Mark>>,
}

impl Counts {
    fn new(ends_in: usize, drops: &Drops, request: Option<Arc<Mark>>) -> Self {
        Self {
            ends_in,
            polls: Arc::default(),
            state: drops.value(),
            output: Some(drops.value()),
            request,
        }
    }
}

impl Future for Counts {
    type Output = Arc<Value>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Arc<Value>> {
        self.state.take();
        let polls = self.polls.fetch_add(1, Ordering::Relaxed) + 1;
        if polls < self.ends_in {
            return Poll::Pending;
        }
        self.request = None;
        Poll::Ready(Arc::new(self.output.take().unwrap()))
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.state.take();
            if let Some(request) = &self.request {
                request.read();
            }
        }
    }
}

const NEVER: usize = usize::MAX;

#[derive(Clone, Copy)]
enum How {
    Cancel,
    /// Two cancel: one of them is the last handle's drop.
    CancelAndDrop,
    Drop,
}

/// Polls a task that ends in its poll `ends_in` up to `polls` times, and lets another thread cancel
/// it.
fn cancelled(ends_in: usize, polls: usize, how: How) {
    let drops = Drops::default();
    let request = Arc::new(Mark::named("request"));
    let future = Counts::new(ends_in, &drops, Some(request.clone()));
    let polled = future.polls.clone();
    let (driver, task) = from_future(future);
    let waiter = matches!(how, How::Cancel).then(|| task.clone());
    let canceller = thread::spawn(move || {
        request.write();
        if matches!(how, How::Cancel | How::CancelAndDrop) {
            task.cancel();
        }
        drop(task);
    });
    let wakes = Wakes::new();
    let mut driver = pin!(driver);
    let mut ready = false;
    for _ in 0..polls {
        ready |= poll(&mut driver, &wakes).is_ready();
    }
    canceller.join().unwrap();
    let polled = polled.load(Ordering::Relaxed);
    let has_ended = polled == ends_in;
    // A future that was cancelled while it was idle wakes the driver, if the driver knows of it.
    let told = ready || polled == 0 || wakes.count() == 1;
    assert!(told, "the driver is not told");
    assert!(wakes.count() <= usize::from(polled > 0 && !has_ended));
    assert_eq!(wakes.wakers(), 0, "a waker is left");
    if let Some(waiter) = waiter {
        look(waiter, has_ended);
    }
    // The driver is alive: what is not dropped now would not be, before the executor ends.
    drops.assert_all_of(2);
}

fn look(mut waiter: Task<Arc<Value>>, has_ended: bool) {
    match poll(&mut waiter, &Wakes::new()) {
        Poll::Ready(Ok(value)) if has_ended => value.look(),
        Poll::Ready(Err(TaskError::Cancelled)) if !has_ended => {}
        other => panic!("a waiter saw {:?}", other.map(|result| result.is_ok())),
    }
}

/// Cell: cancellation: cancel against win.
#[test]
fn a_cancel_against_the_end() {
    model(|| cancelled(1, 1, How::Cancel));
    model(|| cancelled(2, 2, How::Cancel));
}

/// Cell: promise: the last waiter's leaving against completion.
#[test]
fn the_last_handle_against_the_end() {
    model(|| cancelled(1, 1, How::Drop));
    model(|| cancelled(2, 2, How::Drop));
}

/// Cell: promise: the last waiter's leaving against completion.
#[test]
fn two_waiters_leave_against_the_end() {
    model_bounded(2, || {
        let drops = Drops::default();
        let (driver, task) = from_future(Counts::new(1, &drops, None));
        let threads = [task.clone(), task].map(|mut task| {
            thread::spawn(move || {
                match poll(&mut task, &Wakes::new()) {
                    Poll::Ready(Ok(value)) => value.look(),
                    Poll::Ready(Err(error)) => panic!("{error}"),
                    Poll::Pending => {}
                }
                drop(task);
            })
        });
        assert!(poll(&mut pin!(driver), &Wakes::new()).is_ready());
        join_all(threads);
        drops.assert_all_of(2);
    });
}

/// Cell: promise: the last future dropped cancels the producer. The destructors see what was done
/// before another handle was dropped.
#[test]
fn two_handles_against_each_other() {
    model(|| {
        let drops = Drops::default();
        let request = Arc::new(Mark::named("request"));
        let (driver, task) = from_future(Counts::new(NEVER, &drops, Some(request.clone())));
        let other = task.clone();
        let thread = thread::spawn(move || {
            request.write();
            drop(other);
        });
        drop(task);
        thread.join().unwrap();
        // The driver is alive: a handle has dropped the future.
        drops.assert_all_of(2);
        drop(driver);
    });
}

/// Cell: promise: the last future dropped cancels the producer. Handles that are cloned at once
/// are all counted.
#[test]
fn two_handles_are_cloned_at_once_within_3_preemptions() {
    model_bounded(3, || {
        let drops = Drops::default();
        let (driver, task) = from_future(Counts::new(NEVER, &drops, None));
        let (kept, other) = (task.clone(), task.clone());
        let thread = thread::spawn(move || drop((other.clone(), other)));
        drop((task.clone(), task));
        thread.join().unwrap();
        assert!(!kept.is_finished(), "cancelled under a handle");
        drop(kept);
        drops.assert_all_of(2);
        drop(driver);
    });
}

/// Cell: cancellation: a destructor that cancels again destroys nothing twice. The side that leaves
/// last frees the memory.
#[test]
fn the_last_handle_against_the_drop_of_the_driver() {
    model(|| {
        let drops = Drops::default();
        let (driver, task) = from_future(Counts::new(NEVER, &drops, None));
        let thread = thread::spawn(move || drop(task));
        drop(driver);
        thread.join().unwrap();
        drops.assert_all_of(2);
    });
}

/// Panics when it is woken.
struct Unwakable;

impl Wake for Unwakable {
    fn wake(self: Arc<Self>) {
        resume_unwind(Box::new("planned: the waiter"));
    }
}

/// Cell: cancellation: cancel against win. The waiter panics when it is woken, so the poll unwinds
/// after the future's end. The driver is polled again, and the handles leave meanwhile.
#[test]
fn the_last_handle_against_a_poll_after_one_that_has_unwound() {
    model(|| {
        let alive = Arc::new(());
        let (driver, task) = from_future(ready(alive.clone()));
        let mut waiter = task.clone();
        let unwakable = Waker::from(Arc::new(Unwakable));
        let polled = Pin::new(&mut waiter).poll(&mut Context::from_waker(&unwakable));
        assert!(polled.is_pending());
        let canceller = thread::spawn(move || {
            // It is the one that wakes the waiter if it cancels an idle future.
            _ = catch_unwind(AssertUnwindSafe(|| task.cancel()));
            drop(task);
        });
        let waker = Wakes::new().waker();
        let mut cx = Context::from_waker(&waker);
        let mut driver = Box::pin(driver);
        let first = catch_unwind(AssertUnwindSafe(|| driver.as_mut().poll(&mut cx)));
        drop(waiter);
        assert!(driver.as_mut().poll(&mut cx).is_ready());
        canceller.join().unwrap();
        assert!(driver.as_mut().poll(&mut cx).is_ready());
        drop((driver, first));
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}

/// Cell: promise: the last future dropped cancels the producer. The cell of an actor is in the
/// memory of its task, which another worker wakes up to run, or runs, while the handle is dropped.
#[test]
fn an_actors_last_handle_against_its_task_within_1_preemption() {
    model_window(1, || {
        let executor = Executor::builder().workers(2).build().unwrap();
        let drops = Drops::default();
        let (state, mut output) = (drops.value(), Some(drops.value()));
        let (sender, mut receiver) = oneshot::channel();
        let task = executor.spawn(async move {
            let actor = joint_flow::spawn(poll_fn(move |cx| {
                state.take();
                let polled = Pin::new(&mut receiver).poll(cx);
                polled.map(|_| Arc::new(output.take()))
            }));
            loom::explore();
            drop(actor);
        });
        loom::thread::yield_now();
        _ = sender.send(());
        block_on(task);
        loom::stop_exploring();
        drop(executor);
        drops.assert_all_of(2);
    });
}

/// The counts on the page of the module `task`.
#[test]
fn the_cost_in_read_modify_writes() {
    model(|| {
        let drops = Drops::default();
        let future = |ends_in| Counts::new(ends_in, &drops, None);
        let waker = Wakes::new().waker();
        let mut cx = Context::from_waker(&waker);
        let (driver, task) = from_future(future(2));
        let mut driver = pin!(driver);
        assert_eq!(
            rmws_of(|| assert!(driver.as_mut().poll(&mut cx).is_pending())),
            2
        );
        assert_eq!(
            rmws_of(|| assert!(driver.as_mut().poll(&mut cx).is_ready())),
            2 + 1
        );
        assert_eq!(rmws_of(|| task.cancel()), 0);
        drop(task);

        let (driver, task) = from_future(future(NEVER));
        assert_eq!(rmws_of(|| task.cancel()), 1 + 1);
        let mut driver = pin!(driver);
        assert_eq!(
            rmws_of(|| assert!(driver.as_mut().poll(&mut cx).is_ready())),
            1
        );
        drop(task);
    });
}

models! {
    /// Cell: cancellation: cancel against a poll that begins.
    a_cancel_against_the_first_poll: model(|| cancelled(NEVER, 1, How::Cancel));
    /// Cell: cancellation: dropping a handle drops the future at once if it is idle, else at its
    /// next suspension.
    a_cancel_against_polls_that_suspend: model(|| cancelled(NEVER, 2, How::Cancel));
    /// Cell: cancellation: a destructor that cancels again destroys nothing twice.
    two_cancels_against_polls: model(|| cancelled(NEVER, 2, How::CancelAndDrop));
    /// Cell: promise: the last future dropped cancels the producer.
    the_last_handle_against_polls: model(|| cancelled(NEVER, 2, How::Drop));
}
