//! The tasks that a worker requeues, and its counts, by counts of wake-ups and ends.

mod registry;

use super::{
    closing::arrive, current::with_current, end::dispose, harness::*, queues::After, state::Spawns,
    *,
};
use crate::{deques::MOST_QUEUED, yield_now};
use joint::{host, oneshot, task::TaskEnd};

/// A task of a lane that has waited, and is ready to be run. It wakes itself in that run.
fn woken(worker: &Worker, lane: Lane) -> (Runnable, JoinHandle<()>) {
    let (sender, receiver) = oneshot::channel();
    let future = async move {
        let _sent = receiver.await;
        yield_now().await;
    };
    let (runnable, handle) = new_task(Location::caller(), future);
    launch(worker.shared(), Some(&worker.running()), runnable, lane);
    worker.as_current(|| {
        let runnable = worker.queues.next_queued().expect("the task was launched");
        worker.running().run(runnable);
        sender.send(()).expect("the task waits");
    });
    (
        worker.queues.next_queued().expect("the task was woken"),
        handle,
    )
}

#[test]
fn a_task_that_yields_with_no_other_queued_wakes_no_worker() {
    // In the run, and in the next take.
    for (lane, others, wakes) in [
        (Lane::Normal, &[][..], [0, 0]),
        (Lane::Normal, &[Lane::Normal], [0, 1]),
        (Lane::Normal, &[Lane::High], [0, 1]),
        (Lane::High, &[], [1, 0]),
        (Lane::Pinned(0), &[], [0, 0]),
    ] {
        let [worker, _other] = two_workers();
        assert!(worker.take_next().is_none(), "none is late now");
        let (runnable, _handle) = woken(&worker, lane);
        others.iter().for_each(|&lane| worker.push(task(), lane));
        let before = worker.queues.lengths();
        let run = || worker.as_current(|| worker.running().run(runnable));
        let in_run = wakes_of(&worker, run);
        let after = worker.queues.lengths();
        let own = LANES.map(|one| one == lane);
        assert_eq!([0, 1, 2].map(|i| after[i] - before[i] == 1), own);
        let mut next = None;
        let in_take = wakes_of(&worker, || next = worker.take_next());
        assert_eq!([in_run, in_take], wakes, "{lane:?} {others:?}");
        assert!(!worker.queues.take_yield());
        // Registered tasks are dropped before the executor.
        worker.running().discard(next.expect("it was queued"));
        worker.running().discard_queued();
    }
}

/// How many workers a worker wakes in `f`, right after a task has yielded behind what `prepare` has
/// queued.
pub(super) fn wakes_after_yield(prepare: impl FnOnce(&Worker), f: impl FnOnce(&Worker)) -> u64 {
    let [worker, _other] = two_workers();
    let (runnable, _handle) = woken(&worker, Lane::Normal);
    prepare(&worker);
    worker.as_current(|| worker.running().run(runnable));
    let wakes = wakes_of(&worker, || f(&worker));
    worker.running().discard_queued();
    wakes
}

#[test]
fn a_yield_that_no_take_follows_at_once_is_announced_before() {
    let another = |worker: &Worker| worker.running().push_normal(task());
    let strangers = |worker: &Worker| worker.running().stranger(|| {});
    assert_eq!(wakes_after_yield(|_| {}, strangers), 1);
    assert_eq!(wakes_after_yield(another, strangers), 1);
    let arrives = |worker: &Worker| arrive(&worker.running());
    assert_eq!(wakes_after_yield(|_| {}, arrives), 0, "it drops the task");
    assert_eq!(wakes_after_yield(another, arrives), 1);
}

/// The worker that this thread is, by its index.
fn this_worker() -> Option<usize> {
    let indices = [
        with_current(|worker| worker.map(|worker| worker.index())),
        with_thread_worker(|worker| worker.map(|(worker, _)| worker.index())),
    ];
    assert_eq!(indices[0], indices[1]);
    indices[0]
}

#[test]
fn a_thread_that_was_a_worker_is_what_it_was_before() {
    let [worker, other] = two_workers();
    assert_eq!(this_worker(), None);
    worker.on_thread(|| {
        assert_eq!(this_worker(), Some(0));
        other.on_thread(|| assert_eq!(this_worker(), Some(1)));
        assert_eq!(this_worker(), Some(0));
    });
    assert_eq!(this_worker(), None);
    let host = host::get();
    assert!(host.attend.is_none() && host.on_refused.is_none());
}

#[test]
fn a_spawned_task_goes_to_the_same_queue_with_a_hook() {
    let mut hooks = Hooks::default();
    hooks.on_spawn = Some(Box::new(|_| {}));
    for (hooks, spawns) in [(Hooks::default(), Spawns::Plain), (hooks, Spawns::Watched)] {
        let [worker, _other] = two_workers_with(hooks);
        assert_eq!(worker.spawns.get(), spawns);
        assert!(!worker.watches_polls && !worker.watches_wakes);
        worker.running().launch(task());
        assert_eq!(worker.queues.deques.spawned(), 1);
        worker.running().discard_queued();
    }
}

