//! A fork without exec: the child may drop the executor that it inherits, and one that it starts
//! works; the parent goes on.
//!
//! A program of its own with one test, so that no other test's thread holds a lock of the process
//! at the fork.
#![cfg(unix)]

use crate::child::in_child;
use crate::prelude::*;

const FORKS: usize = 50;
const WAKERS: usize = 2;

fn fibonacci(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = joint_executor::join(|| fibonacci(n - 1), || fibonacci(n - 2));
    a + b
}

/// An executor's whole life: tasks from outside and from inside, joins, and the end.
fn use_another() {
    let executor = executor(2);
    let parents: Vec<_> = (0..20)
        .map(|_| {
            executor.spawn(async {
                let children: Vec<_> = (0..20u64).map(|n| spawn(async move { n })).collect();
                let mut sum = 0;
                for child in children {
                    sum += child.await;
                }
                sum
            })
        })
        .collect();
    let sum: u64 = parents.into_iter().map(block_on).sum();
    assert_eq!(sum, 20 * 190);
    let metrics = executor.metrics();
    assert_eq!((metrics.finished, metrics.live()), (20 * 21, 0));
    assert_eq!(executor.install(|| fibonacci(16)), 987);
    drop(executor);
    assert_eq!(block_on(joint_executor::spawn_blocking(|| 5)), 5);
}

/// A task that waits until it is told that it is over, and shows its waker meanwhile.
fn spawn_woken_until_over(
    executor: &Executor,
    over: &Arc<AtomicBool>,
    wakers: &Arc<Mutex<Vec<Waker>>>,
) -> JoinHandle<u64> {
    let (over, wakers) = (over.clone(), wakers.clone());
    let mut polls = 0;
    executor.spawn(poll_fn(move |cx| {
        if polls == 0 {
            wakers.lock().unwrap().push(cx.waker().clone());
        }
        polls += 1;
        match over.load(Relaxed) {
            true => Poll::Ready(polls),
            false => Poll::Pending,
        }
    }))
}

/// Waits until every worker has begun. A thread that begins or ends holds a lock of std, which
/// would stay locked in a child.
fn begun(executor: &Executor) {
    for worker in 0..executor.metrics().workers.len() {
        block_on(executor.spawn_on(worker, async {}));
    }
}

#[test]
fn a_child_may_drop_what_it_inherits_and_start_its_own() {
    crate::common::alone(|| {
        begun(Executor::global());
        // Of the threads for functions that block, one is busy and one waits for work at each
        // of the forks.
        let (busy, end) = {
            let (end, ends) = std::sync::mpsc::channel::<()>();
            let (begin, begins) = std::sync::mpsc::channel();
            let busy = joint_executor::spawn_blocking(move || {
                begin.send(()).unwrap();
                ends.recv().is_ok()
            });
            begins.recv().unwrap();
            block_on(joint_executor::spawn_blocking(|| ()));
            (busy, end)
        };
        for fork in 0..FORKS {
            let mut inherited = Some(executor(2));
            let over = Arc::<AtomicBool>::default();
            let wakers = Arc::<Mutex<Vec<Waker>>>::default();
            let executor = inherited.as_ref().unwrap();
            begun(executor);
            let tasks = [(); WAKERS].map(|()| spawn_woken_until_over(executor, &over, &wakers));
            wait_until(|| wakers.lock().unwrap().len() >= WAKERS);
            // Workers that fall asleep and are woken all the time hold the locks of that now
            // and then, and so at some of the forks.
            let wakers = wakers.lock().unwrap().split_off(0);
            let all_begun = Arc::new(Barrier::new(WAKERS + 1));
            let threads = wakers.into_iter().map(|waker| {
                let (over, all_begun) = (over.clone(), all_begun.clone());
                thread::spawn(move || {
                    all_begun.wait();
                    while !over.load(Relaxed) {
                        waker.wake_by_ref();
                        thread::yield_now();
                    }
                    waker.wake();
                })
            });
            let threads: Vec<_> = threads.collect();
            all_begun.wait();

            in_child(|| {
                // The C library may give a new thread the place of one that was there at the
                // fork.
                let threads = [(); 4].map(|()| thread::spawn(|| ()));
                match fork % 3 {
                    0 => drop(inherited.take()),
                    1 => inherited.take().unwrap().shutdown_background(),
                    _ => {
                        let ended = inherited.take().unwrap().shutdown_timeout(Duration::MAX);
                        assert_eq!(ended, Ok(()));
                    }
                }
                for thread in threads {
                    thread.join().unwrap();
                }
                use_another();
            });
            // There the worker's own thread is the one that goes on.
            let executor = inherited.as_ref().unwrap();
            block_on(executor.spawn(async { in_child(use_another) }));

            over.store(true, Relaxed);
            for thread in threads {
                thread.join().unwrap();
            }
            for task in tasks {
                assert!(block_on(task) > 0);
            }
            assert_eq!(executor.metrics().live(), 0);
            assert_eq!(executor.install(|| fibonacci(16)), 987);
            drop(inherited);
        }
        {
            end.send(()).unwrap();
            assert!(block_on(busy));
        }
    });
}
