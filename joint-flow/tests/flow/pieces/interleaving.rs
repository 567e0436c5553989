//! What is ready is a point of interleaving too: it takes one from the budget, which a fault of the
//! simulation makes small.

use joint_executor::{JoinSet, spawn};
use joint_flow::{
    Closed,
    stream::{self, StreamExt},
    task,
};

use crate::prelude::*;

#[test]
fn two_free_locks_in_opposite_orders_are_found() {
    let found = Check::new().seeds(2_000).find(|| async {
        let locks = [FlowLock::new(1), FlowLock::new(1)];
        let both = |first: usize| {
            let (first, second) = (locks[first].clone(), locks[1 - first].clone());
            spawn(async move {
                let _first = first.take(1).await.unwrap();
                let _second = second.take(1).await.unwrap();
            })
        };
        join([both(0), both(1)]).await;
    });
    assert!(found.unwrap_err().failure().is_deadlock());
}

#[test]
fn a_condition_that_holds_lets_another_task_write_first() {
    let found = Check::new().find(|| async {
        let count = Arc::new(AsyncVar::new(0));
        let add = || {
            let count = count.clone();
            spawn(async move {
                let seen = count.get();
                count.wait_for(|_| true).await;
                count.set(seen + 1);
            })
        };
        join([add(), add()]).await;
        assert_eq!(count.get(), 2);
    });
    assert!(found.is_err());
}

/// Polls what is ready, with so much of a budget in each poll, until it is. Returns the output and
/// the number of wake-ups.
fn polled<F: Future>(left: u64, future: F) -> (F::Output, usize) {
    let mut future = pin!(future);
    let (wakes, waker) = counting();
    let mut cx = Context::from_waker(&waker);
    let _budget = budget::save();
    loop {
        budget::refill_to(left);
        let before = wakes.count();
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return (output, wakes.count()),
            Poll::Pending => assert_eq!(wakes.count(), before + 1),
        }
    }
}

/// There is no budget in the next poll either, but whoever was refused has its turn.
fn is_refused_once<F: Future>(future: F) -> F::Output {
    let (output, refusals) = polled(0, future);
    assert_eq!(refusals, 1);
    output
}

#[test]
fn what_is_ready_is_refused_without_a_budget() {
    is_refused_once(point());

    let lock = FlowLock::new(1);
    is_refused_once(async {
        // The request has not been counted, and has no place in the queue.
        let permit = lock.take(1).await;
        assert_eq!((lock.taken(), lock.waiters()), (1, 0));
        drop(permit.unwrap());
    });

    let variable = AsyncVar::new(1);
    let changed = variable.on_change();
    variable.set(2);
    assert_eq!(is_refused_once(changed), Ok(()));
    assert_eq!(is_refused_once(variable.wait_for(|value| *value == 2)), 2);

    let task = task::spawn(async { 3 });
    joint::block_on(task.wait()).unwrap();
    assert_eq!(is_refused_once(task.wait()).copied().unwrap(), 3);
    assert_eq!(is_refused_once(task).unwrap(), 3);

    let (sender, mut receiver) = stream::channel::<_, Closed>();
    sender.send(4).unwrap();
    assert_eq!(is_refused_once(receiver.next()), Some(Ok(4)));

    let (mut set, child) = (JoinSet::new(), spawn(async { 5 }));
    while !child.is_finished() {
        std::thread::yield_now();
    }
    set.insert(child);
    assert_eq!(is_refused_once(set.join_next()).unwrap().unwrap(), 5);
}

#[test]
fn the_first_that_is_ready_wins_without_a_budget() {
    for left in 0..4 {
        let variable = AsyncVar::new(1);
        let (changed, again) = (variable.on_change(), variable.on_change());
        variable.set(2);
        let first = async { changed.await.map(|()| "first") };
        let (raced, _) = polled(left, race((first, ready(Ok("second")))));
        assert_eq!(raced.into_inner(), Ok("first"));
        let choice = choose()
            .when(|| again, |_| "first")
            .when(|| ready(()), |()| "second");
        assert_eq!(polled(left, choice).0, "first");
    }
}
