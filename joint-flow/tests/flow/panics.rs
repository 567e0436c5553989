//! A waker panics when it is cloned, woken or dropped, at every place in turn. After that nothing
//! leaks, and nothing that still works has lost its turn. And payloads that panic when they are
//! dropped.

use std::{
    mem::ManuallyDrop,
    task::{RawWaker, RawWakerVTable},
};

use joint_flow::{
    Closed,
    collection::Collection,
    stream::{self, Stream},
    task::from_future,
};

use crate::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Clone,
    Wake,
    Drop,
}

thread_local! {
    /// The operation that panics, and how many of its kind come before that.
    static PLAN: Cell<Option<(Operation, usize)>> = const { Cell::new(None) };
    /// Called when a waker is cloned the next time.
    static ON_CLONE: Cell<Option<Box<dyn FnOnce()>>> = const { Cell::new(None) };
}

/// Panics if it is this operation's turn.
fn passes(operation: Operation) {
    if let Some((planned, left)) = PLAN.get() {
        if planned == operation {
            PLAN.set((left > 0).then(|| (planned, left.wrapping_sub(1))));
            assert!(left > 0, "planned");
        }
    }
}

/// Counts the values that are alive. Its wakers panic as planned.
#[derive(Default)]
struct Alive(Arc<()>);

impl Alive {
    fn token(&self) -> Arc<()> {
        self.0.clone()
    }

    /// Returns a waker whose own drop does not panic.
    fn waker(&self) -> ManuallyDrop<Waker> {
        // The token is that of `self`, so it is not given up.
        let raw = RawWaker::new(Arc::as_ptr(&self.0).cast(), &VTABLE);
        // SAFETY: the functions keep the count of an `Arc`, which may be used by any thread.
        ManuallyDrop::new(unsafe { Waker::from_raw(raw) })
    }
}

fn raw(token: Arc<()>) -> RawWaker {
    RawWaker::new(Arc::into_raw(token).cast(), &VTABLE)
}

/// # Safety
/// `data` is from `raw`, and the caller gives it up.
unsafe fn token(data: *const ()) -> Arc<()> {
    // SAFETY: passed on from the caller.
    unsafe { Arc::from_raw(data) }
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(
    |data| {
        passes(Operation::Clone);
        if let Some(f) = ON_CLONE.take() {
            f();
        }
        // SAFETY: the caller's waker keeps it.
        let kept = ManuallyDrop::new(unsafe { token(data) });
        raw(Arc::clone(&kept))
    },
    |data| {
        // SAFETY: the waker is given up.
        drop(unsafe { token(data) });
        passes(Operation::Wake);
    },
    |_| passes(Operation::Wake),
    |data| {
        // SAFETY: the waker is given up.
        drop(unsafe { token(data) });
        passes(Operation::Drop);
    },
);

/// Polls with a waker of its own.
fn poll<F: Future>(alive: &Alive, future: Pin<&mut F>) -> Poll<F::Output> {
    let waker = alive.waker();
    future.poll(&mut Context::from_waker(&waker))
}

/// Runs a scenario once for each operation on a waker, which panics, until none is left to panic.
fn at_every_place(scenario: impl Fn(&Alive)) {
    for operation in [Operation::Clone, Operation::Wake, Operation::Drop] {
        for place in 0.. {
            let alive = Alive::default();
            PLAN.set(Some((operation, place)));
            let run = catch_unwind(AssertUnwindSafe(|| scenario(&alive)));
            let is_left = PLAN.take().is_some();
            assert_eq!(
                Arc::strong_count(&alive.0),
                1,
                "{operation:?} {place} leaks"
            );
            assert!(run.is_ok(), "{operation:?} {place}");
            if is_left {
                break;
            }
            assert!(place < 1000);
        }
    }
}

/// Runs a part of a scenario, in which a panic is no surprise.
fn part(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        let text = payload.downcast_ref::<&str>().unwrap_or(&"");
        // After a panic, a combinator has ended.
        let is_known = text.contains("planned") || text.contains("polled again");
        assert!(is_known, "{text}");
    }
}

#[test]
fn of_combinators() {
    at_every_place(|alive| {
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..4).map(|_| oneshot::channel::<Arc<()>>()).unzip();
        let [one, two, three, four] = receivers.try_into().unwrap();
        let token = alive.token();
        let choice = choose()
            .when(|| one, |_| drop(token))
            .when(std::future::pending::<()>, |()| ());
        let mut tree = pin!(all((
            race((choice, four)),
            quorum(1, [two, three]),
            all(vec![alive.token()]
                .into_iter()
                .map(ready)
                .collect::<Vec<_>>()),
        )));
        part(|| drop(poll(alive, tree.as_mut())));
        for sender in senders {
            part(|| drop(sender.send(alive.token())));
            part(|| drop(poll(alive, tree.as_mut())));
        }
    });
}

