//! Who the code is that each way into an executor runs.

use joint::task::Id;

use super::*;

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
        let executor = executor(1);
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
    |f| executor(1).scope(|scope| _ = scope.spawn(VALUE.scope(7, async { f() }))),
    |f| LocalExecutor::new().block_on(VALUE.scope(7, async { f() })),
    |f| {
        let local = |f: &mut (dyn FnMut() + Send)| LocalExecutor::new().block_on(async { f() });
        executor(1).scope(|scope| _ = scope.spawn(VALUE.scope(7, async { local(f) })));
    },
    |f| executor(1).block_on(VALUE.scope(7, async { f() })),
    |f| current_thread().1.block_on(VALUE.scope(7, async { f() })),
    |f| executor(2).install(|| _ = join(|| VALUE.sync_scope(7, f), || ())),
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
