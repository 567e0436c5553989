//! Executors whose workers the tests drive: by steps, to the end, and task by task.
#![cfg(feature = "io")]

use std::{collections::HashMap, ptr, task::RawWakerVTable};

use joint::{
    budget, host,
    park::{Parker, park_until},
    task::{Id, Runnable},
};
use joint_executor::{
    TaskEnd, TaskLocal,
    hosted::{self, ExecutorId, Host, ReadyTask, Shutdown, Unwind},
};

use crate::prelude::*;

const LONG: Duration = Duration::from_secs(60);

fn hosted(workers: usize) -> (Executor, Vec<HostedWorker>) {
    let executor = Executor::builder().workers(workers).build_hosted();
    executor.expect("no thread is started")
}

/// An executor with one worker, which is bound to this thread.
fn bound() -> (Executor, BoundWorker) {
    bound_with(|builder| builder)
}

/// The same, with what else `set` asks for.
fn bound_with(set: impl FnOnce(Builder) -> Builder) -> (Executor, BoundWorker) {
    let executor = set(Executor::builder().workers(1)).build_hosted();
    let (executor, mut workers) = executor.expect("no thread is started");
    (executor, workers.remove(0).bind())
}

/// An executor whose workers are all bound to this thread.
fn all_bound(workers: usize) -> (Executor, Vec<BoundWorker>) {
    let (executor, workers) = hosted(workers);
    (
        executor,
        workers.into_iter().map(HostedWorker::bind).collect(),
    )
}

/// Steps a worker until it has nothing to run.
fn exhaust(worker: &mut BoundWorker) -> Step {
    loop {
        match worker.step(64, Waker::noop()) {
            Step::Ready => {}
            other => return other,
        }
    }
}

/// Drives a worker until it ends, and sleeps meanwhile.
fn drive(worker: HostedWorker) {
    let mut worker = worker.bind();
    let parker = Parker::new();
    loop {
        match worker.step(3, parker.waker()) {
            Step::Ready => {}
            Step::Idle => _ = park_until(None, || parker.take_wake()),
            Step::Until(time) => _ = park_until(Some(time), || parker.take_wake()),
            Step::Ended => return,
        }
    }
}

#[test]
fn a_step_runs_no_more_tasks_than_it_is_told() {
    let (executor, mut worker) = bound();
    let tasks: Vec<_> = (0..5).map(|_| executor.spawn(async {})).collect();
    let steps = [2, 2, 2].map(|most| {
        let step = worker.step(most, Waker::noop());
        (step, executor.metrics().finished)
    });
    assert_eq!(steps, [(Step::Ready, 2), (Step::Ready, 4), (Step::Idle, 5)]);
    assert!(tasks.iter().all(|task| task.is_finished()));
}

#[test]
fn a_worker_moves_between_threads_with_its_tasks() {
    let (executor, mut workers) = hosted(1);
    let (sender, receiver) = oneshot::channel();
    let waiting = executor.spawn(async { (receiver.await, thread::current().id()) });
    let pinned = executor.spawn_on(0, async {
        let before = thread::current().id();
        yield_now().await;
        (before, thread::current().id())
    });
    let mut worker = workers.remove(0).bind();
    worker.step(1, Waker::noop());
    worker.step(1, Waker::noop());
    let own = thread::current().id();
    let worker = worker.unbind().expect("it has no local task");
    let other = thread::spawn(move || {
        let mut worker = worker.bind();
        sender.send(7).unwrap();
        assert_eq!(exhaust(&mut worker), Step::Idle);
        (thread::current().id(), worker.unbind().unwrap())
    });
    let (other, worker) = other.join().unwrap();
    assert_eq!(block_on(waiting), (Ok(7), other));
    assert_eq!(block_on(pinned), (own, other));
    // Back again.
    let last = executor.spawn(async { thread::current().id() });
    exhaust(&mut worker.bind());
    assert_eq!(block_on(last), own);
}

#[test]
fn a_worker_stays_on_its_thread_while_it_has_a_local_task() {
    let (executor, mut worker) = bound();
    let (sender, receiver) = oneshot::channel::<()>();
    let held = Rc::new(());
    let task = worker.enter(|| {
        let held = held.clone();
        spawn_local(async move {
            let _received = receiver.await;
            drop(held);
        })
    });
    exhaust(&mut worker);
    let mut worker = worker.unbind().expect_err("the task waits");
    drop(sender);
    exhaust(&mut worker);
    assert!(task.is_finished() && Rc::strong_count(&held) == 1);
    drop(worker.unbind().expect("the task has ended"));
    drop(executor);
}

