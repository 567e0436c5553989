//! Doors that run tasks: executors with threads, local executors, scopes and sets.

use joint::block_on as wait_for;
use joint_executor as executor;

use crate::prelude::*;

/// An executor with threads, and the place of its tasks.
pub(crate) fn fresh(workers: usize, here: &Here) -> (Executor, Here) {
    let owner = here.world.number();
    let executor = Executor::builder()
        .workers(workers)
        .on_thread_start(move |_| drives(owner))
        .build()
        .unwrap();
    let inside = here.with(Who::task(executor.id(), owner));
    (executor, inside)
}

pub(crate) fn until_finished<T>(handle: &JoinHandle<T>) {
    while !handle.is_finished() {
        thread::yield_now();
    }
}

/// Ends an executor in one of the ways.
pub(crate) fn end(executor: Executor, how: usize, here: &Here) {
    match how % 6 {
        0 | 1 => drop(executor),
        2 => executor.shutdown_background(),
        3 => {
            let ended = executor.shutdown_timeout(Duration::MAX);
            here.demand(ended.is_ok(), ("end", ended));
        }
        4 => {
            // Its workers may not have ended.
            let _ = executor.shutdown_timeout(Duration::ZERO);
        }
        _ => {
            // By its own task.
            let shared = Arc::new(executor);
            let own = shared.clone();
            shared.spawn_detached(async move { drop(own) });
        }
    }
}

pub(crate) async fn task(node: &Node, here: &Here) {
    let workers = 1 + node.n % 2;
    let (executor, inside) = fresh(workers, here);
    let future = body(node, inside);
    let handle = match node.n % 3 {
        0 => executor.spawn(future),
        1 => executor.spawn_on(node.n % workers, future),
        _ => executor.task().priority(Priority::High).spawn(future),
    };
    settle(handle, node, here).await;
    end(executor, node.n, here);
}

/// The place of what a local executor runs, which sees what is set around it, if anything is.
fn in_local(here: &Here, owner: u64) -> Here {
    let value = match here.who.value {
        Is::None => Is::None,
        Is::This(_) | Is::Any => Is::Any,
    };
    here.with(Who {
        value,
        owner: Is::This(owner),
        ..here.who
    })
}

pub(crate) fn local(node: &Node, here: &Here) {
    let owner = here.world.number();
    let inside = in_local(here, owner);
    let local = LocalExecutor::new();
    driving(&inside, || {
        let task = body(node, inside.clone());
        match node.n % 5 {
            0 => check_call(here, node, || local.block_on(task)),
            1 => {
                let handle = local.spawn(task);
                while local.try_tick() {}
                drop(handle);
            }
            2 => {
                let handle = local.spawn(task);
                wait_for(local.run(settle(handle, node, &inside)));
            }
            _ => {
                let handle = local.spawn(task);
                local.block_on(settle(handle, node, &inside));
            }
        }
    });
    driving(&inside, || drop(local));
}

pub(crate) fn block_on(node: &Node, here: &Here) {
    if node.variant() < 4 {
        // Whoever runs local tasks is blocked.
        let future = body(node, here.inside("future"));
        return check_call(here, node, || wait_for(future));
    }
    let (executor, _) = fresh(1, here);
    let inside = here.with(Who {
        executor: Is::This(executor.id()),
        owner: Is::None,
        ..here.who
    });
    if node.variant() < 6 {
        let future = body(node, inside);
        check_call(here, node, || executor.block_on(future));
    } else {
        let inside = function(node, inside);
        check_call(here, node, || executor.enter(inside));
    }
    end(executor, node.n, here);
}

/// A function on a worker, or one of two.
pub(crate) fn install(node: &Node, here: &Here) {
    let (executor, inside) = fresh(2, here);
    let inside = here.with(Who {
        value: Is::Any,
        ..inside.who
    });
    let first = function(node, inside.clone());
    match node.n % 2 {
        0 => check_call(here, node, || executor.install(first)),
        _ => {
            let second = inside.token();
            let join = || executor::join(first, || second.run()).0;
            check_call(here, node, || executor.install(join));
        }
    }
    end(executor, node.n, here);
}

