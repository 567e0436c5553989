//! Doors into code that the executor calls for others: wakers, drops, hooks, and functions for
//! waiting.

use joint::{block_on, host::Parked};
use joint_executor::spawn_blocking;

use crate::prelude::*;

/// Code that runs once, wherever somebody calls it.
struct Once {
    node: Node,
    here: Here,
    token: Token,
    is_left: Mutex<bool>,
}

impl Once {
    fn new(node: &Node, here: &Here) -> Self {
        let here = here.with(Who::ANYBODY);
        Self {
            token: here.token(),
            node: node.clone(),
            here,
            is_left: Mutex::new(true),
        }
    }

    fn call(&self) {
        if std::mem::take(&mut *self.is_left.lock().unwrap()) {
            self.token.run();
            perform(&self.node.inside, &self.here);
        }
    }
}

/// Runs it when it is dropped.
pub(crate) struct Drops(Once);

impl Drop for Drops {
    fn drop(&mut self) {
        self.0.call();
        self.0.token.must_run();
    }
}

fn poll<F: Future>(future: F, waker: &Waker) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(waker))
}

/// A foreign waker, woken by each of those who wake.
pub(crate) fn waker(node: &Node, here: &Here) {
    let once = Once::new(node, here);
    let waker = waker_that(move || once.call());
    let (executor, _) = fresh(2, here);
    match node.variant() {
        0 => waker.wake(),
        1 => {
            let (sender, mut receiver) = oneshot::channel();
            assert!(poll(&mut receiver, &waker).is_pending());
            block_on(executor.spawn(async { _ = sender.send(()) }));
        }
        2 => executor.enter(|| {
            let mut timer = pin!(sleep(Duration::from_micros(100)));
            if poll(timer.as_mut(), &waker).is_pending() {
                block_on(timer);
            }
        }),
        3 => {
            let (sender, receiver) = oneshot::channel::<()>();
            let mut handle = executor.spawn(receiver);
            let _ = poll(&mut handle, &waker);
            drop(sender);
            until_finished(&handle);
        }
        4 => {
            let mut handle = executor.spawn(pending::<()>());
            let _ = poll(&mut handle, &waker);
            handle.abort();
            let _ = block_on(handle.result());
        }
        5 => {
            let (executor, mut workers) = Executor::builder().workers(1).build_hosted().unwrap();
            let mut worker = workers.remove(0).bind();
            worker.step(1, &waker);
            thread::scope(|scope| {
                scope.spawn(|| executor.spawn_detached(async {}));
            });
        }
        6 => {
            let mut set = JoinSet::new();
            set.spawn_on(&executor, yield_now());
            let _ = set.poll_join_next(&mut Context::from_waker(&waker));
            while block_on(set.join_next()).is_some() {}
        }
        _ => {
            let (sender, mut receiver) = oneshot::channel::<()>();
            let _ = poll(&mut receiver, &waker);
            let holds = executor.spawn(async {
                let _sender = sender;
                pending::<()>().await
            });
            drop((executor, holds));
            return;
        }
    }
    end(executor, node.n, here);
}

/// A value whose drop goes through doors, dropped by each of those who drop.
pub(crate) fn dropped(node: &Node, here: &Here) {
    let value = Drops(Once::new(node, here));
    let (executor, _) = fresh(2, here);
    let waits = |value: Drops| async move {
        let _value = value;
        pending::<()>().await
    };
    match node.variant() {
        0 => drop(executor.spawn(waits(value))),
        1 => {
            let handle = executor.spawn(async move { value });
            until_finished(&handle);
        }
        2 => executor
            .spawn(async move { std::panic::resume_unwind(Box::new(value)) })
            .detach(),
        3 => executor.spawn_detached(async move { VALUE.scope(1, waits(value)).await }),
        4 => {
            let (sender, mut receiver) = oneshot::channel::<()>();
            let _ = poll(&mut receiver, &waker_that(|| drop(value)));
            block_on(executor.spawn(async { drop(sender) }));
        }
        5 => {
            let call = executor.enter(|| spawn_blocking(move || drop(value)));
            call.abort();
        }
        6 => {
            thread_local! {
                static LAST: std::cell::Cell<Option<Drops>> = const { std::cell::Cell::new(None) };
            }
            block_on(executor.spawn(async move { LAST.set(Some(value)) }));
        }
        _ => {
            let (executor, mut workers) = Executor::builder().workers(1).build_scheduled().unwrap();
            let worker = workers.remove(0).bind();
            let handle = executor.spawn(waits(value));
            worker.take_injected(|task| match node.n / 8 {
                0 => worker.discard(task),
                1 => drop(task),
                _ => _ = worker.run_task(task),
            });
            drop((worker, handle));
        }
    }
    end(executor, node.n, here);
}

/// A hook of an executor that has something to do.
pub(crate) fn hook(node: &Node, here: &Here) {
    let once = Once::new(node, here);
    let builder = Executor::builder().workers(2);
    let executor = match node.variant() {
        0 => builder.on_thread_start(move |_| once.call()),
        1 => builder.on_thread_stop(move |_| once.call()),
        2 => builder.on_spawn(move |_| once.call()),
        3 => builder.on_wake(move |_| once.call()),
        4 => builder.before_poll(move |_| once.call()),
        5 => builder.after_poll(move |_| once.call()),
        6 => builder.on_end(move |_, _| once.call()),
        _ => builder.on_park(move |_| once.call()),
    }
    .build()
    .unwrap();
    let (sender, receiver) = mpsc::channel();
    executor.spawn_detached(async move {
        yield_now().await;
        let _ = sender.send(());
    });
    // Nothing is sent if the hook has ended what it belongs to.
    let _ = receiver.recv();
    end(executor, node.n, here);
}

/// A thread that has functions of its own for waiting, which only take other turns.
pub(crate) fn wait(node: &Node, here: &Here) {
    let is_wait = node.n % 2 == 0;
    let wait = |deadline: Option<std::time::Instant>, is_due: &mut dyn FnMut() -> bool| {
        while !is_due() {
            if deadline.is_some_and(|deadline| deadline <= std::time::Instant::now()) {
                return Parked::TimedOut;
            }
            thread::yield_now();
        }
        Parked::Due { slept: false }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            match is_wait {
                true => _ = host::update(|host| host.wait = Some(wait)),
                false => {
                    _ = host::update(|host| host.attend = Some(|_| Some(Duration::from_micros(50))))
                }
            }
            let inside = here.with(Who::NOBODY);
            call_apart(|| perform(&node.inside, &inside));
        });
    });
}