#[test]
fn a_waker_is_woken_by_the_first_push_and_not_by_the_next_ones() {
    let (executor, mut worker) = bound();
    let (wakes, waker) = counting();
    assert_eq!(worker.step(1, &waker), Step::Idle);
    assert_eq!(wakes.count(), 0);
    let _tasks = [0, 1, 2].map(|_| executor.spawn(async {}));
    assert_eq!(wakes.count(), 1);
    exhaust(&mut worker);
    let _task = executor.spawn(async {});
    assert_eq!(wakes.count(), 1, "the last step had another waker");
}

#[test]
fn a_waker_that_panics_harms_nobody() {
    let (executor, mut worker) = bound();
    worker.step(1, &waker_that(|| resume_unwind(Box::new("on purpose"))));
    let task = executor.spawn(async { 1 });
    exhaust(&mut worker);
    assert_eq!(block_on(task), 1);
}

#[test]
fn a_waker_whose_clone_panics_leaves_the_worker_asleep() {
    static TABLE: RawWakerVTable = RawWakerVTable::new(
        |_| resume_unwind(Box::new("on purpose")),
        |_| (),
        |_| (),
        |_| (),
    );
    // SAFETY: the functions do not use the data.
    let panics = unsafe { Waker::new(ptr::null(), &TABLE) };
    let (executor, mut workers) = all_bound(2);
    let (wakes, waker) = counting();
    for worker in &mut workers {
        while worker.step(1, &waker) != Step::Idle {}
    }
    let step = AssertUnwindSafe(|| workers[0].step(1, &panics));
    assert!(catch_unwind(step).is_err());
    let task = executor.spawn(async { 1 });
    assert_eq!(wakes.count(), 1, "no worker is taken for one that searches");
    workers.iter_mut().for_each(|worker| _ = exhaust(worker));
    assert_eq!(block_on(task), 1);
}

#[test]
fn a_waker_may_spawn_on_the_same_executor() {
    let (executor, mut worker) = bound();
    let spawns = waker_that({
        let handle = executor.handle();
        move || handle.spawn_detached(async {})
    });
    worker.step(1, &spawns);
    let handle = worker.enter(|| spawn(async {}));
    worker.step(9, &spawns);
    assert!(handle.is_finished());
    let (sender, receiver) = oneshot::channel::<()>();
    worker.enter(|| spawn_detached(async { _ = receiver.await }));
    worker.step(9, &spawns);
    sender.send(()).unwrap();
    exhaust(&mut worker);
    let metrics = executor.metrics();
    assert_eq!((metrics.finished, metrics.live()), (3, 0));
}

#[test]
fn a_dropped_worker_ends_its_executor_and_cancels_every_task() {
    let (executor, mut workers) = hosted(2);
    let other = workers.pop().unwrap();
    let mut worker = workers.pop().unwrap().bind();
    let (_sender, receiver) = oneshot::channel::<()>();
    let waiting = executor.spawn(async { _ = receiver.await });
    let pinned = [0, 1].map(|worker| executor.spawn_on(worker, pending::<()>()));
    exhaust(&mut worker);
    let queued = executor.spawn(async {});
    let thread = thread::spawn(|| other.run());
    drop(worker);
    thread.join().unwrap();
    let cancelled = pinned.into_iter().chain([waiting]);
    cancelled.for_each(assert_cancelled);
    // The other worker may have run it.
    let _ended = block_on(queued.result());
    assert_eq!(executor.metrics().live(), 0);
    assert_cancelled(executor.spawn(async {}));
}

#[test]
fn workers_that_are_dropped_unused_drop_the_tasks() {
    let (executor, workers) = hosted(3);
    let held = Arc::new(());
    for worker in 0..3 {
        executor.spawn_detached(hold(held.clone()));
        let pinned = executor.task().on_worker(worker);
        pinned.spawn_detached(hold(held.clone()));
    }
    drop(workers);
    assert_eq!(Arc::strong_count(&held), 1);
    assert_eq!(executor.metrics().live(), 0);
}

