//! Hooks that wait for what the executor does meanwhile.

use super::support::{GUARD, Quiet, Stranger, Watched, stranger};
use crate::prelude::*;

/// A stranger that is called only once it is armed.
#[derive(Clone)]
struct Armed(Arc<(AtomicBool, Arc<Stranger>)>);

impl Armed {
    fn new() -> (Self, Watched) {
        let (stranger, watched) = stranger();
        (Self(Arc::new((AtomicBool::new(false), stranger))), watched)
    }

    fn arm(&self) {
        self.0.0.store(true, Relaxed);
    }

    fn call(&self) {
        if self.0.0.load(Relaxed) {
            self.0.1.call();
        }
    }
}

/// Uses the driver, so that workers rest in it.
fn use_driver(executor: &Executor) {
    block_on(executor.spawn(sleep(MILLI)));
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Driver {
    Unused,
    Used,
}

fn on_rest(workers: usize, driver: Driver, set: impl FnOnce(Builder, Armed) -> Builder) {
    let (armed, watched) = Armed::new();
    let quiet = Quiet::new(workers, |builder| set(builder, armed.clone()));
    if driver == Driver::Used {
        use_driver(&quiet.executor);
    }
    quiet.settle_all();
    armed.arm();
    let wakes_one = quiet.executor.spawn(async {});
    watched.assert_others_run(&quiet.executor);
    block_on(wakes_one);
}

#[test]
fn while_on_park_or_on_unpark_runs_others_run() {
    for workers in [2, 4] {
        for driver in [Driver::Unused, Driver::Used] {
            for is_park in [true, false] {
                println!("{workers} workers, {driver:?}, on_park: {is_park}");
                on_rest(workers, driver, |builder, armed| match is_park {
                    true => builder.on_park(move |_| armed.call()),
                    false => builder.on_unpark(move |_| armed.call()),
                });
            }
        }
    }
}

/// The hook runs on the worker that would wait for descriptors next.
#[test]
fn on_park_may_wait_for_a_descriptor() {
    for workers in [1, 2] {
        let is_armed = Arc::new(AtomicBool::new(false));
        let (tell, told) = std::sync::mpsc::channel();
        let on_park = {
            let is_armed = is_armed.clone();
            move |_| {
                if is_armed.swap(false, Relaxed) {
                    let read = block_on_timeout(datagram(), GUARD);
                    tell.send(read.is_some()).unwrap();
                }
            }
        };
        let quiet = Quiet::new(workers, |builder| builder.on_park(on_park));
        use_driver(&quiet.executor);
        quiet.settle_all();
        is_armed.store(true, Relaxed);
        block_on(quiet.executor.spawn(async {}));
        assert!(
            told.recv_timeout(3 * GUARD).unwrap(),
            "nobody waits for descriptors"
        );
    }
}

#[test]
fn after_poll_may_wait_for_the_waiter_of_the_ended_task() {
    let (armed, watched) = Armed::new();
    let after_poll = {
        let armed = armed.clone();
        move |task: &joint_executor::TaskInfo<'_>| {
            if task.name() == Some("ends") {
                armed.call();
            }
        }
    };
    let quiet = Quiet::new(2, |builder| builder.after_poll(after_poll));
    let (end, ended) = oneshot::channel::<()>();
    let ends = quiet.executor.task().name("ends").spawn(ended);
    let release = watched.release();
    let waiter = quiet.executor.spawn(async move {
        let _ = ends.await;
        let _ = release.send(());
    });
    quiet.settle_all();
    armed.arm();
    end.send(()).unwrap();
    watched.begun();
    watched.assert_released();
    block_on(waiter);
}

#[test]
fn on_timer_may_wait_for_its_timer() {
    let (stranger, watched) = stranger();
    let quiet = Quiet::new(2, |builder| {
        builder.on_timer(move |_| stranger.call_anywhere(|| ()))
    });
    quiet.settle_all();
    let release = watched.release();
    let waker = waker_that(move || _ = release.send(()));
    let mut timer = pin!(sleep(MILLI));
    let polled = quiet.executor.enter(|| poll_with(&mut timer, &waker));
    assert!(polled.is_pending());
    watched.assert_released();
}