#[test]
fn a_panicking_waker_of_a_lock_does_not_stop_its_queue() {
    for closes in [false, true] {
        at_every_place(|alive| {
            let lock = FlowLock::new(1);
            let mut permit = Some(lock.try_take(1).unwrap());
            let mut takes: Vec<_> = (0..4).map(|_| Box::pin(lock.take(1))).collect();
            for take in &mut takes {
                part(|| drop(poll(alive, take.as_mut())));
            }
            part(|| drop(takes.remove(1)));
            match closes {
                false => part(|| drop(permit.take())),
                true => part(|| lock.close()),
            }
            for mut take in takes {
                // Each one gets its answer: no panic stops the queue.
                let granted = loop {
                    let polled = catch_unwind(AssertUnwindSafe(|| poll(alive, take.as_mut())));
                    match polled {
                        Ok(Poll::Ready(granted)) => break granted,
                        Ok(Poll::Pending) => panic!("{lock:?}: the queue is stuck"),
                        // The waker was not cloned, or the one before it not dropped.
                        Err(_) => {}
                    }
                };
                assert_eq!(granted.is_err(), closes);
                part(|| drop(granted));
            }
            drop(permit);
            assert_eq!((lock.taken(), lock.waiters()), (0, 0));
        });
    }
}

#[test]
fn a_panicking_waker_of_a_stream_loses_no_item() {
    at_every_place(|alive| {
        let (sender, mut receiver) = stream::channel::<Arc<()>, Closed>();
        let mut received = 0;
        for _ in 0..4 {
            part(|| {
                let waker = alive.waker();
                let polled = Pin::new(&mut receiver).poll_next(&mut Context::from_waker(&waker));
                received += usize::from(polled.is_ready());
            });
            part(|| drop(sender.send(alive.token())));
        }
        part(|| drop(sender));
        let mut cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(Ok(_))) = Pin::new(&mut receiver).poll_next(&mut cx) {
            received += 1;
        }
        assert_eq!(received, 4, "no item is lost");
    });
}

#[test]
fn a_panicking_waker_of_a_shared_value_costs_no_wait_its_answer() {
    for sends in [true, false] {
        at_every_place(|alive| {
            let (sender, shared) = shared::channel::<Arc<()>>();
            let mut waits: Vec<_> = (0..4).map(|_| Box::pin(shared.clone())).collect();
            for wait in &mut waits {
                part(|| assert!(poll(alive, wait.as_mut()).is_pending()));
            }
            // One takes another waker, and one leaves.
            part(|| assert!(poll_with(&mut waits[1], Waker::noop()).is_pending()));
            part(|| drop(waits.remove(2)));
            match sends {
                true => part(|| sender.send(alive.token())),
                false => part(|| drop(sender)),
            }
            for wait in &mut waits {
                part(|| {
                    assert_eq!(
                        poll(alive, wait.as_mut()).map(|it| it.is_ok()),
                        Poll::Ready(sends)
                    )
                });
            }
        });
    }
}

#[test]
fn a_panicking_waker_of_a_flow_task_leaks_nothing() {
    for cancels in [false, true] {
        at_every_place(|alive| {
            let (sender, receiver) = oneshot::channel::<Arc<()>>();
            let (driver, task) = from_future(receiver);
            let mut driver = Some(Box::pin(driver));
            let mut waiters = [Box::pin(task.clone()), Box::pin(task)];
            for waiter in &mut waiters {
                part(|| drop(poll(alive, waiter.as_mut())));
            }
            let mut run = || {
                // An executor drops a task that panics.
                let polled = catch_unwind(AssertUnwindSafe(|| {
                    driver
                        .as_mut()
                        .is_none_or(|driver| poll(alive, driver.as_mut()).is_ready())
                }));
                if polled.unwrap_or(true) {
                    part(|| drop(driver.take()));
                }
            };
            run();
            if cancels {
                part(|| waiters[0].cancel());
                assert!(sender.is_closed());
            } else {
                part(|| drop(sender.send(alive.token())));
            }
            run();
            for mut waiter in waiters {
                assert!(waiter.is_finished());
                part(|| assert!(poll(alive, waiter.as_mut()).is_ready()));
            }
        });
    }
}

/// The driver is an ordinary future, so its owner may poll it again after a poll that has panicked.
#[test]
fn a_driver_can_be_polled_again_after_a_poll_that_panicked() {
    at_every_place(|alive| {
        let (sender, receiver) = oneshot::channel::<Arc<()>>();
        let (driver, task) = from_future(receiver);
        let mut driver = Box::pin(driver);
        let mut waiter = task.clone();
        part(|| drop(poll(alive, Pin::new(&mut waiter))));
        part(|| _ = poll(alive, driver.as_mut()));
        part(|| drop(sender.send(alive.token())));
        // The poll in which the future ends wakes the waiter, and drops the driver's waker.
        part(|| _ = poll(alive, driver.as_mut()));
        part(|| assert!(poll(alive, driver.as_mut()).is_ready()));
        part(|| task.cancel());
        drop(task);
        part(|| assert!(poll(alive, Pin::new(&mut waiter)).is_ready()));
        drop(waiter);
        // The handles have given up their reference.
        part(|| assert!(poll(alive, driver.as_mut()).is_ready()));
        drop(driver);
    });
}