#[test]
fn the_drop_does_not_wait_and_the_next_step_ends() {
    let stopped = Arc::new(AtomicUsize::new(0));
    let on_stop = stopped.clone();
    let (executor, mut worker) =
        bound_with(|builder| builder.on_thread_stop(move |_| _ = on_stop.fetch_add(1, Relaxed)));
    let waiting = executor.spawn(pending::<()>());
    exhaust(&mut worker);
    let queued = executor.spawn(async {});
    drop(executor);
    assert!(!waiting.is_finished() && !queued.is_finished());
    assert_eq!(worker.step(1, Waker::noop()), Step::Ended);
    assert!(block_on(waiting.result()).is_err() && block_on(queued.result()).is_err());
    assert_eq!(worker.step(1, Waker::noop()), Step::Ended);
    worker.wait(None);
    drop(worker);
    assert_eq!(stopped.load(Relaxed), 1);
}

#[test]
fn several_workers_of_one_thread_end_in_turn() {
    let (executor, mut workers) = all_bound(3);
    let pinned = [0, 1, 2].map(|worker| executor.spawn_on(worker, pending::<()>()));
    workers.iter_mut().for_each(|worker| _ = exhaust(worker));
    drop(executor);
    let mut ended = || {
        let steps = workers
            .iter_mut()
            .map(|worker| worker.step(1, Waker::noop()));
        steps.filter(|&step| step == Step::Ended).count()
    };
    let ended = [ended(), ended()];
    assert_eq!(ended, [1, 3], "they wait until the last one has arrived");
    pinned.into_iter().for_each(assert_cancelled);
}

#[test]
fn panics_of_tasks_and_entered_code_leave_the_worker_whole() {
    let (executor, mut worker) = bound();
    let task = executor.spawn(async { resume_unwind(Box::new("on purpose")) });
    exhaust(&mut worker);
    let ended: Result<(), _> = block_on(task.result());
    assert!(matches!(ended, Err(JoinError::Panicked(_))));
    let entered = || worker.enter(|| resume_unwind(Box::new("on purpose")));
    assert!(catch_unwind(AssertUnwindSafe(entered)).is_err());
    assert!(current_worker().is_none());
    let task = worker.enter(|| {
        assert_eq!(current_worker(), Some(0));
        spawn(async { 1 })
    });
    exhaust(&mut worker);
    assert_eq!(block_on(task), 1);
}

/// Also of another executor: a timer that is reset belongs to whoever resets it.
#[test]
fn entered_code_blocks_on_a_timer_and_on_a_task_that_it_runs() {
    let wait = || block_on(joint_executor::time::sleep(Duration::from_millis(1)));
    let (executor, worker) = chosen::scheduled_one();
    worker.enter(wait);
    executor.spawn(async move { wait() }).detach();
    worker.enter(|| worker.take_injected(|task| assert!(worker.run_task(task).is_none())));
}

/// Who some code is, as far as it can tell.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Who {
    worker: Option<usize>,
    executor: Option<ExecutorId>,
    task: Option<Id>,
    value: Option<u32>,
}

static VALUE: TaskLocal<u32> = TaskLocal::new();

const NOBODY: Who = Who {
    worker: None,
    executor: None,
    task: None,
    value: None,
};

impl Who {
    /// Uses the budget as well.
    fn am_i() -> Self {
        budget::refill();
        Self {
            worker: current_worker(),
            executor: Handle::try_current().map(|handle| handle.id()),
            task: joint::task::try_id(),
            value: VALUE.try_with(|value| *value),
        }
    }

    fn worker_of(executor: &Executor) -> Self {
        Self {
            worker: Some(0),
            executor: Some(executor.id()),
            ..NOBODY
        }
    }

    fn running(self, task: &JoinHandle<Self>) -> Self {
        Self {
            task: Some(task.id()),
            ..self
        }
    }
}

type Way = fn(Who) -> [Who; 2];

