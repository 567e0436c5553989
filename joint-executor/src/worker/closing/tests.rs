//! The shutdown of an executor, step by step, with both workers on one thread.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use joint_switch::wait_until;

use crate::{
    policy::{ALONE, MOST_NESTED},
    worker::{
        closing::{arrive, cancel_waiting},
        harness::*,
    },
};

/// A task that counts in `alive` for as long as its future exists.
fn counted(alive: &Arc<()>) -> Runnable {
    let held = alive.clone();
    new_detached(Location::caller(), async move { drop(held) })
}

fn alive(alive: &Arc<()>) -> usize {
    Arc::strong_count(alive) - 1
}

#[test]
fn a_search_ends_at_the_close_or_after_arrival_at_quiescence() {
    let [worker, _other] = two_workers();
    let is_over = || {
        [false, true].map(|has_arrived| {
            worker.has_arrived.set(has_arrived);
            worker.is_over()
        })
    };
    assert_eq!(is_over(), [false, false]);
    worker.shared().close();
    assert_eq!(is_over(), [true, false]);
    for (index, is_quiet) in [(0, false), (0, false), (1, true)] {
        worker.shared().arrive(index);
        assert_eq!(is_over(), [true, is_quiet]);
    }
    worker.shared().close();
    assert_eq!(is_over(), [true, true], "a second close changes nothing");
}

#[test]
fn a_blocked_worker_drops_its_own_and_if_left_alone_what_it_can() {
    let [worker, other] = two_workers();
    let (shared, held) = (worker.shared(), Arc::new(()));
    for lane in LANES {
        worker.push(counted(&held), lane);
    }
    for lane in [Lane::Normal, Lane::High] {
        shared.inject(counted(&held), lane);
        other.push(counted(&held), lane);
    }
    other.push(counted(&held), Lane::Pinned(1));
    shared.close();
    worker.discard_blocked();
    assert_eq!(alive(&held), 7, "all but the tasks that are pinned to it");
    wait_for(&worker, ALONE);
    worker.discard_blocked();
    assert_eq!(alive(&held), 1, "the one that is pinned elsewhere");
    other.discard_blocked();
    assert_eq!(alive(&held), 0);
}

/// Makes a blocked worker believe that it began to look this much earlier.
fn wait_for(worker: &Worker, time: Duration) {
    let (since, last) = worker.closing.blocked.get().expect("it has looked");
    let earlier = since.checked_sub(time).expect("the clock is old enough");
    worker.closing.blocked.set(Some((earlier, last)));
}

#[test]
fn a_worker_is_left_alone_after_a_while_without_arrivals() {
    let [worker, _other] = two_workers();
    worker.shared().close();
    assert!(!worker.closing.is_left_alone(&worker));
    wait_for(&worker, ALONE - Duration::from_millis(50));
    assert!(!worker.closing.is_left_alone(&worker));
    wait_for(&worker, Duration::from_millis(50));
    assert!(worker.closing.is_left_alone(&worker));
    worker.shared().arrive(1);
    assert!(
        !worker.closing.is_left_alone(&worker),
        "another worker is free"
    );
    worker.has_arrived.set(true);
    assert!(worker.closing.is_left_alone(&worker), "no poll is beneath");
}

#[test]
fn the_last_worker_to_leave_drops_the_remaining_tasks() {
    let [worker, other] = two_workers();
    let (shared, held) = (worker.shared(), Arc::new(()));
    shared.close();
    // So that neither worker waits for the other.
    shared.arrive(1);
    for lane in LANES {
        worker.push(counted(&held), lane);
        shared.inject(counted(&held), lane);
    }
    worker.close_down(worker.running());
    assert_eq!(alive(&held), 2, "the injected ones are left");
    other.push(counted(&held), Lane::Normal);
    shared.inject(counted(&held), Lane::Pinned(0));
    assert_eq!(alive(&held), 4);
    other.close_down(other.running());
    assert_eq!(alive(&held), 0);
    for lane in LANES {
        launch(shared, None, counted(&held), lane);
        assert_eq!(alive(&held), 0, "spawned too late");
        shared.inject(counted(&held), lane);
        wait_until(|| alive(&held) == 0);
        shared.threads().has_host = true;
        shared.inject(counted(&held), lane);
        assert_eq!(alive(&held), 0, "no thread may be started");
        shared.threads().has_host = false;
    }
}

