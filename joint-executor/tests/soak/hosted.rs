//! Doors into hosted workers.

use std::collections::VecDeque;

use joint::{block_on as wait_for, budget};
use joint_executor::spawn_local;

use crate::prelude::*;

/// An executor with one hosted worker, and the place of its tasks.
fn fresh(is_scheduled: bool, here: &Here) -> (Executor, HostedWorker, Here) {
    let builder = Executor::builder().workers(1);
    let (executor, mut workers) = match is_scheduled {
        true => builder.build_scheduled(),
        false => builder.build_hosted(),
    }
    .unwrap();
    let inside = here.with(Who::task(executor.id(), here.world.number()));
    (executor, workers.remove(0), inside)
}

/// A door into a bound worker.
struct Bound<'a> {
    node: &'a Node,
    here: &'a Here,
    executor: Executor,
    worker: BoundWorker,
    /// The place of its tasks.
    inside: Here,
}

impl Bound<'_> {
    fn open<R>(is_scheduled: bool, node: &Node, here: &Here, f: impl FnOnce(Bound<'_>) -> R) -> R {
        let (executor, worker, inside) = fresh(is_scheduled, here);
        let worker = worker.bind();
        driving(&inside.clone(), || {
            f(Bound {
                node,
                here,
                executor,
                worker,
                inside,
            })
        })
    }

    /// The place of code that the worker enters. The docs do not say which values it sees.
    fn entered(&self) -> Here {
        let value = Is::Any;
        self.here.with(Who {
            value,
            ..self.inside.who
        })
    }

    /// A task for any worker, a pinned, or a local one, that waits for `first`.
    fn spawn(&self, first: impl Future + Send + 'static) -> JoinHandle<Output> {
        let (body, place) = (body(self.node, self.inside.clone()), self.inside.clone());
        let future = async move {
            first.await;
            body.await
        };
        match self.node.n % 3 {
            0 => self.executor.spawn(future),
            1 => self.executor.spawn_on(0, future),
            _ => self.worker.enter(|| {
                spawn_local(async move {
                    place.check_owner();
                    place.demand(current_worker() == Some(0), "identity: worker");
                    future.await
                })
            }),
        }
    }

    /// Settles a handle, if it is the node's choice to wait and the task has ended.
    fn settle(&self, handle: JoinHandle<Output>) {
        match handle.is_finished() && self.node.variant() < 3 {
            true => wait_for(settle(handle, self.node, self.here)),
            false => drop(handle),
        }
    }

    /// Ends both, in one order or the other.
    fn end(mut self) {
        match self.node.n % 4 {
            0 => {
                drop(self.worker);
                end(self.executor, self.node.n, self.here);
            }
            1 => self.worker.end(),
            2 => {
                drop(self.executor);
                while self.worker.step(1, Waker::noop()) != Step::Ended {}
            }
            _ => self.executor.shutdown_background(),
        }
    }
}

/// Steps a worker until something holds, and waits in between.
fn step_until(worker: &mut BoundWorker, holds: impl Fn() -> bool) {
    while !holds() {
        match worker.step(2, Waker::noop()) {
            Step::Ready => {}
            Step::Idle | Step::Until(_) if holds() => {}
            Step::Idle | Step::Until(_) => worker.wait(None),
            Step::Ended => return,
        }
    }
}

pub(crate) fn block_on(node: &Node, here: &Here) {
    Bound::open(false, node, here, |mut bound| {
        let entered = bound.entered();
        if node.n % 2 == 0 {
            let future = body(node, entered);
            check_call(here, node, || bound.worker.block_on(future));
        } else {
            let handle = bound.spawn(async {});
            bound.worker.block_on(settle(handle, node, &entered));
        }
        bound.end();
    });
}

pub(crate) fn enter(node: &Node, here: &Here) {
    Bound::open(false, node, here, |mut bound| {
        let call = function(node, bound.entered());
        check_call(here, node, || bound.worker.enter(call));
        while bound.worker.step(8, Waker::noop()) == Step::Ready {}
        bound.end();
    });
}

pub(crate) fn step(node: &Node, here: &Here) {
    Bound::open(false, node, here, |mut bound| {
        let handle = bound.spawn(async {});
        match node.variant() {
            0..=2 => step_until(&mut bound.worker, || handle.is_finished()),
            3 => _ = bound.worker.step(1, Waker::noop()),
            4 => handle.abort(),
            _ => {}
        }
        bound.settle(handle);
        bound.end();
    });
}