/// Ways in. Each returns who its code is, and who that should be inside the code of `outer`.
const WAYS: [(&str, Way); 14] = [
    ("enter", |_| {
        let (executor, worker) = bound();
        [worker.enter(Who::am_i), Who::worker_of(&executor)]
    }),
    ("spawn_local in enter", |_| {
        let (executor, mut worker) = bound();
        let task = worker.enter(|| spawn_local(async { Who::am_i() }));
        let right = Who::worker_of(&executor).running(&task);
        exhaust(&mut worker);
        [block_on(task), right]
    }),
    ("block_on of a worker", |_| {
        let (executor, mut worker) = bound();
        let future = async { Who::am_i() };
        [worker.block_on(future), Who::worker_of(&executor)]
    }),
    ("step", |_| {
        let (executor, mut worker) = bound();
        let task = executor.spawn(async { Who::am_i() });
        let right = Who::worker_of(&executor).running(&task);
        exhaust(&mut worker);
        [block_on(task), right]
    }),
    ("run_task", |_| {
        let (executor, worker) = chosen::scheduled_one();
        let task = executor.spawn(async { Who::am_i() });
        let right = Who::worker_of(&executor).running(&task);
        assert!(worker.run_task(chosen::one(&worker)).is_none());
        [block_on(task), right]
    }),
    ("discard", |_| {
        let (executor, worker) = chosen::scheduled_one();
        let seen = at_drop(&executor);
        worker.discard(chosen::one(&worker));
        [seen.recv().unwrap(), Who::worker_of(&executor)]
    }),
    ("the drop of a ready task", |outer| {
        let (executor, worker) = chosen::scheduled_one();
        let seen = at_drop(&executor);
        drop(chosen::one(&worker));
        assert_eq!(executor.metrics().cancelled, 1);
        let right = Who {
            worker: outer.worker,
            executor: outer.executor,
            ..NOBODY
        };
        [seen.recv().unwrap(), right]
    }),
    ("the end of a worker", |_| {
        let (executor, worker) = bound();
        let seen = at_drop(&executor);
        worker.end();
        [seen.recv().unwrap(), Who::worker_of(&executor)]
    }),
    ("enter after the end", |_| {
        let (_executor, worker) = bound();
        worker.end();
        [worker.enter(Who::am_i), NOBODY]
    }),
    ("a hook for the start and the end of a worker", |_| {
        let (tell, seen) = mpsc::channel();
        let hook = move |_| tell.send(Who::am_i()).unwrap();
        drop(bound_with(|builder| builder.on_thread_stop(hook)).1);
        [seen.recv().unwrap(), NOBODY]
    }),
    ("apart", |_| [hosted::apart(Who::am_i), NOBODY]),
    ("spawn_blocking", |_| {
        let call = spawn_blocking(Who::am_i);
        let right = NOBODY.running(&call);
        [block_on(call), right]
    }),
    ("block_on of an executor", |outer| {
        let executor = crate::common::executor(1);
        let right = Who {
            worker: None,
            executor: Some(executor.id()),
            ..outer
        };
        [executor.block_on(async { Who::am_i() }), right]
    }),
    ("block_on of a local executor", |outer| {
        [LocalExecutor::new().block_on(async { Who::am_i() }), outer]
    }),
];

/// Spawns a task that tells who the code of its drop is.
fn at_drop(executor: &Executor) -> mpsc::Receiver<Who> {
    let (tell, seen) = mpsc::channel();
    let held = OnDrop(move || tell.send(Who::am_i()).unwrap());
    executor.spawn_detached(async move { drop(held) });
    seen
}

/// Places to call them at.
const PLACES: [fn(&mut (dyn FnMut() + Send)); 8] = [
    |f| f(),
    |f| VALUE.sync_scope(7, f),
    |f| crate::common::executor(1).scope(|scope| _ = scope.spawn(VALUE.scope(7, async { f() }))),
    |f| LocalExecutor::new().block_on(VALUE.scope(7, async { f() })),
    |f| {
        let local = |f: &mut (dyn FnMut() + Send)| LocalExecutor::new().block_on(async { f() });
        crate::common::executor(1)
            .scope(|scope| _ = scope.spawn(VALUE.scope(7, async { local(f) })));
    },
    |f| crate::common::executor(1).block_on(VALUE.scope(7, async { f() })),
    |f| current_thread().1.block_on(VALUE.scope(7, async { f() })),
    |f| crate::common::executor(2).install(|| _ = join(|| VALUE.sync_scope(7, f), || ())),
];

#[test]
fn each_way_into_an_executor_says_who_its_code_is_at_each_place() {
    for (place, call_at) in PLACES.into_iter().enumerate() {
        call_at(&mut || {
            for (way, call) in WAYS {
                let outer = Who::am_i();
                budget::refill_to(1);
                let [seen, right] = call(outer);
                assert_eq!(seen, right, "{way} at place {place}");
                assert!(budget::is_used_up(), "{way} at place {place}: the budget");
                assert_eq!(Who::am_i(), outer, "after {way} at place {place}");
            }
        });
    }
}