/// A scope that comes back without a panic has run its children, whatever happens to its executor.
pub(crate) fn scope(node: &Node, here: &Here) {
    let (executor, inside) = fresh(2, here);
    let handle = executor.handle();
    let (begun, begins) = mpsc::channel();
    let ends = (node.variant() > 5).then(|| {
        thread::spawn(move || {
            let _ = begins.recv();
            handle.shutdown_background();
        })
    });
    let keeps = node.n % 3;
    let child = || body(node, inside.clone());
    let children = [child(), child()];
    let ran = [(); 2].map(|()| here.token());
    let run = || {
        executor.scope(|scope| {
            let mut handles = Vec::new();
            for (child, ran) in children.into_iter().zip(&ran) {
                let _ = begun.send(());
                let handle = scope.spawn(async move {
                    let output = child.await;
                    ran.run();
                    output
                });
                match keeps {
                    0 => drop(handle),
                    1 => handles.push(handle),
                    _ => {
                        while !handle.is_finished() {
                            thread::yield_now();
                        }
                        // Nobody takes its result.
                        drop(handle);
                    }
                }
            }
        });
    };
    let outcome = catch_unwind(AssertUnwindSafe(run));
    if outcome.is_ok() {
        // The panic of a child whose handle was dropped is no panic of the scope.
        if node.end() != End::Panic {
            ran.iter().for_each(Token::must_run);
        }
    } else {
        let is_right = node.end() != End::Value || ends.is_some();
        here.demand(is_right, ("panic", "a scope"));
    }
    if let Some(ends) = ends {
        ends.join().unwrap();
    }
    end(executor, node.n, here);
}

pub(crate) async fn set(node: &Node, here: &Here) {
    let (executor, inside) = fresh(2, here);
    let mut set = JoinSet::new();
    for i in 0..2 {
        let child = body(node, inside.clone());
        match (node.n + i) % 3 {
            0 => _ = set.spawn_on(&executor, child),
            1 => _ = set.insert(executor.spawn(child)),
            _ => {
                let handle = executor.spawn(child);
                until_finished(&handle);
                set.insert(handle);
            }
        }
    }
    match node.variant() {
        0..=2 => {
            while let Some(result) = set.join_next().await {
                check_result(here, node, result);
            }
        }
        3 => {
            if let Some(Ok(output)) = set.join_next().await {
                output.defuse();
            }
        }
        4 => set.detach_all(),
        5 => {
            set.abort_all();
            while let Some(result) = set.join_next().await {
                if let Ok(output) = result {
                    output.defuse();
                }
            }
        }
        6 => set.shutdown().await,
        _ => {}
    }
    drop(set);
    end(executor, node.n, here);
}

/// A local task, of whoever runs those of this place.
pub(crate) async fn spawn_local(node: &Node, here: &Here) {
    match here.who.owner {
        Is::Any => {}
        Is::None => {
            let spawn = || drop(executor::spawn_local(async {}));
            let outcome = catch_unwind(spawn);
            here.demand(outcome.is_err(), "identity: a local task without an owner");
        }
        Is::This(_) => {
            let value = match here.who.value {
                Is::None => Is::None,
                _ => Is::Any,
            };
            let inside = here.with(Who { value, ..here.who });
            let owner = inside.clone();
            let body = body(node, inside);
            let handle = executor::spawn_local(async move {
                owner.check_owner();
                body.await
            });
            match here.is_driven {
                true => settle(handle, node, here).await,
                false if node.n % 2 == 0 => drop(handle),
                false => handle.detach(),
            }
        }
    }
}

/// A task of the executor of this place, or of the global one.
pub(crate) fn spawn(node: &Node, here: &Here) {
    let executor = match here.who.executor {
        Is::None => Is::This(Executor::global().id()),
        known => known,
    };
    let who = Who {
        executor,
        value: Is::None,
        owner: Is::Any,
    };
    let handle = executor::spawn(body(node, here.with(who)));
    match node.variant() {
        0..=4 => handle.detach(),
        5 => drop(handle),
        6 => handle.abort(),
        _ => here.leave(Left::Handle(handle)),
    }
}
