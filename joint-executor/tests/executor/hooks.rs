//! The hooks of an executor: which is called, when, and what happens if one panics.

use crate::prelude::*;

/// The calls of hooks, in order: the hook, the task's name.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<Call>>>);

type Call = (String, Option<String>);

impl Calls {
    fn note(&self, hook: &str, info: &TaskInfo<'_>) {
        let name = info.name().map(String::from);
        self.0.lock().unwrap().push((hook.into(), name));
    }

    fn hook(&self, hook: &'static str) -> impl Fn(&TaskInfo<'_>) + Send + Sync + 'static {
        let calls = self.clone();
        move |info| calls.note(hook, info)
    }

    /// All hooks for tasks.
    fn on(&self, builder: Builder) -> Builder {
        let end = self.clone();
        builder
            .on_spawn(self.hook("spawn"))
            .on_wake(self.hook("wake"))
            .before_poll(self.hook("before"))
            .after_poll(self.hook("after"))
            .on_end(move |info, how| end.note(&format!("{how:?}"), info))
    }

    /// The hooks that were called for the task of that name.
    fn of(&self, name: &str) -> Vec<String> {
        let calls = self.0.lock().unwrap();
        let of_name = calls
            .iter()
            .filter(|(_, other)| other.as_deref() == Some(name));
        of_name.map(|(hook, _)| hook.clone()).collect()
    }
}

/// An executor of one worker whose hooks are noted.
fn noted() -> (Executor, Calls) {
    let calls = Calls::default();
    (built(1, |builder| calls.on(builder)), calls)
}

/// Counts the runs that are due by the hooks, for tasks of every lane, each woken in every way.
#[test]
fn each_run_follows_one_spawn_or_one_wake_up() {
    let due = Arc::new(Mutex::new(HashMap::new()));
    let runs = Arc::new(AtomicUsize::new(0));
    let becomes_due = || {
        let due = due.clone();
        move |info: &TaskInfo<'_>| {
            let before = due.lock().unwrap().insert(info.id(), ());
            assert_eq!(before, None, "{info:?}");
        }
    };
    let executor = built(2, |builder| {
        builder
            .on_spawn(becomes_due())
            .on_wake(becomes_due())
            .before_poll({
                let (due, runs) = (due.clone(), runs.clone());
                move |info| {
                    let before = due.lock().unwrap().remove(&info.id());
                    assert_eq!(before, Some(()), "{info:?}");
                    runs.fetch_add(1, Relaxed);
                }
            })
    });
    let waits = |receiver: oneshot::Receiver<()>| async move {
        yield_now().await;
        receiver.await.unwrap();
        spawn(yield_now()).await;
        pending::<()>().await;
    };
    for round in 0..100 {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..4).map(|_| oneshot::channel()).unzip();
        let mut receivers = receivers.into_iter().map(waits);
        let mut next = || receivers.next().unwrap();
        let mut tasks = vec![
            executor.spawn(next()),
            executor.task().on_worker(round % 2).spawn(next()),
            executor.task().priority(Priority::High).spawn(next()),
        ];
        let local = next();
        let inside = executor.spawn(async move { [spawn_local(local)] });
        tasks.extend(block_on(inside));
        let wake = || {
            senders
                .into_iter()
                .for_each(|sender| sender.send(()).unwrap())
        };
        match round % 2 {
            0 => wake(),
            _ => block_on(executor.spawn(async move { wake() })),
        }
        for task in tasks {
            block_on(task.cancel());
        }
    }
    drop(executor);
    // Four tasks with a task inside each, which run twice or more, and those that spawn or wake.
    assert!(runs.load(Relaxed) >= 100 * 4 * 4);
}

#[test]
fn on_wake_is_called_on_the_waking_thread_before_the_task_runs() {
    let (sender, receiver) = oneshot::channel::<()>();
    let woken = Arc::new(Mutex::new(None));
    let executor = built(1, |builder| {
        builder.on_wake({
            let woken = woken.clone();
            move |info| *woken.lock().unwrap() = Some((info.id(), thread::current().id()))
        })
    });
    let waits = executor.spawn(async move {
        receiver.await.unwrap();
        *woken.lock().unwrap()
    });
    let id = waits.id();
    block_on(executor.spawn(async {}));
    sender.send(()).unwrap();
    assert_eq!(block_on(waits), Some((id, thread::current().id())));
}

