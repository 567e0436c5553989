//! Doors into hosted workers.

use joint::block_on as wait_for;
use joint_executor::spawn_local;

use crate::prelude::*;

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
    fn open(node: &Node, here: &Here, f: impl FnOnce(Bound<'_>)) {
        let built = Executor::builder().workers(1).build_hosted();
        let (executor, mut workers) = built.unwrap();
        let worker = workers.remove(0).bind();
        let inside = here.with(Who::task(executor.id(), here.world.number()));
        driving(&inside.clone(), || {
            f(Bound {
                node,
                here,
                executor,
                worker,
                inside,
            });
        });
    }

    /// The place of code that the worker enters. The docs do not say which values it sees.
    fn entered(&self) -> Here {
        let value = Is::Any;
        self.here.with(Who {
            value,
            ..self.inside.who
        })
    }

    /// A task for any worker, a pinned, or a local one.
    fn spawn(&self) -> JoinHandle<Output> {
        let (body, place) = (body(self.node, self.inside.clone()), self.inside.clone());
        match self.node.n % 3 {
            0 => self.executor.spawn(body),
            1 => self.executor.spawn_on(0, body),
            _ => self.worker.enter(|| {
                spawn_local(async move {
                    place.check_owner();
                    place.demand(current_worker() == Some(0), "identity: worker");
                    body.await
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
    Bound::open(node, here, |mut bound| {
        let entered = bound.entered();
        if node.n % 2 == 0 {
            let future = body(node, entered);
            check_call(here, node, || bound.worker.block_on(future));
        } else {
            let handle = bound.spawn();
            bound.worker.block_on(settle(handle, node, &entered));
        }
        bound.end();
    });
}

pub(crate) fn enter(node: &Node, here: &Here) {
    Bound::open(node, here, |mut bound| {
        let call = function(node, bound.entered());
        check_call(here, node, || bound.worker.enter(call));
        while bound.worker.step(8, Waker::noop()) == Step::Ready {}
        bound.end();
    });
}

pub(crate) fn step(node: &Node, here: &Here) {
    Bound::open(node, here, |mut bound| {
        let handle = bound.spawn();
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
