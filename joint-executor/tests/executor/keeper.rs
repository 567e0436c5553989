//! Who attends to the driver while one worker runs a task that never has to wait, and the other has
//! nothing to do.
//!
//! Counted is which worker wakes those whose time has come or whose descriptor is ready. Which one
//! runs them does not tell: tasks are stolen.
#![cfg(feature = "io")]

use crate::prelude::*;

/// How often each test waits.
const ROUNDS: usize = 100;

/// A task's waker that counts which worker uses it.
struct Tells {
    task: Waker,
    by: Arc<[AtomicUsize; 2]>,
}

impl Wake for Tells {
    fn wake(self: Arc<Self>) {
        let worker = current_worker().expect("a worker wakes it");
        self.by[worker].fetch_add(1, Relaxed);
        self.task.wake_by_ref();
    }
}

/// Polls a future with such wakers.
async fn told<F: Future>(by: &Arc<[AtomicUsize; 2]>, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| {
        let task = cx.waker().clone();
        let waker = Waker::from(Arc::new(Tells {
            task,
            by: by.clone(),
        }));
        future.as_mut().poll(&mut Context::from_waker(&waker))
    })
    .await
}

/// Runs a task while worker 0 is busy, and tells how often each worker has woken it. The busy worker
/// ends a poll each time the other has gone to rest, which so sees it get on whenever it looks.
fn beside_a_busy_worker<F>(
    executor: &Arc<Executor>,
    task: impl FnOnce(Arc<[AtomicUsize; 2]>) -> F,
) -> [usize; 2]
where
    F: Future<Output = ()> + Send + 'static,
{
    let is_over = Arc::new(AtomicBool::new(false));
    let (end, seen) = (is_over.clone(), Arc::downgrade(executor));
    let (begun, has_begun) = mpsc::channel();
    let busy = executor.spawn_on(0, async move {
        begun.send(()).unwrap();
        let parks = || seen.upgrade().map(|seen| seen.metrics().workers[1].parks);
        while !end.load(Relaxed) {
            let before = parks();
            wait_until(|| parks() != before || end.load(Relaxed));
            yield_now().await;
        }
    });
    has_begun.recv().unwrap();
    let by = Arc::<[AtomicUsize; 2]>::default();
    block_on(executor.spawn(task(by.clone())));
    is_over.store(true, Relaxed);
    block_on(busy);
    [0, 1].map(|worker| by[worker].load(Relaxed))
}

#[test]
fn the_idle_worker_fires_the_timers() {
    let executor = Arc::new(executor(2));
    let by = beside_a_busy_worker(&executor, |by| async move {
        for _ in 0..ROUNDS {
            told(&by, sleep(Duration::from_micros(300))).await;
        }
    });
    // By far the most: the system may keep the idle worker from its processor for as long.
    assert!(by[1] > by[0] && by[0] + by[1] >= ROUNDS, "{by:?}");
}