#[test]
fn a_panicking_waker_of_a_collection_leaks_nothing() {
    at_every_place(|alive| {
        let mut collection = Collection::<Arc<()>>::new();
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..3).map(|_| oneshot::channel::<Arc<()>>()).unzip();
        let mut drivers: Vec<_> = receivers
            .into_iter()
            .map(|receiver| {
                let child = async { receiver.await.map_or(Ok(()), Err) };
                let driver = collection.adder().enter(child);
                Box::pin(driver.expect("the collection is there"))
            })
            .collect();
        for driver in &mut drivers {
            part(|| _ = poll(alive, driver.as_mut()));
        }
        part(|| drop(poll(alive, Pin::new(&mut collection))));
        let mut senders = senders.into_iter();
        for sender in senders.by_ref().take(2) {
            part(|| drop(sender.send(alive.token())));
        }
        // The last child fails.
        part(|| drop(senders));
        for driver in &mut drivers {
            part(|| _ = poll(alive, driver.as_mut()));
            part(|| assert!(poll(alive, driver.as_mut()).is_ready()));
        }
        let ended = catch_unwind(AssertUnwindSafe(|| poll(alive, Pin::new(&mut collection))));
        assert!(!matches!(ended, Ok(Poll::Pending)));
        part(|| drop(collection));
    });
}

/// An item that is sent while the receiver clones its waker is not lost with the drop of the clone.
#[test]
fn an_item_sent_during_a_panicking_waker_clone_is_not_lost() {
    at_every_place(|alive| {
        let (sender, mut receiver) = stream::channel::<Arc<()>, Closed>();
        let item = alive.token();
        ON_CLONE.set(Some(Box::new(move || drop(sender.send(item)))));
        let mut received = 0;
        part(|| {
            let waker = alive.waker();
            let polled = Pin::new(&mut receiver).poll_next(&mut Context::from_waker(&waker));
            received += usize::from(polled.is_ready());
        });
        // If the clone panicked, nothing was sent.
        received += usize::from(ON_CLONE.take().is_some());
        received += receiver.len();
        assert_eq!(received, 1);
    });
}

/// The first waiter of a channel finds the end that came while its waker was cloned.
#[test]
fn a_value_shared_during_a_waker_clone_is_found() {
    let (sender, mut shared) = shared::channel();
    ON_CLONE.set(Some(Box::new(|| sender.send(1))));
    let answer = poll(&Alive::default(), Pin::new(&mut shared));
    assert_eq!(answer, Poll::Ready(Ok(1)));
}

/// A payload that panics when it is dropped.
struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        panic!("planned: the payload");
    }
}

/// Panics when it is polled and when it is dropped, the second time with such a payload.
struct Twice;

impl Future for Twice {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        panic!("planned: the poll");
    }
}

impl Drop for Twice {
    fn drop(&mut self) {
        std::panic::panic_any(Payload);
    }
}

#[test]
fn a_task_ends_though_its_second_panic_cannot_be_dropped() {
    let (driver, task) = from_future(Twice);
    let mut driver = Box::pin(driver);
    let mut cx = Context::from_waker(Waker::noop());
    part(|| _ = driver.as_mut().poll(&mut cx));
    drop(driver);
    assert!(task.is_finished(), "the waiters wait forever");
    let error = joint::block_on(task).unwrap_err();
    assert!(error.to_string().contains("the poll"));
}

#[test]
fn all_ready_resumes_the_first_panic_and_drops_the_later_ones() {
    let has_ended = Cell::new(false);
    let run = catch_unwind(AssertUnwindSafe(|| {
        joint::block_on(all_ready([
            Box::pin(Twice) as Pin<Box<dyn Future<Output = ()>>>,
            Box::pin(async { std::panic::panic_any(Payload) }),
            Box::pin(async {
                joint_executor::yield_now().await;
                has_ended.set(true);
            }),
        ]))
    }));
    let payload = run.unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"planned: the poll"));
    assert!(has_ended.get());
}

#[test]
fn all_ready_resumes_the_panic_though_an_output_panics_on_drop() {
    fn fails() -> Payload {
        panic!("planned: the future")
    }

    let run = catch_unwind(|| {
        joint::block_on(all_ready([
            Box::pin(async { fails() }) as Pin<Box<dyn Future<Output = Payload>>>,
            Box::pin(async { Payload }),
        ]))
    });
    let payload = run.err().expect("the first future panics");
    assert_eq!(payload.downcast_ref(), Some(&"planned: the future"));
}
