//! The parent of a task, and the data that a task has for hooks.

use joint::task;
use joint_executor::task::Id;

use crate::prelude::*;

type Parents = Arc<Mutex<Vec<Option<Id>>>>;

/// An executor of one worker, and the parents of its tasks, in the order in which they are spawned.
fn watched() -> (Executor, Parents) {
    let parents = Parents::default();
    let noted = parents.clone();
    let on_spawn = move |task: &TaskInfo<'_>| {
        let parent = task.parent().map(|parent| parent.id());
        noted.lock().unwrap().push(parent);
    };
    (built(1, |builder| builder.on_spawn(on_spawn)), parents)
}

#[test]
fn a_task_that_is_spawned_outside_a_poll_has_no_parent() {
    let (executor, parents) = watched();
    block_on(executor.spawn(async {}));
    executor.block_on(async { spawn(async {}).await });
    let mut set = JoinSet::new();
    executor.block_on(async {
        set.spawn(async {});
        set.join_next().await.unwrap().unwrap();
    });
    let executor = Arc::new(executor);
    let inside = executor.clone();
    block_on(executor.spawn(async move { hosted::apart(|| inside.spawn(async {}).detach()) }));
    assert_eq!(*parents.lock().unwrap(), [None; 5]);
}

#[test]
fn the_parent_may_be_a_blocking_call_or_of_another_executor() {
    let (executor, parents) = watched();
    let executor = Arc::new(executor);
    let inside = executor.clone();
    let call = spawn_blocking(move || inside.spawn(async {}).detach());
    let call_id = call.id();
    block_on(call);
    let local = LocalExecutor::new();
    let inside = executor.clone();
    let task = local.spawn(async move { inside.spawn(async {}).detach() });
    let task_id = task.id();
    local.block_on(task);
    assert_eq!(*parents.lock().unwrap(), [Some(call_id), Some(task_id)]);
}

#[test]
fn only_the_hooks_of_a_spawn_know_the_parent() {
    let unexpected = Arc::new(AtomicUsize::new(0));
    let hook = || {
        let unexpected = unexpected.clone();
        move |task: &TaskInfo<'_>| _ = unexpected.fetch_add(task.parent().iter().count(), Relaxed)
    };
    let end = hook();
    let executor = built(1, |builder| {
        let builder = builder.on_wake(hook()).on_end(move |task, _| end(task));
        builder.before_poll(hook()).after_poll(hook())
    });
    block_on(executor.spawn(async { spawn(yield_now()).await }));
    drop(executor);
    assert_eq!(unexpected.load(Relaxed), 0);
}

/// Data that says where it came from, and tells when it is dropped.
struct Trail {
    depth: usize,
    seen: Seen,
}

impl Trail {
    fn note(&self, what: &'static str) {
        self.seen.lock().unwrap().push((self.depth, what));
    }
}

impl Drop for Trail {
    fn drop(&mut self) {
        self.note("drop");
    }
}

type Seen = Arc<Mutex<Vec<(usize, &'static str)>>>;

fn drops(seen: &Seen) -> usize {
    let seen = seen.lock().unwrap();
    seen.iter().filter(|(_, what)| *what == "drop").count()
}

/// An executor whose tasks are one deeper than their parents, with every hook for tasks.
fn trailed(workers: usize) -> (Executor, Seen) {
    let seen = Seen::default();
    let in_data = seen.clone();
    let hook = |what| move |task: &TaskInfo<'_>| task.data::<Trail>().unwrap().note(what);
    let end = hook("end");
    let data = move |task: &TaskInfo<'_>| {
        let parent = task.parent().and_then(|parent| parent.data::<Trail>());
        assert!(task.data::<Trail>().is_none(), "it is made now");
        Trail {
            depth: parent.map_or(0, |parent| parent.depth + 1),
            seen: in_data.clone(),
        }
    };
    let executor = built(workers, |builder| {
        let builder = builder.task_data(data).on_spawn(hook("spawn"));
        let builder = builder.on_wake(hook("wake")).before_poll(hook("before"));
        let builder = builder.after_poll(hook("after"));
        builder.on_end(move |task, _| end(task))
    });
    (executor, seen)
}