#[test]
fn a_drop_in_the_last_leave_may_wait_for_a_task_it_spawns() {
    let [worker, _other] = two_workers();
    let (tell, left) = mpsc::channel();
    worker.shared().close();
    worker.shared().arrive(1);
    assert!(!worker.shared().gate.leave(), "the other one is gone");
    // It drops nothing before it leaves.
    worker.as_current(|| arrive(&worker.running()));
    let spawns = task_that_drops(move || {
        let held = Arc::new(());
        with_thread_worker(|worker| {
            let (worker, running) = worker.expect("a worker drops it");
            launch(worker.shared(), Some(running), counted(&held), Lane::Normal);
        });
        tell.send(alive(&held)).expect("the test waits");
    });
    worker.shared().inject(spawns, Lane::Normal);
    worker.on_thread(|| worker.shared().leave(&worker.running()));
    assert_eq!(left.try_recv(), Ok(0));
}

#[test]
fn a_blocked_worker_drops_inside_of_drops_up_to_a_depth() {
    let [worker, _other] = two_workers();
    let seen = Arc::new(AtomicUsize::new(usize::MAX));
    let push = || {
        let seen = seen.clone();
        let tells = task_that_drops(move || {
            with_thread_worker(|worker| {
                let (worker, _) = worker.expect("a worker drops it");
                seen.store(worker.closing.inside.get(), Relaxed);
            });
        });
        worker.push(tells, Lane::Pinned(0));
    };
    worker.shared().close();
    worker.on_thread(|| {
        push();
        worker.discard_blocked();
        assert_eq!(seen.load(Relaxed), 1);
        assert_eq!(worker.closing.inside.get(), 0);
        push();
        worker.closing.inside.set(MOST_NESTED);
        worker.discard_blocked();
        assert_eq!(Arc::strong_count(&seen), 2, "nested too deeply");
        worker.closing.inside.set(MOST_NESTED - 1);
        worker.discard_blocked();
        assert_eq!(seen.load(Relaxed), MOST_NESTED);
    });
}

#[test]
fn the_first_to_arrive_cancels_all_waits_and_others_their_own() {
    let [worker, other] = &two_workers();
    let have_ended = |handles: &[JoinHandle<()>]| -> Vec<_> {
        handles.iter().map(JoinHandle::is_finished).collect()
    };
    let first = LANES.map(|lane| waiting(worker, lane).0);
    let others = [Lane::Normal, Lane::High, Lane::Pinned(1)];
    let second = others.map(|lane| waiting(other, lane).0);
    worker.shared().close();
    worker.as_current(|| arrive(&worker.running()));
    assert_eq!(have_ended(&first), [true; 3]);
    assert_eq!(have_ended(&second), [true, true, false], "pinned elsewhere");
    let late = others.map(|lane| waiting(other, lane).0);
    other.as_current(|| arrive(&other.running()));
    assert_eq!(have_ended(&second), [true; 3]);
    assert_eq!(have_ended(&late), [true; 3]);
}

#[test]
fn a_worker_that_cancels_what_waits_wakes_another_to_drop_it() {
    let [worker, _other] = two_workers();
    let cancel = || cancel_waiting(&worker.running());
    worker.shared().close();
    assert_eq!(wakes_of(&worker, cancel), 0, "nothing waits");
    let (handle, _waker) = waiting(&worker, Lane::Normal);
    assert_eq!(wakes_of(&worker, cancel), 1);
    assert!(!handle.is_finished(), "it is queued");
    worker.as_current(|| worker.running().discard_queued());
    assert!(handle.is_finished());
}

#[test]
fn a_waiter_that_panics_keeps_no_worker_from_the_next_drop() {
    let [worker, _other] = two_workers();
    let running = worker.running();
    let ways: [fn(&Worker); 2] = [
        |worker| worker.running().discard_queued(),
        Worker::discard_blocked,
    ];
    worker.shared().close();
    for way in ways {
        let handles = [(); 2].map(|()| {
            let (runnable, mut handle) = new_task(Location::caller(), pending::<()>());
            let waker = waker_that(|| std::panic::resume_unwind(Box::new("on purpose")));
            let mut cx = Context::from_waker(&waker);
            assert!(Pin::new(&mut handle).poll(&mut cx).is_pending());
            running.push(runnable, Lane::Pinned(0));
            handle
        });
        way(&worker);
        assert!(handles.iter().all(JoinHandle::is_finished));
    }
}