#[test]
fn the_end_of_each_kind_is_told_and_counted() {
    let (executor, calls) = noted();
    let panics = executor.task().name("panics").spawn(async { panic!("no") });
    assert!(block_on(panics.result()).is_err_and(|error| error.is_panic()));
    let cancelled = executor.task().name("cancelled").spawn(pending::<()>());
    assert_eq!(block_on(cancelled.cancel()), None);
    let dropped = executor.task().name("dropped").spawn(hold(Panics));
    // An output whose drop panics is an output.
    executor.spawn(async { Panics }).detach();
    block_on(executor.task().name("ends").spawn(async {}));
    let counts = || {
        let metrics = executor.metrics();
        (
            metrics.finished,
            metrics.cancelled,
            metrics.panicked,
            metrics.live(),
        )
    };
    assert_eq!(counts(), (2, 1, 1, 1));
    dropped.abort();
    assert!(block_on(dropped.result()).is_err_and(|error| error.is_panic()));
    block_on(executor.spawn(async {}));
    assert_eq!((counts(), executor.metrics().spawned), ((3, 1, 2, 0), 6));
    assert_eq!(calls.of("ends"), ["spawn", "before", "Finished", "after"]);
    assert_eq!(calls.of("panics"), ["spawn", "before", "Panicked", "after"]);
    assert_eq!(calls.of("cancelled")[..1], ["spawn"]);
    assert!(calls.of("cancelled").contains(&"Cancelled".into()));
    assert!(calls.of("dropped").contains(&"Panicked".into()));
}

#[test]
fn on_end_is_called_before_the_waiters_are_woken() {
    let ends = Arc::new(AtomicUsize::new(0));
    let executor = built(2, |builder| {
        builder.on_end({
            let ends = ends.clone();
            move |_, _| _ = ends.fetch_add(1, Relaxed)
        })
    });
    for i in 1..1_000 {
        block_on(executor.spawn(async {}));
        assert_eq!(ends.load(Relaxed), i);
    }
}

#[test]
fn the_id_is_the_handle_s_and_the_place_is_the_caller_s() {
    let seen = Arc::new(Mutex::new(None));
    let executor = built(1, |builder| {
        builder.on_spawn({
            let seen = seen.clone();
            move |info| {
                *seen.lock().unwrap() = Some((info.id(), info.spawned(), format!("{info:?}")))
            }
        })
    });
    let (line, handle) = (line!(), executor.spawn(pending::<()>()));
    let (id, spawned, text) = seen.lock().unwrap().take().unwrap();
    assert_eq!(id, handle.id());
    assert_eq!((spawned.file(), spawned.line()), (file!(), line));
    assert!(text.contains(file!()), "{text}");
}

#[test]
fn a_hook_that_panics_harms_neither_the_worker_nor_the_task() {
    let calls = Arc::new(AtomicUsize::new(0));
    let panics = || {
        let calls = calls.clone();
        move || {
            calls.fetch_add(1, Relaxed);
            panic!("a hook")
        }
    };
    let [spawn_hook, wake, before, after, end] = [(); 5].map(|()| panics());
    let [start, stop, park, unpark, steal] = [(); 5].map(|()| panics());
    let executor = built(1, |builder| {
        builder
            .on_spawn(move |_| spawn_hook())
            .on_wake(move |_| wake())
            .before_poll(move |_| before())
            .after_poll(move |_| after())
            .on_end(move |_, _| end())
            .on_thread_start(move |_| start())
            .on_thread_stop(move |_| stop())
            .on_park(move |_| park())
            .on_unpark(move |_| unpark())
            .on_steal(move |_| steal())
    });
    for i in 0..3 {
        let task = async move {
            yield_now().await;
            i
        };
        assert_eq!(block_on(executor.spawn(task)), i);
    }
    let metrics = executor.metrics();
    drop(executor);
    assert_eq!((metrics.spawned, metrics.finished), (3, 3));
    // Start and stop, and seven for each task.
    assert!(calls.load(Relaxed) >= 2 + 7 * 3);
}

#[test]
fn a_hook_whose_drop_panics_is_harmless() {
    let (first, second) = (Panics, Panics);
    let executor = built(2, |builder| {
        builder
            .on_wake(move |_| _ = &first)
            .on_park(move |_| _ = &second)
    });
    block_on(executor.spawn(async {}));
    drop(executor);
}

/// Spawns a task of one of three kinds.
fn spawn_one(kind: usize, task: impl Future<Output = ()> + Send + 'static) {
    let high = TaskBuilder::new().priority(Priority::High);
    match kind {
        0 => spawn(task).detach(),
        1 => spawn_local(task).detach(),
        _ => high.spawn(task).detach(),
    }
}

/// Nothing else gives the one worker a reason to look at its queues.
#[test]
fn a_task_spawned_in_on_park_is_run() {
    for kind in 0..3 {
        let (sender, receiver) = mpsc::channel();
        let first = AtomicBool::new(true);
        let executor = built(1, |builder| {
            builder.on_park(move |_| {
                if first.swap(false, Relaxed) {
                    let sender = sender.clone();
                    spawn_one(kind, async move { sender.send(kind).unwrap() });
                }
            })
        });
        assert_eq!(receiver.recv(), Ok(kind));
        drop(executor);
    }
}

#[test]
fn on_thread_stop_is_called_after_the_futures_are_dropped() {
    let gone = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let in_hook = gone.clone();
    let executor = built(1, |builder| {
        builder.on_thread_stop(move |_| sender.send(in_hook.load(Relaxed)).unwrap())
    });
    executor.spawn_detached(hold(OnDrop(move || gone.store(true, Relaxed))));
    drop(executor);
    assert_eq!(receiver.recv(), Ok(true));
}
