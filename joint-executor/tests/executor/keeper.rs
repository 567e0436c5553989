//! Who attends to the driver while one worker runs a task that never has to wait, and the other has
//! nothing to do.
//!
//! Counted is which worker wakes those whose time has come or whose descriptor is ready. Which one
//! runs them does not tell: tasks are stolen.
#![cfg(feature = "io")]

use std::net::UdpSocket;

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

/// Runs a task while the worker 0 is busy, and tells which worker has woken it how often.
///
/// The busy worker ends a poll each time the other has gone to rest. So that one sees it get on,
/// whenever it looks; and it looks far more often than the busy one, which does every 61 polls.
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
        let mut before = 0;
        while !end.load(Relaxed) {
            let rests = || {
                seen.upgrade()
                    .map(|executor| executor.metrics().workers[1].parks)
            };
            while rests() == Some(before) && !end.load(Relaxed) {
                thread::yield_now();
            }
            before = rests().unwrap_or_default();
            joint_executor::yield_now().await;
        }
    });
    has_begun.recv().unwrap();
    let by = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    block_on(executor.spawn(task(by.clone())));
    is_over.store(true, Relaxed);
    block_on(busy);
    [by[0].load(Relaxed), by[1].load(Relaxed)]
}

/// By far the most: the system may take the processor from the idle worker for as long as the busy
/// one takes for its turn.
#[track_caller]
fn assert_by_the_idle_one(by: [usize; 2]) {
    assert!(by[1] > by[0] && by[0] + by[1] >= ROUNDS, "{by:?}");
}

#[test]
fn the_idle_worker_fires_the_timers() {
    let executor = Arc::new(Executor::builder().workers(2).build().unwrap());
    let by = beside_a_busy_worker(&executor, |by| async move {
        for _ in 0..ROUNDS {
            told(&by, sleep(Duration::from_micros(300))).await;
        }
    });
    assert_by_the_idle_one(by);
}

#[test]
fn the_idle_worker_serves_the_descriptors() {
    let rests = Arc::new(AtomicBool::new(false));
    let told_of = |rests: &Arc<AtomicBool>, begins| {
        let rests = rests.clone();
        move |worker| {
            if worker == 1 {
                rests.store(begins, Relaxed);
            }
        }
    };
    let executor = Executor::builder().workers(2);
    let executor = executor
        .on_park(told_of(&rests, true))
        .on_unpark(told_of(&rests, false));
    let executor = Arc::new(executor.build().unwrap());
    let near = UdpSocket::bind("127.0.0.1:0").unwrap();
    let far = UdpSocket::bind("127.0.0.1:0").unwrap();
    far.connect(near.local_addr().unwrap()).unwrap();
    let (asks, asked) = mpsc::channel();
    // It sends when the idle worker has gone to rest: before, that one looks there by itself.
    let sender = thread::spawn(move || {
        for () in asked {
            while !rests.load(Relaxed) {
                thread::yield_now();
            }
            far.send(&[7]).unwrap();
        }
    });
    let by = beside_a_busy_worker(&executor, |by| async move {
        let near = AsyncFd::new(near).unwrap();
        for _ in 0..ROUNDS {
            let mut received = pin!(near.read_with(|near| near.recv(&mut [0; 8])));
            let mut has_asked = false;
            let received = poll_fn(|cx| {
                let polled = received.as_mut().poll(cx);
                if !std::mem::replace(&mut has_asked, true) {
                    assert!(polled.is_pending());
                    asks.send(()).unwrap();
                }
                polled
            });
            assert_eq!(told(&by, received).await.unwrap(), 1);
        }
    });
    sender.join().unwrap();
    assert_by_the_idle_one(by);
}