#[test]
fn a_step_takes_over_the_tasks_of_a_worker_that_is_not_stepped() {
    let (executor, mut workers) = all_bound(2);
    let tasks = workers[0].enter(|| {
        let spawn = |_| spawn(async { current_worker() });
        (0..8).map(spawn).collect::<Vec<_>>()
    });
    assert_eq!(exhaust(&mut workers[1]), Step::Idle);
    let ran_by: Vec<_> = tasks.into_iter().map(block_on).collect();
    assert_eq!(ran_by, [Some(1); 8]);
    assert!(executor.metrics().workers[1].steals > 0);
}

#[test]
fn hooks_run_once_for_each_worker_and_the_last_set_first() {
    let (calls, called) = mpsc::channel();
    let note = |what: &'static str| {
        let calls = calls.clone();
        move || calls.send(what).unwrap()
    };
    let (first, second) = (note("first"), note("second"));
    let (start, stop, push) = (note("start"), note("stop"), note("push"));
    let (executor, worker) = bound_with(|builder| {
        builder
            .on_spawn(move |_| first())
            .on_spawn(move |_| second())
            .on_thread_start(move |_| start())
            .on_thread_stop(move |_| stop())
            .on_push(push)
    });
    let mut worker = worker.unbind().unwrap().bind();
    executor.spawn_detached(async {});
    exhaust(&mut worker);
    drop((executor, worker));
    let expected = ["start", "second", "first", "push", "stop"];
    assert_eq!(called.try_iter().collect::<Vec<_>>(), expected);
}

mod driver {
    use super::*;

    #[test]
    fn a_step_says_when_the_next_timer_is_due_and_fires_it() {
        let (executor, mut worker) = bound();
        let far = executor.spawn(sleep_until(Instant::now() + LONG));
        // A slow system may take longer for the step.
        let mut delay = Duration::from_millis(5);
        let (deadline, task) = loop {
            let deadline = Instant::now() + delay;
            let task = executor.spawn(sleep_until(deadline));
            if exhaust(&mut worker) == Step::Until(deadline) {
                break (deadline, task);
            }
            assert!(Instant::now() >= deadline, "the step has missed the timer");
            delay *= 2;
        };
        thread::sleep(deadline.saturating_duration_since(Instant::now()));
        assert!(matches!(exhaust(&mut worker), Step::Until(time) if time > deadline + LONG / 2));
        assert!(task.is_finished() && !far.is_finished());
    }

    #[test]
    fn an_earlier_timer_of_another_thread_wakes_the_waker() {
        let (executor, mut worker) = bound();
        let (wakes, waker) = counting();
        let far = executor.spawn(sleep(LONG));
        while worker.step(9, &waker) == Step::Ready {}
        let before = wakes.count();
        executor.enter(|| {
            let near = std::pin::pin!(sleep(Duration::from_millis(1)));
            let is_pending = crate::common::poll_with(&mut { near }, Waker::noop()).is_pending();
            assert!(is_pending);
        });
        assert_eq!(wakes.count(), before + 1);
        drop(far);
    }

    #[test]
    fn a_wait_ends_with_a_timer_a_descriptor_a_push_and_a_limit() {
        let (executor, mut worker) = bound();
        let mut finish = |task: joint::JoinHandle<()>| {
            while !task.is_finished() {
                if worker.step(1, Waker::noop()) != Step::Ready {
                    worker.wait(None);
                }
            }
        };
        finish(executor.spawn(sleep(Duration::from_millis(1))));

        finish(executor.spawn(datagram()));

        let (sender, receiver) = oneshot::channel::<()>();
        let other = thread::spawn(|| drop(sender));
        finish(executor.spawn(async { assert!(receiver.await.is_err()) }));
        other.join().unwrap();

        exhaust(&mut worker);
        worker.wait(Some(Duration::from_millis(1)));
        worker.wait(Some(Duration::ZERO));
    }

    #[test]
    fn a_worker_that_is_only_stepped_sees_descriptors_soon() {
        let (executor, mut workers) = hosted(1);
        let worker = workers.remove(0);
        let thread = thread::spawn(|| drive(worker));
        block_on(executor.spawn(datagram()));
        drop(executor);
        thread.join().unwrap();
    }