/// The owner chooses the tasks.
pub(crate) fn chosen(node: &Node, here: &Here) {
    Bound::open(true, node, here, |bound| {
        let worker = &bound.worker;
        let handle = bound.spawn(async {});
        let mut queue = VecDeque::new();
        let mut turns = node.n;
        while !handle.is_finished() && (turns < 20 || node.variant() < 7) {
            worker.take_injected(|task| queue.push_back(task));
            worker.take_queued(|task| queue.push_back(task));
            let mut due = Vec::new();
            worker.take_due(Instant::now(), &mut due);
            due.into_iter().for_each(Waker::wake);
            turns += 1;
            let task = match turns % 2 {
                0 => queue.pop_front(),
                _ => queue.pop_back(),
            };
            match task {
                Some(task) if turns % 5 == 4 => worker.give_back(task),
                Some(task) if node.variant() == 5 => worker.discard(task),
                Some(task) => {
                    budget::refill();
                    queue.extend(worker.run_task(task));
                }
                None => thread::yield_now(),
            }
            if node.variant() == 6 {
                worker.close();
            }
        }
        bound.settle(handle);
        // What is left is given back, as the docs demand.
        queue.into_iter().for_each(|task| worker.give_back(task));
        bound.end();
    });
}

/// A task is taken and kept beyond the end of its worker: it ends, or the end says that it is kept.
pub(crate) fn held(node: &Node, here: &Here) {
    let handle = Bound::open(true, node, here, |bound| {
        let (sender, receiver) = oneshot::channel::<()>();
        let handle = bound.spawn(receiver);
        let Bound {
            executor, worker, ..
        } = bound;
        let tasks = RefCell::new(Vec::new());
        let take = || {
            worker.take_injected(|task| tasks.borrow_mut().push(task));
            worker.take_queued(|task| tasks.borrow_mut().push(task));
            tasks.take()
        };
        let mut taken: Vec<ReadyTask> = take();
        if node.n / 8 % 2 == 1 {
            // It has waited, and is queued again.
            taken.drain(..).for_each(|task| _ = worker.run_task(task));
            let _ = sender.send(());
            taken = take();
        }
        let or_says = |f: &mut dyn FnMut()| _ = catch_unwind(AssertUnwindSafe(f));
        match node.variant() {
            0 | 1 => {
                or_says(&mut || worker.end());
                for task in taken {
                    let mut task = Some(task);
                    or_says(&mut || worker.give_back(task.take().unwrap()));
                }
            }
            2 | 3 => {
                let mut worker = Some(worker);
                or_says(&mut || drop(worker.take()));
                drop(taken);
            }
            4 => drop((executor, taken)),
            5 => {
                worker.close();
                taken.into_iter().for_each(|task| _ = worker.run_task(task));
            }
            6 => taken.into_iter().for_each(|task| worker.discard(task)),
            _ => drop(taken),
        }
        handle
    });
    if let Ok(output) = wait_for(handle.result()) {
        output.defuse();
    }
}

/// A worker that goes on on another thread: by steps, or to the end.
pub(crate) fn moved(node: &Node, here: &Here) {
    let (executor, worker, inside) = fresh(false, here);
    let handle = match node.n % 2 {
        0 => executor.spawn(body(node, inside.clone())),
        _ => executor.spawn_on(0, body(node, inside.clone())),
    };
    let unbind = || {
        let mut worker = worker.bind();
        worker.step(node.n % 3, Waker::noop());
        worker.unbind()
    };
    let Ok(worker) = driving(&inside, unbind) else {
        // It has local tasks, and was dropped.
        return;
    };
    let runs = thread::spawn(move || {
        driving(&inside, || {
            let mut worker = worker.bind();
            worker.step(1, Waker::noop());
            step_until(&mut worker, || false);
        });
    });
    wait_for(settle(handle, node, here));
    end(executor, node.n % 5, here);
    runs.join().unwrap();
}

pub(crate) fn run(node: &Node, here: &Here) {
    let (executor, worker, inside) = fresh(false, here);
    let handle = executor.spawn(body(node, inside.clone()));
    let runs = thread::spawn(move || driving(&inside, || worker.run()));
    wait_for(settle(handle, node, here));
    end(executor, node.n, here);
    runs.join().unwrap();
}
