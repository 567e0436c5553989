//! Workers whose owner chooses the tasks that they run.

use joint_executor::hosted::ReadyTask;

use super::*;

#[test]
fn tasks_come_in_the_order_in_which_they_were_queued() {
    let (executor, worker) = scheduled_one();
    let worker = &worker;
    let ran = Arc::new(Mutex::new(Vec::new()));
    let task = |number| {
        let ran = ran.clone();
        async move { ran.lock().unwrap().push(number) }
    };
    (0..3).for_each(|number| executor.spawn_detached(task(number)));
    worker.enter(|| (3..6).for_each(|number| spawn_detached(task(number))));
    for task in all(worker) {
        assert_eq!(task.pinned_to(), None);
        assert!(worker.run_task(task).is_none());
    }
    assert_eq!(*ran.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
}

pub(crate) fn scheduled_one() -> (Executor, BoundWorker) {
    scheduled_with(|builder| builder)
}

pub(crate) fn scheduled_with(set: impl FnOnce(Builder) -> Builder) -> (Executor, BoundWorker) {
    let executor = set(Executor::builder().workers(1)).build_scheduled();
    let (executor, mut workers) = executor.expect("no thread is started");
    (executor, workers.remove(0).bind())
}

/// The tasks that are ready, in the order in which they were queued.
pub(crate) fn all(worker: &BoundWorker) -> Vec<ReadyTask> {
    let mut taken = Vec::new();
    worker.take_injected(|task| taken.push(task));
    worker.take_queued(|task| taken.push(task));
    taken
}

pub(crate) fn one(worker: &BoundWorker) -> ReadyTask {
    let [one] = <[_; 1]>::try_from(all(worker)).expect("one is ready");
    one
}

#[test]
fn a_task_that_yields_comes_back_and_a_discarded_one_counts() {
    let (executor, worker) = scheduled_one();
    let worker = &worker;
    let task = executor.spawn(async {
        yield_now().await;
        yield_now().await;
    });
    let ready = one(worker);
    assert_eq!(ready.id(), task.id());
    let ready = worker.run_task(ready).expect("it has yielded");
    worker.give_back(ready);
    worker.discard(one(worker));
    assert!(block_on(task.result()).is_err());
    assert_eq!(executor.metrics().cancelled, 1);
}

#[test]
fn a_pinned_or_high_task_runs_on_no_other_worker_or_executor() {
    let (executor, workers) = Executor::builder().workers(2).build_scheduled().unwrap();
    let workers: Vec<_> = workers.into_iter().map(HostedWorker::bind).collect();
    let (_other, other) = scheduled_one();
    let pinned = || executor.task().name("own").on_worker(1);
    let high = executor.task().priority(Priority::High);
    for (task, home, away) in [
        (pinned(), &workers[1], &workers[0]),
        (pinned(), &workers[1], &other),
        (high, &workers[0], &other),
    ] {
        let task = task.spawn(async {});
        let ready = one(home);
        let is_pinned = ready.name().is_some();
        assert_eq!(ready.pinned_to(), is_pinned.then_some(1));
        panics(|| away.run_task(ready));
        assert!(block_on(task.result()).is_err(), "its runnable was dropped");
    }
}

#[test]
fn it_is_told_who_waits_for_whom() {
    let (executor, worker) = scheduled_one();
    let worker = &worker;
    let inner = executor.spawn(pending::<()>());
    let inner_id = inner.id();
    assert!(worker.run_task(one(worker)).is_none());
    let outer = executor.spawn(inner);
    assert!(worker.run_task(one(worker)).is_none());
    let (mut addresses, mut awaited) = (HashMap::new(), Vec::new());
    worker.each_waiting(|task, address, waiter| {
        addresses.insert(address.get(), task);
        awaited.extend(waiter.map(|waiter| (task, waiter)));
    });
    assert_eq!(awaited.len(), 1);
    let (joined, waiter) = awaited[0];
    assert_eq!((joined, addresses[&waiter]), (inner_id, outer.id()));
}

#[test]
fn a_task_can_run_inside_a_poll_of_the_same_worker() {
    let (executor, worker) = scheduled_one();
    let worker = Rc::new(worker);
    let inner = executor.spawn(async { 1 });
    let ready = RefCell::new(Some(one(&worker)));
    let own = worker.clone();
    let outer = worker.enter(|| {
        spawn_local(async move {
            let _outer = budget::save();
            let inside = || own.run_task(ready.take().unwrap());
            assert!(hosted::apart(inside).is_none());
            current_worker()
        })
    });
    assert!(worker.run_task(one(&worker)).is_none());
    assert_eq!((block_on(inner), block_on(outer)), (1, Some(0)));
}

#[test]
fn a_taken_task_keeps_the_memory_of_its_ended_executor() {
    let held = Arc::new(());
    let in_hook = held.clone();
    let (executor, worker) =
        scheduled_with(|builder| builder.on_thread_stop(move |_| _ = &in_hook));
    let task = executor.spawn(async {});
    let ready = one(&worker);
    drop((executor, worker));
    assert_eq!(Arc::strong_count(&held), 2);
    drop(ready);
    assert_eq!(Arc::strong_count(&held), 1);
    assert!(block_on(task.result()).is_err());
}

/// Takes the task that is ready, when it has waited or before.
fn one_that(
    has_waited: bool,
    worker: &BoundWorker,
    wake: oneshot::Sender<()>,
) -> (ReadyTask, Option<oneshot::Sender<()>>) {
    let ready = one(worker);
    if !has_waited {
        return (ready, Some(wake));
    }
    assert!(worker.run_task(ready).is_none());
    wake.send(()).unwrap();
    (one(worker), None)
}

/// An end that waited for the task would wait forever.
#[test]
fn a_worker_ends_while_its_owner_has_a_local_task_of_it() {
    let ends_of: [fn(BoundWorker, ReadyTask); 4] = [
        |worker, _task| worker.end(),
        |worker, task| drop((worker, task)),
        |worker, task| {
            std::mem::forget(task);
            drop(worker);
        },
        |worker, task| {
            let unwinds = move || {
                let _owned = (worker, task);
                resume_unwind(Box::new(()));
            };
            assert!(catch_unwind(AssertUnwindSafe(unwinds)).is_err());
        },
    ];
    for (way, end) in ends_of.into_iter().enumerate() {
        for has_waited in [false, true] {
            ends(move || {
                let (_executor, worker) = scheduled_one();
                let (wake, woken) = oneshot::channel::<()>();
                let task = worker.enter(|| spawn_local(async { _ = woken.await }));
                let (ready, _wake) = one_that(has_waited, &worker, wake);
                let worker = worker.unbind().expect_err("its task stays on this thread");
                end(worker, ready);
                assert_eq!(task.is_finished(), way != 2);
            });
        }
    }
}

#[test]
fn a_worker_ends_inside_the_drop_of_a_task_it_gave_away() {
    ends(|| {
        let (_executor, worker) = scheduled_one();
        let worker = Rc::new(worker);
        let held = OnDrop({
            let worker = worker.clone();
            move || worker.end()
        });
        let task = worker.enter(|| spawn_local(async move { drop(held) }));
        drop(one(&worker));
        assert!(task.is_finished());
        assert!(worker.enter(current_worker).is_none(), "it has ended");
    });
}

/// An end that waited for the task in the hook's hands would wait forever.
#[test]
fn a_worker_ends_inside_the_hook_for_the_wake_up_of_its_task() {
    thread_local!(static WORKER: RefCell<Option<BoundWorker>> = const { RefCell::new(None) });
    let ends_of: [fn(BoundWorker); 2] = [|worker| worker.end(), drop];
    for (end, workers) in ends_of.into_iter().flat_map(|end| [(end, 1), (end, 2)]) {
        ends(move || {
            let builder = Executor::builder().workers(workers);
            let builder = builder.on_wake(move |_| WORKER.take().into_iter().for_each(end));
            let (_executor, mut workers) = builder.build_hosted().unwrap();
            let mut worker = workers.remove(0).bind();
            let (wake, woken) = oneshot::channel::<()>();
            let task = worker.enter(|| spawn_local(async { _ = woken.await }));
            worker.step(8, Waker::noop());
            WORKER.set(Some(worker));
            wake.send(()).unwrap();
            assert!(task.is_finished());
        });
    }
}

#[test]
fn a_task_for_a_worker_that_has_ended_is_cancelled_and_freed() {
    let givers: [fn(&BoundWorker, ReadyTask); 4] = [
        BoundWorker::give_back,
        |worker, task| assert!(worker.run_task(task).is_none()),
        BoundWorker::discard,
        |_, task| drop(task),
    ];
    for give in givers {
        for has_waited in [false, true] {
            let (executor, worker) = scheduled_one();
            let held = Arc::new(());
            let (wake, woken) = oneshot::channel::<()>();
            let task = executor.spawn({
                let held = held.clone();
                async move { _ = (woken.await, held) }
            });
            let (ready, _wake) = one_that(has_waited, &worker, wake);
            worker.end();
            give(&worker, ready);
            assert!(task.is_finished());
            assert_eq!(Arc::strong_count(&held), 1);
            assert_eq!(executor.metrics().cancelled, 1);
        }
    }
}

#[test]
fn a_closed_executor_runs_nothing() {
    let (executor, worker) = scheduled_one();
    let task = executor.spawn(async {});
    let ready = one(&worker);
    worker.close();
    assert!(worker.is_closed());
    assert!(worker.run_task(ready).is_none());
    assert_cancelled(task);
    worker.end();
    assert!(worker.enter(current_worker).is_none());
}