    #[test]
    fn an_owner_that_chooses_serves_the_timers() {
        let armed = Arc::new(Mutex::new(Vec::new()));
        let on_timer = armed.clone();
        let (executor, worker) = chosen::scheduled_with(|builder| {
            builder.on_timer(move |deadline| on_timer.lock().unwrap().push(deadline))
        });
        let deadline = Instant::now() + LONG;
        let task = executor.spawn(sleep_until(deadline));
        let run_all = || {
            for task in chosen::all(&worker) {
                assert!(worker.run_task(task).is_none());
            }
        };
        assert_eq!(worker.next_deadline(), None);
        run_all();
        assert_eq!(worker.next_deadline(), Some(deadline));
        assert_eq!(*armed.lock().unwrap(), [deadline]);
        let mut wakers = Vec::new();
        worker.take_due(deadline - Duration::from_nanos(1), &mut wakers);
        assert!(wakers.is_empty());
        worker.take_due(deadline, &mut wakers);
        assert_eq!((wakers.len(), worker.next_deadline()), (1, None));
        let before = host::update(|host| host.now = Some(deadline));
        wakers.pop().unwrap().wake();
        run_all();
        host::set(before);
        assert!(task.is_finished());
    }
}

mod threads {
    use super::*;

    #[test]
    fn the_threads_of_the_callers_are_like_the_executors_own() {
        let started = Arc::new(AtomicUsize::new(0));
        let on_spawn = started.clone();
        let builder = Executor::builder().workers(2).spawn_thread(move |worker| {
            assert_eq!(worker.index(), on_spawn.fetch_add(1, Relaxed));
            let thread = thread::Builder::new().name(format!("mine-{}", worker.index()));
            thread.spawn(|| worker.run()).map(drop)
        });
        let executor = builder.build().unwrap();
        let name = executor.spawn_on(1, async { thread::current().name().map(String::from) });
        assert_eq!(block_on(name).as_deref(), Some("mine-1"));
        let dropped = Arc::new(());
        executor.spawn_detached(hold(dropped.clone()));
        drop(executor);
        assert_eq!((started.load(Relaxed), Arc::strong_count(&dropped)), (2, 1));
    }

    #[test]
    fn an_error_of_the_caller_fails_the_build_and_ends_the_workers() {
        let ended = Arc::new(AtomicUsize::new(0));
        let on_stop = ended.clone();
        let builder = Executor::builder()
            .workers(3)
            .on_thread_stop(move |_| _ = on_stop.fetch_add(1, Relaxed))
            .spawn_thread(|worker| match worker.index() {
                2 => Err(io::Error::other("no more")),
                _ => {
                    thread::spawn(|| worker.run());
                    Ok(())
                }
            });
        assert_eq!(builder.build().unwrap_err().to_string(), "no more");
        // The drop of the executor has waited for the two that were started.
        assert_eq!(ended.load(Relaxed), 2);
    }
}

mod chosen {
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
        let (executor, mut workers) = executor.unwrap();
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
}

mod hosts {
    use super::*;

    /// A host with one executor of one worker.
    #[derive(Default)]
    struct Here {
        executor: Mutex<Option<Arc<Executor>>>,
        calls: Mutex<Vec<Runnable>>,
        ended: Mutex<Vec<(Id, TaskEnd)>>,
        built: AtomicUsize,
        foreign: AtomicUsize,
        elsewhere: AtomicUsize,
        shut_down: Mutex<Vec<ExecutorId>>,
    }

    impl Here {
        fn new() -> (Arc<Self>, BoundWorker) {
            let this = Arc::new(Self::default());
            let (executor, worker) = bound_with(|builder| builder.host(this.clone()));
            *this.executor.lock().unwrap() = Some(Arc::new(executor));
            (this, worker)
        }

        fn run_calls(&self) {
            let calls = std::mem::take(&mut *self.calls.lock().unwrap());
            calls.into_iter().for_each(|call| _ = call.run());
        }
    }

    impl Host for Here {
        fn executor(&self) -> Arc<Executor> {
            self.executor.lock().unwrap().clone().unwrap()
        }

