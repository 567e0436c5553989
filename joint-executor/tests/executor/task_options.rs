//! Tasks with a name, a priority, a worker of their own, or a future that stays on its thread.

use crate::prelude::*;

/// The tasks that were run, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Log {
    fn task(&self, name: &'static str) -> impl Future<Output = ()> + Send + 'static {
        let log = self.clone();
        async move { log.0.lock().unwrap().push(name) }
    }

    fn spawn_both_kinds(&self) {
        for _ in 0..20 {
            spawn(self.task("normal")).detach();
            let high = TaskBuilder::new().priority(Priority::High);
            high.spawn(self.task("high")).detach();
        }
    }

    fn all(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().clone()
    }
}

#[test]
fn what_is_more_urgent_is_greater() {
    assert!(Priority::High > Priority::Normal);
    assert_eq!(
        [Priority::Normal, Priority::High].iter().max(),
        Some(&Priority::High)
    );
}

#[test]
fn a_name_is_in_the_handle_and_in_the_panic() {
    let executor = executor(1);
    let handle = executor.task().name("loader").spawn(async { panic!("no") });
    assert_eq!(handle.name(), Some("loader"));
    assert_eq!(handle.spawned().file(), file!());
    let error = block_on(handle.result()).unwrap_err();
    assert!(matches!(error, JoinError::Panicked(payload) if payload.task_name() == Some("loader")));
    let inside = block_on(executor.spawn(async { [spawn(async {})] }));
    assert_eq!(inside[0].spawned().line(), line!() - 1);
}

#[test]
fn a_builder_without_an_executor_takes_the_task_s_own() {
    let executor = executor(2);
    let place = || (current_worker(), thread::current().name().map(String::from));
    let inside = executor.spawn(async move {
        let own = || TaskBuilder::new().on_worker(1).name("own");
        let (sender, receiver) = oneshot::channel();
        own().spawn_detached(async move { sender.send(place()).unwrap() });
        [
            own().spawn(async move { place() }).await,
            receiver.await.unwrap(),
        ]
    });
    let there = || (Some(1), Some("joint-1".into()));
    assert_eq!(block_on(inside), [there(), there()]);
}

/// By a thread, or by a task of worker 0 of the first executor. It is not counted.
#[test]
fn a_spawn_that_asks_for_what_cannot_be_is_a_panic() {
    type Row = (&'static str, bool, fn(&[Executor; 2]), &'static str);
    let rows: [Row; 7] = [
        (
            "on a worker that is not there",
            false,
            |[executor, _]| drop(executor.spawn_on(2, async {})),
            "the executor has 2 workers, numbered from 0; there is no worker 2 to run the task",
        ),
        (
            "on a worker that is not there, by a task",
            true,
            |_| drop(TaskBuilder::new().on_worker(7).spawn(async {})),
            "no worker 7",
        ),
        (
            "with a priority and a worker",
            false,
            |[executor, _]| {
                let high = executor.task().priority(Priority::High);
                drop(high.on_worker(0).spawn(async {}));
            },
            "leave out `priority` or `on_worker`",
        ),
        (
            "local, on a thread",
            false,
            |_| drop(spawn_local(async {})),
            "outside of the executor's workers",
        ),
        (
            "local, in a `block_on`",
            false,
            |_| block_on(async { spawn_local(async {}).await }),
            "outside of the executor's workers",
        ),
        (
            "local, for another worker",
            true,
            |_| drop(TaskBuilder::new().on_worker(1).spawn_local(async {})),
            "which is worker 0",
        ),
        (
            "local, for another executor",
            true,
            |[_, other]| drop(other.task().spawn_local(async {})),
            "outside of",
        ),
    ];
    let executors = Arc::new([executor(2), executor(1)]);
    for (name, by_task, spawn, expected) in rows {
        let own = executors.clone();
        let text = move || panic_text(|| spawn(&own));
        let text = match by_task {
            true => block_on(executors[0].spawn_on(0, async move { text() })),
            false => text(),
        };
        assert!(text.contains(expected), "{name}: {text}");
    }
    assert_eq!(executors[0].metrics().spawned, 3);
    let own = || TaskBuilder::new().on_worker(0).spawn_local(async {});
    block_on(executors[0].spawn_on(0, async move { own().await }));
}