/// The hook could wait for what is in the slot, which no other worker can take.
#[test]
fn the_hook_for_a_wake_up_finds_the_slot_empty_and_closed() {
    let mut hooks = Hooks::default();
    hooks.on_wake = Some(Box::new(|_| {
        with_current(|worker| {
            let worker = worker.expect("this thread is the worker");
            assert_eq!(worker.queues.lengths(), [1, 0, 0], "it was in the slot");
            worker.push_normal(task());
            assert_eq!(worker.queues.lengths(), [2, 0, 0], "the slot is closed");
        });
    }));
    let [worker, _other] = two_workers_with(hooks);
    let (sender, receiver) = oneshot::channel::<()>();
    let (runnable, _handle) = new_task(Location::caller(), receiver);
    worker.as_current(|| {
        worker.running().run(runnable);
        worker.queues.before(After::Slot, || {
            worker.running().push_normal(task());
            assert_eq!(worker.queues.lengths(), [0; 3]);
            let wakes = wakes_of(&worker, || sender.send(()).expect("the task waits"));
            assert_eq!(wakes, 1, "other workers may take what is displaced");
        });
    });
    // The woken task is in the slot.
    assert_eq!(worker.queues.lengths(), [2, 0, 0]);
    worker.running().discard_queued();
}

/// The hook could wait for the task, which is in the injector.
#[test]
fn the_hook_for_a_push_comes_after_the_wake_up_for_it() {
    let (sender, is_asleep) = std::sync::mpsc::channel();
    let mut hooks = Hooks::default();
    hooks.on_push = Some(Box::new(move || {
        with_current(|worker| {
            let sleep = &worker.expect("this thread is the worker").shared().sleep;
            let woke = sleep.wake_worker(1);
            sender
                .send(matches!(woke, Woke::One))
                .expect("the test waits");
        });
    }));
    let [worker, _other] = two_workers_with(hooks);
    (0..MOST_QUEUED).for_each(|_| worker.queues.push_beyond(task()));
    let push = || worker.as_current(|| worker.push(task(), Lane::Normal));
    while_another_sleeps(&worker, push);
    assert_eq!(is_asleep.try_recv(), Ok(false));
}

#[test]
fn a_stranger_finds_the_slot_closed_and_all_tasks_announced() {
    let [worker, _other] = two_workers();
    let call = || {
        worker.queues.before(After::Slot, || {
            worker.running().stranger(|| {
                assert_eq!(worker.queues.after(), After::Anything);
                std::panic::resume_unwind(Box::new("on purpose"));
            });
            // As before, after a panic too.
            assert_eq!(worker.queues.after(), After::Slot);
        });
    };
    assert_eq!(wakes_of(&worker, call), 0, "there is no task");
    worker.queues.push_beyond(task());
    assert_eq!(wakes_of(&worker, call), 1);
    worker.queues.push_beyond(task());
    // The push of the second one has announced both.
    assert_eq!(wakes_of(&worker, call), 0);
}

#[test]
fn tasks_beyond_the_queue_capacity_overflow_to_the_injector() {
    let pushes: [fn(&Running<'_>, Runnable); 2] = [
        |running, task| running.push_spawned(task),
        |running, task| running.push_normal(task),
    ];
    for push in pushes {
        let [worker, _other] = two_workers();
        for _ in 0..MOST_QUEUED {
            push(&worker.running(), task());
        }
        assert_eq!(worker.queues.lengths(), [MOST_QUEUED, 0, 0]);
        assert!(!worker.shared().has_injected());
        let more = [task(), task()];
        let ids = more.each_ref().map(|task| task.id());
        more.into_iter()
            .for_each(|task| push(&worker.running(), task));
        assert_eq!(worker.queues.lengths(), [MOST_QUEUED, 0, 0]);
        let mut taken = Vec::new();
        worker.shared().injector.take(3, |task| taken.push(task));
        assert!(taken.iter().map(|task| task.id()).eq(ids), "oldest first");
    }
}

/// How many tasks an executor counts as cancelled, and as panicked.
fn ends(worker: &Worker) -> (u64, u64) {
    let metrics = worker.shared().metrics();
    (metrics.cancelled, metrics.panicked)
}

#[test]
fn its_own_executor_counts_a_task_that_is_disposed_of() {
    let panics = || task_that_drops(|| std::panic::resume_unwind(Box::new("on purpose")));
    let runnables = || [task(), panics()];
    let mut hooks = Hooks::default();
    let (sender, ended) = std::sync::mpsc::channel();
    hooks.on_end = Some(Box::new(move |_, how| {
        sender.send(how).expect("the test waits")
    }));
    let [worker, _other] = two_workers_with(hooks);
    let [elsewhere, _another] = two_workers();
    let dispose_of_both = || {
        for runnable in runnables() {
            dispose(worker.shared(), runnable);
        }
        let hows: Vec<_> = ended.try_iter().collect();
        assert_eq!(hows, [TaskEnd::Cancelled, TaskEnd::Panicked]);
    };
    // How many this worker has cancelled itself.
    let own = || worker.counters().cancelled.get();
    dispose_of_both();
    assert_eq!((ends(&worker), own()), ((1, 1), 0));
    elsewhere.as_current(dispose_of_both);
    assert_eq!((ends(&worker), own()), ((2, 2), 0));
    assert_eq!(ends(&elsewhere), (0, 0));
    worker.as_current(dispose_of_both);
    assert_eq!((ends(&worker), own()), ((3, 3), 1));

    // Everything after it is the worker's own again.
    elsewhere.as_current(|| {
        dispose_of_both();
        worker.running().discard(task());
    });
    assert_eq!((ends(&worker), ends(&elsewhere)), ((4, 4), (1, 0)));
    assert_eq!(elsewhere.counters().cancelled.get(), 1);
}