        fn build(&self, builder: Builder) -> io::Result<Executor> {
            self.built.fetch_add(1, Relaxed);
            let (executor, workers) = builder.build_hosted()?;
            drop(workers);
            Ok(executor)
        }

        fn default_workers(&self) -> usize {
            7
        }

        fn call_blocking(&self, call: Runnable) {
            self.calls.lock().unwrap().push(call);
        }

        fn call_ended(&self, call: Id, how: TaskEnd) {
            self.ended.lock().unwrap().push((call, how));
        }

        fn descriptor(&self) -> io::Result<()> {
            Err(io::Error::other("none here"))
        }

        fn shut_down(&self, executor: ExecutorId) -> Shutdown {
            self.shut_down.lock().unwrap().push(executor);
            Shutdown::Later
        }

        fn used_elsewhere(&self, _: ExecutorId) {
            self.elsewhere.fetch_add(1, Relaxed);
        }

        fn uses_foreign(&self, _: ExecutorId) {
            self.foreign.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn it_stands_in_for_the_global_executor_until_it_is_left() {
        let (host, mut worker) = Here::new();
        let entered = hosted::enter(host.clone());
        let task = spawn(async { current_worker() });
        let named = TaskBuilder::new().name("named").spawn(async {});
        exhaust(&mut worker);
        let built = Executor::builder().build().unwrap();
        assert_eq!((built.workers(), host.built.load(Relaxed)), (7, 1));
        drop((built, entered));
        assert_eq!((block_on(task), block_on(named)), (Some(0), ()));
        assert_eq!(host.executor().metrics().finished, 2);
        // The global executor has a worker of its own.
        block_on(spawn(async {}));
        assert_eq!(host.executor().metrics().spawned, 2);
        // The host and its executor own each other.
        let executor = host.executor.lock().unwrap().take();
        let id = worker.executor();
        assert_eq!(executor.map(|executor| executor.id()), Some(id));
        assert_eq!(host.shut_down.lock().unwrap().last(), Some(&id));
        assert_eq!(exhaust(&mut worker), Step::Ended);
    }

    #[test]
    fn it_runs_the_functions_that_block() {
        let (host, _worker) = Here::new();
        let entered = hosted::enter(host.clone());
        let called = spawn_blocking(|| 5);
        let panics = spawn_blocking(|| -> u8 { resume_unwind(Box::new(1)) });
        let cancelled = spawn_blocking(|| -> u8 { resume_unwind(Box::new(Unwind)) });
        let ids = [called.id(), panics.id(), cancelled.id()];
        assert!(!called.is_finished());
        host.run_calls();
        assert_eq!(block_on(called), 5);
        assert!(block_on(panics.result()).unwrap_err().is_panic());
        assert!(!cancelled.is_finished(), "it is back at the host");
        drop(host.calls.lock().unwrap().pop());
        assert_cancelled(cancelled);
        let ends = [TaskEnd::Finished, TaskEnd::Panicked, TaskEnd::Cancelled];
        let expected: Vec<_> = ids.into_iter().zip(ends).collect();
        assert_eq!(*host.ended.lock().unwrap(), expected);
        drop(entered);
        let on_a_thread = spawn_blocking(|| 6);
        assert_eq!(block_on(on_a_thread), 6);
        drop(host.executor.lock().unwrap().take());
    }

    #[test]
    fn it_learns_of_executors_used_where_they_do_not_belong() {
        let (host, worker) = Here::new();
        let own = host.executor();
        let foreign = crate::common::executor(1);
        let counts = || (host.foreign.load(Relaxed), host.elsewhere.load(Relaxed));
        own.spawn_detached(async {});
        assert_eq!(counts(), (0, 1));
        let entered = hosted::enter(host.clone());
        own.spawn_detached(async {});
        assert_eq!(counts(), (0, 1));
        foreign.spawn_detached(async {});
        foreign.enter(|| {});
        foreign.scope(|_| {});
        foreign.task().spawn_detached(async {});
        assert_eq!(counts(), (4, 1));
        // Inside another host.
        let (other, other_worker) = Here::new();
        let inner = hosted::enter(other.clone());
        own.spawn_detached(async {});
        assert_eq!(counts(), (4, 2));
        drop((inner, entered));
        foreign.spawn_detached(async {});
        // One that has closed may be used anywhere.
        worker.close();
        own.spawn_detached(async {});
        assert_eq!(counts(), (4, 2));
        drop((worker, other_worker, own));
        drop(host.executor.lock().unwrap().take());
        drop(other.executor.lock().unwrap().take());
    }

    #[test]
    fn it_may_refuse_descriptors() {
        let (host, mut worker) = Here::new();
        let executor = host.executor();
        let _entered = hosted::enter(host.clone());
        let task = executor.spawn(joint_executor::io::UdpSocket::bind("127.0.0.1:0"));
        exhaust(&mut worker);
        let error = block_on(task).expect_err("it is refused");
        assert_eq!(error.to_string(), "none here");
        drop(host.executor.lock().unwrap().take());
    }
}

#[test]
fn a_step_leaves_no_task_where_a_wait_does_not_look() {
    ends(|| {
        let (executor, mut worker) = bound();
        let parent = executor.spawn(async { spawn(async {}).await });
        // The second run ends the child, whose parent runs next.
        assert_eq!(worker.step(2, Waker::noop()), Step::Ready);
        worker.wait(None);
        assert_eq!(worker.step(1, Waker::noop()), Step::Ready);
        assert!(parent.is_finished());
    });
}

#[test]
fn the_drop_of_a_steps_waker_may_wake_another_worker() {
    ends(|| {
        let (executor, mut workers) = all_bound(2);
        let (mut second, mut first) = (workers.pop().unwrap(), workers.pop().unwrap());
        let cancelled_by_its_drop = executor.spawn_on(1, pending::<()>());
        while second.step(10, Waker::noop()) != Step::Idle {}
        let waker = waker_that(move || _ = &cancelled_by_its_drop);
        while first.step(10, &waker) != Step::Idle {}
        drop(waker);
        first.step(10, Waker::noop());
        assert_eq!(second.step(1, Waker::noop()), Step::Ready);
    });
}

fn current_thread() -> (Executor, BoundWorker) {
    (Executor::builder().build_current_thread()).expect("no thread is started")
}

#[cfg(unix)]
#[test]
fn a_future_on_the_current_thread_borrows_and_waits() {
    use futures_lite::{AsyncReadExt, AsyncWriteExt};
    use joint_executor::{io::UnixStream, time};

    let (executor, mut worker) = current_thread();
    let (thread, seen) = (thread::current().id(), RefCell::new(Vec::new()));
    let read = worker.block_on(async {
        let (mut reader, mut writer) = UnixStream::pair().unwrap();
        let writes = spawn_local(async move {
            time::sleep(Duration::from_millis(1)).await;
            writer.write_all(b"here").await.unwrap();
            thread::current().id()
        });
        let anywhere = spawn(async { thread::current().id() });
        let mut buffer = [0; 4];
        reader.read_exact(&mut buffer).await.unwrap();
        let threads = [writes.await, anywhere.await];
        seen.borrow_mut().extend(threads);
        buffer
    });
    assert_eq!(&read, b"here");
    assert_eq!(seen.into_inner(), [thread; 2]);
    assert_eq!(executor.metrics().workers.len(), 1);
}

#[test]
fn tasks_run_on_in_the_next_call_on_the_current_thread() {
    let (executor, mut worker) = current_thread();
    let task = executor.spawn(async {
        yield_now().await;
        7
    });
    worker.block_on(async {});
    assert_eq!(worker.block_on(task), 7);
    crate::common::panics(|| worker.block_on(async { panic!("main") }));
    assert_eq!(worker.block_on(spawn_blocking(|| 8)), 8);
}

#[test]
fn a_future_and_tasks_take_turns_on_the_current_thread() {
    let (_executor, mut worker) = current_thread();
    let turns = Rc::new(AtomicUsize::new(0));
    worker.block_on(async {
        let counts = turns.clone();
        let task = spawn_local(async move {
            loop {
                counts.fetch_add(1, Relaxed);
                yield_now().await;
            }
        });
        for _ in 0..1000 {
            yield_now().await;
        }
        drop(task);
    });
    assert!((500..=62_000).contains(&turns.load(Relaxed)), "{turns:?}");
}

#[test]
#[should_panic(expected = "the executor was shut down while its worker was in `block_on`")]
fn a_future_on_the_current_thread_panics_if_its_executor_goes() {
    let (executor, mut worker) = current_thread();
    worker.block_on(async {
        drop(executor);
        pending::<()>().await;
    });
}
