//! Ways to shut down that do not wait for everything.

use std::{
    future::pending,
    sync::mpsc,
    time::{Duration, Instant},
};

use joint::{JoinError, block_on};
use joint_executor::spawn;

use super::{ends, executor};

const MILLI: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn in_time_everything_has_ended() {
    ends(|| {
        for workers in [1, 2, 4] {
            let executor = executor(workers);
            let idle = executor.spawn(pending::<()>());
            assert_eq!(executor.shutdown_timeout(HOUR), Ok(()));
            assert!(matches!(block_on(idle.result()), Err(JoinError::Cancelled)));
        }
    });
}

#[test]
fn shutdown_timeout_reports_the_workers_that_are_late() {
    ends(|| {
        for limit in [Duration::ZERO, MILLI] {
            let executor = executor(3);
            let (begin, begun) = mpsc::channel();
            let (end, ended) = mpsc::channel::<()>();
            let idle = executor.spawn(pending::<()>());
            let blocks = executor.task().on_worker(1).spawn(async move {
                begin.send(()).unwrap();
                let _ = ended.recv();
                7
            });
            begun.recv().unwrap();
            let error = executor.shutdown_timeout(limit).unwrap_err();
            // With no time at all, others may not have arrived yet.
            if limit.is_zero() {
                assert!(error.workers().contains(&1), "{error:?}");
            }
            assert!(error.tasks() >= 1);
            let text = error.to_string();
            assert!(text.contains("not shut down in time"), "{text}");
            // The shutdown goes on by itself.
            assert!(block_on(idle.result()).is_err());
            end.send(()).unwrap();
            assert_eq!(block_on(blocks), 7);
        }
    });
}

#[test]
fn a_limit_that_no_clock_can_tell_is_none() {
    ends(|| {
        let executor = executor(2);
        assert_eq!(executor.shutdown_timeout(Duration::MAX), Ok(()));
    });
}

/// A task that shuts its own executor down: its worker is late, and the others are not.
#[test]
fn a_task_shuts_down_its_own_executor_and_its_worker_is_reported() {
    ends(|| {
        for workers in [1, 2, 4] {
            let executor = executor(workers);
            let (give, given) = mpsc::channel::<joint_executor::Executor>();
            let (tell, told) = mpsc::channel();
            executor.spawn_detached(async move {
                let executor = given.recv().unwrap();
                let worker = joint_executor::current_worker().unwrap();
                tell.send((worker, executor.shutdown_timeout(HOUR)))
                    .unwrap();
            });
            give.send(executor).unwrap();
            let (worker, outcome) = told.recv().unwrap();
            assert_eq!(outcome.unwrap_err().workers(), [worker]);
        }
    });
}

#[test]
fn in_the_background_nothing_is_waited_for() {
    ends(|| {
        for workers in [1, 2] {
            let executor = executor(workers);
            let (begin, begun) = mpsc::channel();
            let (end, ended) = mpsc::channel::<()>();
            let blocks = executor.spawn(async move {
                begin.send(()).unwrap();
                let _ = ended.recv();
                spawn(async {}).detach();
                7
            });
            begun.recv().unwrap();
            let idle = executor.spawn(pending::<()>());
            executor.shutdown_background();
            // The poll that it does not wait for is still under way.
            assert!(!blocks.is_finished());
            end.send(()).unwrap();
            assert_eq!(block_on(blocks), 7);
            assert!(block_on(idle.result()).is_err());
        }
    });
}

/// The deadline of a shutdown is not the deadline of what it has begun: nothing is lost.
#[test]
fn a_late_worker_drops_what_is_left() {
    ends(|| {
        let executor = executor(1);
        let (begin, begun) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        executor.spawn_detached(async move {
            begin.send(()).unwrap();
            let _ = ended.recv();
        });
        begun.recv().unwrap();
        let queued = executor.spawn(async {});
        let before = Instant::now();
        let error = executor.shutdown_timeout(MILLI).unwrap_err();
        assert!(before.elapsed() >= MILLI);
        assert_eq!((error.workers(), error.tasks()), (&[0][..], 2));
        end.send(()).unwrap();
        assert!(block_on(queued.result()).is_err());
    });
}

/// The workers that have arrived wait for one that has not, and are not blamed.
#[test]
fn shutdown_timeout_names_only_the_worker_that_blocks_the_others() {
    ends(|| {
        let executor = executor(3);
        let (drop_me, dropped) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        // Dropped by the first worker that arrives. The others are soon there too.
        executor.spawn_detached(async move {
            let _drop_me = drop_me;
            pending::<()>().await;
        });
        executor.task().on_worker(1).spawn_detached(async move {
            begin.send(()).unwrap();
            let _ = dropped.recv();
            let _ = ended.recv();
        });
        begun.recv().unwrap();
        let error = executor
            .shutdown_timeout(Duration::from_secs(1))
            .unwrap_err();
        assert_eq!(error.workers(), [1]);
        drop(end);
    });
}
