//! Forks without exec. No other test's thread may hold a lock of the process at the fork, so each
//! test runs in a process of its own.
#![cfg(unix)]

use crate::{child::in_child, fork_join::fib, prelude::*};

const FORKS: usize = 50;
const WAKERS: usize = 2;

/// An executor's whole life: tasks from outside and from inside, joins, and the end.
fn use_another() {
    let executor = executor(2);
    let parent = |()| {
        executor.spawn(async {
            let children: Vec<_> = (0..20u64).map(|n| spawn(async move { n })).collect();
            let mut sum = 0;
            for child in children {
                sum += child.await;
            }
            sum
        })
    };
    let sum: u64 = [(); 20].map(parent).into_iter().map(block_on).sum();
    assert_eq!(sum, 20 * 190);
    let metrics = executor.metrics();
    assert_eq!((metrics.finished, metrics.live()), (20 * 21, 0));
    assert_eq!(executor.install(|| fib(16)), 987);
    drop(executor);
    assert_eq!(block_on(spawn_blocking(|| 5)), 5);
}

/// A task that waits until it is told that it is over, and shows its waker meanwhile.
fn spawn_woken_until_over(
    executor: &Executor,
    over: &Arc<AtomicBool>,
    wakers: &Arc<Mutex<Vec<Waker>>>,
) -> JoinHandle<()> {
    let (over, wakers) = (over.clone(), wakers.clone());
    let mut is_first = true;
    executor.spawn(poll_fn(move |cx| {
        if mem::take(&mut is_first) {
            wakers.lock().unwrap().push(cx.waker().clone());
        }
        match over.load(Relaxed) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }))
}

/// Waits until each worker has begun, because a thread that begins holds a lock of std.
fn begun(executor: &Executor) {
    for worker in 0..executor.workers() {
        block_on(executor.spawn_on(worker, async {}));
    }
}

#[test]
fn a_child_may_drop_what_it_inherits_and_start_its_own() {
    alone(|| {
        begun(Executor::global());
        // At each fork one thread for functions that block is busy, and one is idle.
        let (end, ends) = mpsc::channel::<()>();
        let (begin, begins) = mpsc::channel();
        let busy = spawn_blocking(move || {
            begin.send(()).unwrap();
            ends.recv().is_ok()
        });
        begins.recv().unwrap();
        block_on(spawn_blocking(|| ()));
        (0..FORKS).for_each(fork_beside_busy_workers);
        end.send(()).unwrap();
        assert!(block_on(busy));
    });
}

fn fork_beside_busy_workers(fork: usize) {
    let mut inherited = Some(executor(2));
    let (over, wakers) = (Arc::<AtomicBool>::default(), Arc::default());
    let executor = inherited.as_ref().unwrap();
    begun(executor);
    let tasks = [(); WAKERS].map(|()| spawn_woken_until_over(executor, &over, &wakers));
    wait_until(|| wakers.lock().unwrap().len() >= WAKERS);
    // So that some forks find the locks of a worker that falls asleep held.
    let wakers = mem::take(&mut *wakers.lock().unwrap());
    let all_begun = Arc::new(Barrier::new(WAKERS + 1));
    let wake = |waker: Waker| {
        let (over, all_begun) = (over.clone(), all_begun.clone());
        thread::spawn(move || {
            all_begun.wait();
            while !over.load(Relaxed) {
                waker.wake_by_ref();
                thread::yield_now();
            }
            waker.wake();
        })
    };
    let threads: Vec<_> = wakers.into_iter().map(wake).collect();
    all_begun.wait();

    in_child(|| {
        // The C library may give a new thread the place of one that was there at the fork.
        let threads = [(); 4].map(|()| thread::spawn(|| ()));
        let inherited = inherited.take().unwrap();
        match fork % 3 {
            0 => drop(inherited),
            1 => inherited.shutdown_background(),
            _ => assert_eq!(inherited.shutdown_timeout(Duration::MAX), Ok(())),
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
    tasks.into_iter().for_each(block_on);
    assert_eq!(executor.metrics().live(), 0);
    assert_eq!(executor.install(|| fib(16)), 987);
}

/// The child blocks on a worker's thread, and leaves the reactor and the timers to its parent.
#[cfg(feature = "io")]
#[test]
fn a_child_that_waits_takes_nothing_from_its_parent() {
    use std::net::UdpSocket;

    alone(|| {
        ends(|| {
            let executor = executor(1);
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let address = socket.local_addr().unwrap();
            let (register, registered) = mpsc::channel();
            let reads = executor.spawn(async move {
                let socket = AsyncFd::new(socket).unwrap();
                let read = socket.read_with(|socket| {
                    let read = socket.recv(&mut [0; 8]);
                    let _ = register.send(());
                    read
                });
                read.await.unwrap()
            });
            registered.recv().unwrap();
            let forks = executor.spawn(async move {
                let (fired, waker) = counting();
                let mut timer = pin!(sleep(MILLI));
                assert!(poll_with(&mut timer, &waker).is_pending());
                in_child(move || {
                    let sends = UdpSocket::bind("127.0.0.1:0").unwrap();
                    sends.send_to(b"x", address).unwrap();
                    let (_sender, mut receiver) = oneshot::channel::<()>();
                    // By its end the event is there, and the timer is due.
                    assert!(receiver.blocking_recv_timeout(20 * MILLI).is_err());
                    assert_eq!(fired.count(), 0, "the child has fired its parent's timer");
                    let (sender, waits) = oneshot::channel();
                    thread::spawn(move || sender.send(7).unwrap());
                    assert_eq!(waits.blocking_recv(), Ok(7));
                });
            });
            block_on(forks);
            assert_eq!(block_on(reads), 1);
        });
    });
}

/// It does not have the threads. A child that hangs is ended.
#[cfg(feature = "io")]
#[test]
fn a_child_that_uses_its_parents_executor_panics() {
    alone(|| {
        block_on(Executor::global().spawn(sleep(MILLI)));
        let inherited = executor(2);
        block_on(inherited.spawn(sleep(MILLI)));
        let outside = || block_on(sleep(MILLI));
        let cases: [(&str, &dyn Fn()); 9] = [
            ("a timer outside of an executor", &outside),
            ("a timer in a local executor", &|| {
                LocalExecutor::new().block_on(sleep(MILLI));
            }),
            ("a timer in the inherited executor", &|| {
                inherited.enter(outside);
            }),
            ("a spawn on the inherited executor", &|| {
                block_on(inherited.spawn(async {}));
            }),
            ("a detached spawn on the inherited executor", &|| {
                inherited.spawn_detached(async {});
            }),
            ("a spawn on the global executor", &|| {
                block_on(spawn(async {}));
            }),
            ("a function that blocks on the inherited executor", &|| {
                block_on(inherited.spawn_blocking(|| ()));
            }),
            ("an install", &|| inherited.install(|| ())),
            ("a scope", &|| {
                inherited.scope(|scope| _ = scope.spawn(async {}));
            }),
        ];
        each_row(cases, |case| {
            in_child(|| {
                // SAFETY: it takes a number.
                unsafe { libc::alarm(10) };
                assert_contains(panic_text(case), "fork");
            });
        });
        // The parent goes on.
        block_on(inherited.spawn(sleep(MILLI)));
    });
}
