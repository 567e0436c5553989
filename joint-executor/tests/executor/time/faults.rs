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