/// Spawned by a task, or by another thread. Then one of the others may have its turn before.
#[test]
fn high_tasks_run_before_normal_ones() {
    for from_outside in [false, true] {
        let executor = executor(1);
        let log = Log::default();
        if from_outside {
            let busy = Busy::spawn(executor.task().on_worker(0));
            executor.enter(|| log.spawn_both_kinds());
            busy.release().unwrap();
        } else {
            let log = log.clone();
            block_on(executor.spawn(async move { log.spawn_both_kinds() }));
        }
        wait_until(|| executor.metrics().live() == 0);
        let all = log.all();
        assert_eq!(all.len(), 40);
        let first = &all[..20 + usize::from(from_outside)];
        let high = first.iter().filter(|&&name| name == "high").count();
        assert_eq!(high, 20, "from outside: {from_outside}, {all:?}");
    }
}

#[test]
fn a_local_task_cancelled_from_elsewhere_is_dropped_at_home() {
    let executor = executor(2);
    let guards = Guards::default();
    let (sender, wakers) = mpsc::channel();
    let made_there = guards.clone();
    let handles = executor.spawn_on(1, async move {
        let spawn = |_| {
            let sender = sender.clone();
            let give = move |waker| sender.send(waker).unwrap();
            spawn_local(give_waker(give, made_there.local()))
        };
        (0..30).map(spawn).collect::<Vec<_>>()
    });
    let mut handles = block_on(handles);
    let _wakers: Vec<_> = wakers.iter().take(30).collect();
    for handle in handles.drain(..10) {
        assert_eq!(block_on(handle.cancel()), None);
    }
    drop(handles.drain(..10));
    let rest = executor.spawn_on(0, async move { drop(handles) });
    block_on(rest);
    wait_until(|| executor.metrics().live() == 0);
    guards.assert_all_at_home(30);
}

#[test]
fn a_pinned_task_for_a_worker_that_has_left_is_dropped() {
    let (left, has_left) = mpsc::channel();
    let executor = built(2, |builder| {
        builder.on_thread_stop(move |worker| left.send(worker).unwrap_or_default())
    });
    let (give, given) = mpsc::channel::<Executor>();
    let spawns = executor.spawn_on(0, async move {
        // The others leave without this worker, whose poll waits for them.
        drop(given.recv().unwrap());
        assert_eq!(has_left.recv(), Ok(1));
        [TaskBuilder::new().on_worker(1).spawn(async {})]
    });
    give.send(executor).unwrap();
    block_on(spawns).into_iter().for_each(assert_cancelled);
}

#[test]
fn a_failed_build_drops_what_its_first_workers_were_given() {
    let guards = Guards::default();
    let (given, is_given) = mpsc::channel();
    let is_given = Mutex::new(is_given);
    let builder = Executor::builder()
        .workers(3)
        .thread_name(move |worker| {
            if worker == 2 {
                // The first two have begun, and have tasks.
                let is_given = is_given.lock().unwrap();
                (0..2).for_each(|_| is_given.recv().unwrap());
                return "not\0a name".into();
            }
            "a name".into()
        })
        .on_thread_start({
            let guards = guards.clone();
            move |_| {
                spawn_local(hold(guards.local())).detach();
                // For one that will never come.
                TaskBuilder::new()
                    .on_worker(2)
                    .spawn(pending::<()>())
                    .detach();
                let high = TaskBuilder::new().priority(Priority::High);
                high.spawn(pending::<()>()).detach();
                given.send(()).unwrap();
            }
        });
    panics(|| builder.build());
    guards.assert_all_at_home(2);
    // Nothing is left that holds the hook.
    assert_eq!(guards.shares(), 1);
}
