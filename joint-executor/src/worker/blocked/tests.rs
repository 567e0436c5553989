//! How long a blocked worker may sleep, and whether its wait is a deadlock.

use joint::park::Parker;

use super::{STANDSTILL, STUCK, is_deadlock, is_starved};
use crate::worker::harness::*;

#[test]
fn a_blocked_worker_looks_again_only_where_nobody_gives_a_sign() {
    let [worker, _other] = two_workers();
    // The first use of the driver wakes it.
    assert_eq!(worker.attend_blocked(&worker.running(), None), None);
    worker.shared().close();
    assert_eq!(worker.attend_blocked(&worker.running(), None), Some(STUCK));
}

/// The only worker of an executor. The test is its thread.
fn only_worker() -> Worker {
    workers_with(1, Hooks::default()).remove(0)
}

/// A new task that waits forever, and its handle, which this parker awaits.
fn awaited(parker: &Parker) -> (Runnable, JoinHandle<()>) {
    let (runnable, mut handle) = new_task(Location::caller(), pending());
    let mut cx = Context::from_waker(parker.waker());
    assert_eq!(Pin::new(&mut handle).poll(&mut cx), Poll::Pending);
    (runnable, handle)
}

#[test]
fn a_wait_for_a_task_in_any_queue_of_one_worker_is_a_deadlock() {
    let ways: [fn(&Worker, Runnable, Lane); 3] = [
        |worker, new, _| worker.running().launch(new),
        |worker, new, lane| worker.push(new, lane),
        |worker, new, lane| worker.shared().inject(new, lane),
    ];
    let all = LANES.into_iter().flat_map(|lane| [(1, lane), (2, lane)]);
    for (way, lane) in all.chain([(0, Lane::Normal)]) {
        let (worker, parker) = (only_worker(), Parker::new());
        let _this_thread = worker.become_this_thread();
        assert!(!is_deadlock(&worker, &parker));
        let (new, handle) = awaited(&parker);
        new.metadata().set_lane(lane);
        ways[way](&worker, new, lane);
        for _ in 0..2 {
            assert!(is_deadlock(&worker, &parker));
        }
        assert_eq!(worker.queues.lengths().iter().sum::<usize>(), 1);
        handle.detach();
        assert!(!is_deadlock(&worker, &parker), "nobody waits");
        worker.running().discard_queued();
    }
}

/// It has waited, and is queued or not.
#[test]
fn a_wait_for_a_task_that_has_waited_is_a_deadlock() {
    let (worker, parker) = (only_worker(), Parker::new());
    let _this_thread = worker.become_this_thread();
    let (new, handle) = awaited(&parker);
    let waker = new.waker();
    worker.running().run(new);
    assert!(is_deadlock(&worker, &parker));
    waker.wake();
    assert_eq!(worker.shared().stealers[0].len(), 1);
    assert!(is_deadlock(&worker, &parker));
    handle.detach();
    worker.running().discard_queued();
}

#[test]
fn one_of_two_workers_deadlocks_with_what_is_pinned_to_it() {
    for (lane, expected) in [
        (Lane::Normal, false),
        (Lane::High, false),
        (Lane::Pinned(0), true),
        (Lane::Pinned(1), false),
    ] {
        for has_waited in [false, true] {
            let ([worker, other], parker) = (two_workers(), Parker::new());
            let _this_thread = worker.become_this_thread();
            let (new, handle) = awaited(&parker);
            new.metadata().set_lane(lane);
            match (has_waited, lane) {
                (false, _) => worker.push(new, lane),
                (true, Lane::Pinned(1)) => {
                    let _other_thread = other.become_this_thread();
                    other.running().run(new);
                }
                (true, _) => worker.running().run(new),
            }
            let case = (lane, has_waited);
            assert_eq!(is_deadlock(&worker, &parker), expected, "{case:?}");
            handle.detach();
            worker.running().discard_queued();
            let _other_thread = other.become_this_thread();
            other.running().discard_queued();
        }
    }
}

/// Each task stays in its lane, in the order in which the worker would run it.
#[test]
fn a_check_for_a_deadlock_keeps_the_order_of_each_lane() {
    let (worker, parker) = (only_worker(), Parker::new());
    let _this_thread = worker.become_this_thread();
    let push = |lane| {
        let new = task();
        new.metadata().set_lane(lane);
        let id = new.id();
        match lane {
            Lane::Normal => worker.running().launch(new),
            _ => worker.push(new, lane),
        }
        id
    };
    let [mut spawned, high, pinned] = LANES.map(|lane| [(); 3].map(|()| push(lane)));
    assert!(!is_deadlock(&worker, &parker));
    assert_eq!(worker.queues.lengths(), [3, 3, 3]);
    assert_eq!(worker.counters().pinned.get(), 3);
    spawned.reverse();
    let left = iter::from_fn(|| worker.queues.next_queued());
    let left: Vec<_> = left.map(|task| task.id()).collect();
    assert_eq!(left, [pinned, high, spawned].concat());
}

#[test]
fn a_deadlock_panics_after_a_second_of_one_run_unless_closed() {
    let (worker, parker) = (only_worker(), Parker::new());
    let _this_thread = worker.become_this_thread();
    let running = worker.running();
    let (new, _handle) = awaited(&parker);
    running.launch(new);
    let start = Instant::now();
    let look = |quarters| {
        let at = start + STANDSTILL / 4 * quarters;
        let look = catch_unwind(AssertUnwindSafe(|| worker.check_blocked(&parker, at)));
        look.map_err(|payload| *payload.downcast::<&str>().expect("a text"))
    };
    assert_eq!(look(0), Ok(STANDSTILL));
    assert_eq!(look(1), Ok(STANDSTILL / 4 * 3));
    let message = look(4).expect_err("it is due");
    assert!(message.starts_with("deadlock: "), "{message}");
    // Another run, which has just begun to wait.
    worker.queues.runs.set(worker.queues.runs() + 1);
    assert_eq!(look(8), Ok(STANDSTILL));
    worker.shared().close();
    assert_eq!(look(12), Ok(STANDSTILL), "its end will end the wait");
    running.discard_queued();
}

#[test]
fn an_executor_starves_once_all_block_since_the_last_poll() {
    let [one, other] = two_workers();
    let begin = |worker: &Worker| worker.counters().polls.increment();
    let starved = |worker: &Worker| is_starved(worker);
    begin(&one);
    begin(&other);
    one.running().launch(task());
    assert!(!starved(&one), "the other one may be running");
    assert!(starved(&other));
    assert!(starved(&one));
    begin(&other);
    assert!(!starved(&one), "the other one runs again");
    assert!(starved(&other), "and is blocked again");
    one.running().discard_queued();
    assert!(!starved(&other), "nothing is queued");
}