#[test]
fn each_hook_gets_the_data_which_is_dropped_after_the_last() {
    let (executor, seen) = trailed(1);
    block_on(executor.spawn(async {
        yield_now().await;
        spawn(async {}).await;
    }));
    drop(executor);
    let seen = seen.lock().unwrap();
    let of = |depth| {
        let of_task = seen.iter().filter(move |(task, _)| *task == depth);
        of_task.map(|(_, what)| *what).collect::<Vec<_>>()
    };
    let expected = [
        "spawn", "before", "after", "wake", "before", "after", "wake", "before", "end", "after",
        "drop",
    ];
    assert_eq!(of(0), expected);
    assert_eq!(of(1), ["spawn", "before", "end", "after", "drop"]);
}

#[test]
fn children_inherit_from_their_parents_by_every_way_to_spawn() {
    let (executor, seen) = trailed(1);
    block_on(executor.spawn(async {
        spawn(async { spawn_local(async {}).await }).await;
        let named = TaskBuilder::new().name("named").on_worker(0);
        named.spawn(async { spawn(async {}).await }).await;
        let mut set = JoinSet::new();
        set.spawn(async {});
        set.join_next().await.unwrap().unwrap();
        let (sender, receiver) = oneshot::channel();
        spawn_detached(async { sender.send(()).unwrap() });
        receiver.await.unwrap();
        block_on(async { spawn(async {}).detach() });
    }));
    drop(executor);
    let seen = seen.lock().unwrap();
    let spawned = seen.iter().filter(|(_, what)| *what == "spawn");
    let depths: Vec<_> = spawned.map(|(depth, _)| *depth).collect();
    assert_eq!(depths, [0, 1, 2, 1, 2, 1, 1, 1]);
}

/// A task may be freed where no code of a user can be called, such as by a waker that is dropped.
#[test]
fn data_is_dropped_at_the_end_although_a_waker_is_left() {
    let (executor, seen) = trailed(1);
    let waker = block_on(executor.spawn(std::future::poll_fn(|cx| {
        std::task::Poll::Ready(cx.waker().clone())
    })));
    block_on(executor.spawn(async {}));
    assert!(seen.lock().unwrap().contains(&(0, "drop")));
    drop((executor, waker));
    assert_eq!(drops(&seen), 2);
}

#[test]
fn data_of_tasks_that_a_shutdown_cancels_is_dropped_once() {
    for _ in 0..50 {
        let (executor, seen) = trailed(2);
        let (sender, receiver) = oneshot::channel::<()>();
        executor.spawn(receiver).detach();
        for worker in 0..10 {
            let task = executor.task().on_worker(worker % 2);
            task.spawn_detached(pending::<()>());
        }
        let waking = std::thread::spawn(move || drop(sender));
        drop(executor);
        waking.join().unwrap();
        wait_until(|| drops(&seen) == 11);
    }
}

#[test]
fn a_function_for_data_that_panics_leaves_the_task_without_data() {
    let executor = built(1, |builder| builder.task_data::<u32>(|_| panic!("no")));
    let data = || TaskInfo::with_current(|task| task.data::<u32>().copied());
    assert_eq!(block_on(executor.spawn(async move { data() })), Some(None));
}

#[test]
fn data_whose_drop_panics_harms_neither_the_worker_nor_the_task() {
    for watches_polls in [false, true] {
        let executor = built(1, |builder| {
            let builder = builder.task_data(|_| Panics);
            match watches_polls {
                true => builder.after_poll(|_| {}),
                false => builder,
            }
        });
        for i in 0..3 {
            assert_eq!(block_on(executor.spawn(async move { i })), i);
        }
    }
}

#[test]
fn the_function_that_was_set_last_makes_the_data() {
    let executor = built(1, |builder| {
        builder.task_data(|_| 1_u8).task_data(|_| 2_u32)
    });
    let data = block_on(executor.spawn(async {
        TaskInfo::with_current(|task| (task.data::<u8>().copied(), task.data::<u32>().copied()))
    }));
    assert_eq!(data, Some((None, Some(2))));
}

#[test]
fn a_task_knows_itself_on_any_executor() {
    let inside = || TaskInfo::with_current(|task| (task.id(), task.data::<u32>().copied()));
    assert_eq!(inside(), None);
    let local = LocalExecutor::new();
    assert_eq!(local.block_on(async { inside() }), None);
    let task = local.spawn(async move { (inside(), task::id()) });
    let (info, id) = local.block_on(task);
    assert_eq!(info, Some((id, None)));
}
