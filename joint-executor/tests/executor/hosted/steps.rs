//! Steps: what they run, whom they wake, and how workers begin, move and end; and executors of the
//! current thread.

use std::task::RawWakerVTable;

use super::*;

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

/// Also of another executor: a timer that is reset belongs to whoever resets it.
#[test]
fn entered_code_blocks_on_a_timer_and_on_a_task_that_it_runs() {
    let wait = || block_on(joint_executor::time::sleep(Duration::from_millis(1)));
    let (executor, worker) = chosen::scheduled_one();
    worker.enter(wait);
    executor.spawn(async move { wait() }).detach();
    worker.enter(|| worker.take_injected(|task| assert!(worker.run_task(task).is_none())));
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

#[test]
fn the_threads_of_the_callers_are_like_the_executors_own() {
    let started = Arc::new(AtomicUsize::new(0));
    let on_spawn = started.clone();
    let executor = built(2, |builder| {
        builder.spawn_thread(move |worker| {
            assert_eq!(worker.index(), on_spawn.fetch_add(1, Relaxed));
            let thread = thread::Builder::new().name(format!("mine-{}", worker.index()));
            thread.spawn(|| worker.run()).map(drop)
        })
    });
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

#[test]
fn tasks_run_on_in_the_next_call_on_the_current_thread() {
    let (executor, mut worker) = current_thread();
    let task = executor.spawn(async {
        yield_now().await;
        7
    });
    worker.block_on(async {});
    assert_eq!(worker.block_on(task), 7);
    panics(|| worker.block_on(async { panic!("main") }));
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
