//! Timers that are given up in great numbers, and wakers that panic or come back.

use joint_executor::time::Sleep;

use super::poll_on;
use crate::prelude::*;

const MANY: u32 = 100_000;

#[test]
fn an_executor_that_is_dropped_drops_all_that_sleep() {
    ends(|| {
        let executor = executor(2);
        let (alive, asleep) = (Arc::new(()), Arc::new(AtomicUsize::new(0)));
        for task in 0..MANY {
            let (alive, asleep) = (alive.clone(), asleep.clone());
            executor.spawn_detached(async move {
                asleep.fetch_add(1, Relaxed);
                sleep(HOUR + task * MILLI).await;
                drop(alive);
            });
        }
        // Some are armed, some may not have begun yet.
        block_on(executor.spawn(sleep(MILLI)));
        drop(executor);
        assert_eq!(Arc::strong_count(&alive), 1);
        assert!(asleep.load(Relaxed) > 0);
    });
}

#[test]
fn many_sleep_and_each_wakes_up() {
    ends(|| {
        let executor = executor(2);
        let begin = Instant::now();
        let tasks: Vec<_> = (0..20_000)
            .map(|task| {
                let due = begin + (task % 50) * MILLI;
                executor.spawn(async move {
                    sleep_until(due).await;
                    assert!(Instant::now() >= due);
                })
            })
            .collect();
        tasks.into_iter().for_each(block_on);
    });
}

/// As a `select` over thousands that goes on with the first.
#[test]
fn thousands_are_given_up_at_once() {
    ends(|| {
        let executor = executor(1);
        let (wakes, waker) = counting();
        let polled = waker.clone();
        block_on(executor.spawn(async move {
            for round in 0..4 {
                let mut sleeps: Vec<_> = (0..5000)
                    .map(|n| sleep(HOUR + ((n * 7919) % 5000) * MILLI))
                    .collect();
                for slept in &mut sleeps {
                    assert_eq!(poll_with(slept, &polled), Poll::Pending);
                }
                if round % 2 == 0 {
                    sleeps.reverse();
                }
                drop(sleeps);
                sleep(MILLI).await;
            }
        }));
        assert_eq!((wakes.count(), wakes.wakers()), (0, 1));
    });
}

#[test]
fn a_waker_that_panics_stops_no_other_timer() {
    ends(|| {
        let executor = executor(1);
        let (sender, told) = mpsc::channel();
        // Late enough that all are armed by then, on a busy machine too.
        let due = Instant::now() + 1_000 * MILLI;
        let armed: Vec<Sleep> = (0..100)
            .map(|n| {
                let sender = sender.clone();
                let waker = match n % 2 {
                    0 => waker_that(|| resume_unwind(Box::new("a waker panics"))),
                    _ => waker_that(move || sender.send(()).unwrap()),
                };
                poll_on(&executor, sleep_until(due + n * MILLI / 10), &waker).0
            })
            .collect();
        let own = executor.spawn(sleep_until(due + 20 * MILLI));
        block_on(own);
        for _ in (0..100).filter(|n| n % 2 == 1) {
            told.recv().unwrap();
        }
        drop(armed);
        block_on(executor.spawn(async {}));
    });
}

/// A waker that arms and drops timers when it is woken, and again when it is dropped.
struct ComesBack {
    timers: Mutex<Vec<Sleep>>,
    sender: mpsc::Sender<()>,
}

impl ComesBack {
    fn come_back(&self) {
        let mut timers = self.timers.lock().unwrap();
        let mut fresh = sleep(HOUR);
        assert_eq!(poll_with(&mut fresh, Waker::noop()), Poll::Pending);
        timers.truncate(1);
        timers.push(fresh);
    }
}

impl Wake for ComesBack {
    fn wake(self: Arc<Self>) {
        self.come_back();
        self.sender.send(()).unwrap();
    }
}

impl Drop for ComesBack {
    fn drop(&mut self) {
        self.come_back();
    }
}

#[test]
fn a_waker_that_reenters_the_timers_finds_them_unlocked() {
    ends(|| {
        let executor = executor(1);
        let (sender, told) = mpsc::channel();
        for _ in 0..20 {
            let others = (0..3).map(|_| poll_on(&executor, sleep(HOUR), Waker::noop()).0);
            let comes_back = Arc::new(ComesBack {
                timers: Mutex::new(others.collect()),
                sender: sender.clone(),
            });
            let waker = Waker::from(comes_back);
            let (first, _) = poll_on(&executor, sleep(MILLI), &waker);
            let (second, _) = poll_on(&executor, sleep(HOUR), &waker);
            drop(waker);
            told.recv().unwrap();
            // The last of its wakers is dropped by a worker that gives up a timer.
            block_on(executor.spawn(async move { drop((first, second)) }));
        }
    });
}

/// Each of many tasks awaits one of two, and gives up the other.
#[test]
fn a_timer_against_a_task_that_gives_it_up() {
    ends(|| {
        let executor = executor(2);
        let tasks: Vec<_> = (0..2000)
            .map(|n| {
                executor.spawn(async move {
                    let race = sleep(MILLI + n % 7 * MILLI / 10);
                    let slept = spawn(sleep(MILLI));
                    let _ = joint_executor::time::timeout(MILLI, race).await;
                    drop(slept);
                })
            })
            .collect();
        tasks.into_iter().for_each(block_on);
    });
}

#[test]
fn workers_that_block_on_timers_are_served() {
    for workers in [1, 2] {
        ends(move || {
            let executor = executor(workers);
            let tasks: Vec<_> = (0..workers)
                .map(|worker| {
                    executor.spawn_on(worker, async {
                        block_on(async {
                            sleep(MILLI).await;
                            timeout(MILLI, pending::<()>()).await.unwrap_err();
                        });
                    })
                })
                .collect();
            tasks.into_iter().for_each(block_on);
        });
    }
}
