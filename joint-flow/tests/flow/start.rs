//! An actor runs on its caller's stack up to its first wait, wherever it is started. The simulation
//! may queue it instead, so these are real executors.

use joint_flow::spawn;

use crate::prelude::*;

type Actor = Pin<Box<dyn Future<Output = u32> + Send>>;

#[derive(Clone, Copy)]
struct Start {
    name: &'static str,
    start: fn(Actor) -> Task<u32>,
    is_cancelled: bool,
}

const SPAWN: Start = Start {
    name: "spawn",
    start: spawn,
    is_cancelled: true,
};
const UNCANCELLABLE: Start = Start {
    name: "uncancellable",
    start: uncancellable,
    is_cancelled: false,
};
const LOCAL: Start = Start {
    name: "spawn_local",
    start: spawn_local,
    is_cancelled: false, // at once: its own thread does it later
};

/// Runs a program in each context where actors of its kind can be started.
fn everywhere<F: Future<Output = ()> + Send + 'static>(program: fn(Start) -> F) {
    // One of them may be blocked.
    let workers = Executor::builder().workers(2).build().unwrap();
    for start in [SPAWN, UNCANCELLABLE, LOCAL] {
        println!("{}", start.name);
        block_on(workers.spawn(program(start)));
        LocalExecutor::new().block_on(program(start));
    }
    for start in [SPAWN, UNCANCELLABLE] {
        println!("{}, outside", start.name);
        workers.block_on(program(start));
        block_on(program(start));
        block_on(workers.spawn(async move { block_on(program(start)) }));
    }
}

#[test]
fn an_actor_runs_up_to_its_first_wait_before_its_start_returns() {
    everywhere(|Start { start, .. }| async move {
        let log = Log::new();
        let (caller, inside) = (std::thread::current().id(), log.clone());
        let task = start(Box::pin(async move {
            assert_eq!(std::thread::current().id(), caller);
            inside.add("ready");
            1
        }));
        log.add("returned");
        assert!(task.is_finished());
        assert_eq!(task.await.unwrap(), 1);

        let (sender, receiver) = oneshot::channel();
        let inside = log.clone();
        let task = start(Box::pin(async move {
            inside.add("waits");
            let value = receiver.await.unwrap();
            inside.add("woken");
            value
        }));
        log.add("returned");
        assert!(!task.is_finished());
        sender.send(2).unwrap();
        assert_eq!(task.await.unwrap(), 2);
        assert_eq!(
            log.all(),
            ["ready", "returned", "waits", "returned", "woken"]
        );
    });
}

#[test]
fn what_an_actor_does_in_its_first_part_is_not_its_callers() {
    everywhere(|start| async move {
        // A panic is the result.
        let task = (start.start)(Box::pin(async {
            std::panic::resume_unwind(Box::new("first"))
        }));
        let Err(TaskError::Panicked(payload)) = task.await else {
            panic!("no panic");
        };
        assert_eq!(payload.message(), Some("first"));

        // Dropping the handle drops the actor, and the one that it has started and awaits.
        let dropped = Arc::<AtomicUsize>::default();
        let (outer, inner) = (counted(&dropped), counted(&dropped));
        let task = (start.start)(Box::pin(async move {
            let _outer = outer;
            let inner = spawn(async move {
                let _inner = inner;
                pending::<()>().await;
            });
            inner.await.unwrap();
            0
        }));
        drop(task);
        let expected = if start.is_cancelled { 2 } else { 0 };
        assert_eq!(dropped.load(Relaxed), expected);
    });
}

/// An actor that is always ready leaves its caller what is left of the budget, and is not lost.
#[test]
fn an_actor_uses_the_budget_of_its_caller() {
    async fn operations(count: u32) -> u32 {
        for _ in 0..count {
            std::future::poll_fn(budget::poll_proceed).await;
            budget::spend();
        }
        count
    }
    let program = async {
        joint_executor::yield_now().await;
        let before = budget::left();
        assert!(spawn(operations(20)).is_finished());
        assert_eq!(budget::left(), before - 20);
        let task = spawn(operations(1_000));
        assert!(!task.is_finished());
        assert!(budget::is_used_up());
        assert_eq!(task.await.unwrap(), 1_000);
    };
    block_on(one_worker().spawn(program));
}
