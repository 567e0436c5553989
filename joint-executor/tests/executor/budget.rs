//! How many operations of `io` and `time` one poll may do. A task that would never give way ends
//! after [`MANY`] operations.
#![cfg(feature = "io")]

use std::{
    net::{TcpListener, TcpStream, UdpSocket},
    task::ready,
};

use futures_lite::future::zip;

use crate::prelude::*;

/// How many operations a poll does, as the documentation promises.
const BUDGET: usize = 128;
/// More than any task here does if it has to give way.
const MANY: usize = 3_000_000;

/// A socket that is always ready to be written, and so never makes its task wait.
struct Ready {
    socket: AsyncFd<UdpSocket>,
    /// Where nobody reads: what does not fit there is lost.
    sink: SocketAddr,
    _sink: UdpSocket,
}

impl Ready {
    fn new() -> Self {
        let sink = UdpSocket::bind("127.0.0.1:0").unwrap();
        Self {
            socket: AsyncFd::new(UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap(),
            sink: sink.local_addr().unwrap(),
            _sink: sink,
        }
    }

    async fn send(&self) {
        let sent = self
            .socket
            .write_with(|socket| socket.send_to(&[7], self.sink));
        assert_eq!(sent.await.unwrap(), 1);
    }

    /// Does nothing but say that it is done, so that a million of them take no time.
    async fn touch(&self) {
        self.socket.write_with(|_| Ok(())).await.unwrap();
    }

    /// Until it is told to end, and fails when it never is.
    async fn greedy(&self, end: &AtomicBool) {
        for _ in 0..MANY {
            if end.load(Relaxed) {
                return;
            }
            self.touch().await;
        }
        panic!("nobody else has run");
    }
}

/// Logs how many operations each poll of a future does.
async fn logged<F: Future>(done: &AtomicUsize, future: F) -> (F::Output, Vec<usize>) {
    let (mut future, mut log) = (pin!(future), Vec::new());
    let output = poll_fn(|cx| {
        let before = done.load(Relaxed);
        let polled = future.as_mut().poll(cx);
        log.push(done.load(Relaxed) - before);
        polled
    })
    .await;
    (output, log)
}

/// How many operations each poll of a task does that makes so many of them.
async fn polls_of(operations: usize) -> Vec<usize> {
    let ready = Ready::new();
    let done = AtomicUsize::new(0);
    let work = async {
        for _ in 0..operations {
            ready.send().await;
            done.fetch_add(1, Relaxed);
        }
    };
    logged(&done, work).await.1
}

#[test]
fn a_poll_does_as_many_operations_as_the_budget_has() {
    let expected = [BUDGET, BUDGET, 44];
    assert_eq!(block_on(executor(1).spawn(polls_of(300))), expected);
    assert_eq!(block_on(polls_of(300)), expected);
    let local = LocalExecutor::new();
    assert_eq!(local.block_on(polls_of(300)), expected);
    assert_eq!(local.block_on(local.spawn(polls_of(300))), expected);
    assert_eq!(block_on(local.run(polls_of(300))), expected);
    let whole = [BUDGET, BUDGET];
    assert_eq!(block_on(executor(1).spawn(polls_of(2 * BUDGET))), whole);
}

/// How many polls of a timeout's future have begun after the deadline.
async fn polls_too_late() -> usize {
    let (ready, end) = (Ready::new(), AtomicBool::new(false));
    let deadline = Instant::now() + MILLI;
    let mut late = 0;
    let mut greedy = pin!(ready.greedy(&end));
    let operation = poll_fn(|cx| {
        late += usize::from(Instant::now() >= deadline);
        greedy.as_mut().poll(cx)
    });
    let ended = timeout_at(deadline, operation).await;
    assert!(ended.is_err(), "the operation has not been given up");
    late
}

#[test]
fn a_timeout_ends_an_operation_that_never_waits() {
    // Looked at after each poll, by the clock: nobody has to fire it. One more poll follows.
    assert!(block_on(polls_too_late()) <= 2);
    for workers in [1, 2] {
        let executor = executor(workers);
        assert!(block_on(executor.spawn(polls_too_late())) <= 2);
        assert!(block_on(executor.spawn(async { block_on(polls_too_late()) })) <= 2);
    }
    let local = LocalExecutor::new();
    assert!(local.block_on(polls_too_late()) <= 2);
    assert!(local.block_on(local.spawn(polls_too_late())) <= 2);
}

/// In another task, and in the same one.
#[test]
fn a_sleep_ends_beside_a_task_that_never_waits() {
    let executor = executor(1);
    let late = executor.spawn(async {
        let deadline = Instant::now() + MILLI;
        let end = Arc::new(AtomicBool::new(false));
        let is_over = end.clone();
        let sleeper = joint_executor::spawn(async move {
            sleep_until(deadline).await;
            is_over.store(true, Relaxed);
        });
        let ready = Ready::new();
        let mut late = 0;
        let mut greedy = pin!(ready.greedy(&end));
        poll_fn(|cx| {
            late += usize::from(Instant::now() >= deadline);
            greedy.as_mut().poll(cx)
        })
        .await;
        assert!(end.load(Relaxed), "the sleeper has not run");
        sleeper.await;
        late
    });
    // The one at the deadline, one before the worker looks at the timers, one before the sleeper.
    assert!(block_on(late) <= 3);

    let beside = || async {
        let (ready, end) = (Ready::new(), AtomicBool::new(false));
        let sleeper = async {
            sleep(MILLI).await;
            end.store(true, Relaxed);
        };
        zip(ready.greedy(&end), sleeper).await;
        assert!(end.load(Relaxed));
    };
    block_on(executor.spawn(beside()));
    block_on(executor.spawn(async move { block_on(beside()) }));
    block_on(beside());
}

/// A connection, and at its other end so many bytes, each of another value, that have arrived.
fn arrived(bytes: usize) -> (TcpStream, TcpStream, Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (near, _) = listener.accept().unwrap();
    let sent: Vec<_> = (0..bytes).map(|i| (i % 251) as u8).collect();
    far.write_all(&sent).unwrap();
    while bytes > 0 && near.peek(&mut vec![0; bytes]).unwrap() < bytes {}
    (far, near, sent)
}

async fn read_one(near: &AsyncFd<TcpStream>) -> u8 {
    let mut byte = [0];
    let read = near.read_with(|mut near| near.read(&mut byte)).await;
    assert_eq!(read.unwrap(), 1);
    byte[0]
}

/// A future that is given up where it was refused, and begun anew, loses nothing.
#[test]
fn an_operation_refused_by_the_budget_has_no_effect() {
    let (_far, near, sent) = arrived(1_000);
    let (read, polls) = block_on(executor(1).spawn(async {
        let near = AsyncFd::new(near).unwrap();
        let (mut read, mut polls) = (Vec::new(), 0);
        while read.len() < 1_000 {
            polls += 1;
            poll_fn(|cx| {
                while read.len() < 1_000 {
                    match pin!(read_one(&near)).poll(cx) {
                        Poll::Ready(byte) => read.push(byte),
                        Poll::Pending => return Poll::Ready(()),
                    }
                }
                Poll::Ready(())
            })
            .await;
            joint_executor::yield_now().await;
        }
        (read, polls)
    }));
    assert_eq!((read, polls), (sent, 1_000_usize.div_ceil(BUDGET)));
}

#[test]
fn a_nested_block_on_makes_progress_after_the_budget_is_used_up() {
    let elsewhere = |operations| futures_lite::future::block_on(polls_of(operations));
    let polls = block_on(executor(1).spawn(async move { elsewhere(1_000) }));
    assert_eq!(polls.iter().sum::<usize>(), 1_000);
    assert_eq!(polls[0], BUDGET);
}

/// By a thread of nobody's, with a waker of nobody's.
#[test]
fn without_a_task_there_is_no_budget() {
    let (wakes, waker) = counting();
    let mut work = pin!(polls_of(10 * BUDGET));
    let polled = work.as_mut().poll(&mut Context::from_waker(&waker));
    assert_eq!(polled, Poll::Ready(vec![10 * BUDGET]));
    assert_eq!(wakes.count(), 0);
    let polls = futures_lite::future::block_on(polls_of(10 * BUDGET));
    assert_eq!(polls, [10 * BUDGET]);
}

#[test]
fn a_blocking_wait_in_a_task_has_a_budget_of_its_own() {
    let nested = |inner: fn() -> Vec<usize>| async move {
        let (ready, done) = (Ready::new(), AtomicUsize::new(0));
        let work = async {
            for i in 0..BUDGET + 1 {
                if i == 100 {
                    assert_eq!(inner(), [BUDGET, 72]);
                }
                ready.touch().await;
                done.fetch_add(1, Relaxed);
            }
        };
        logged(&done, work).await.1
    };
    let inner: [fn() -> Vec<usize>; 3] = [
        || block_on(polls_of(200)),
        || LocalExecutor::new().block_on(polls_of(200)),
        || {
            let local = LocalExecutor::new();
            let task = local.spawn(polls_of(200));
            while local.try_tick() {}
            block_on(task)
        },
    ];
    let executor = executor(1);
    for inner in inner {
        assert_eq!(block_on(executor.spawn(nested(inner))), [BUDGET, 1]);
    }
}

/// A pending operation costs nothing, or else a task that waits for much at once would never wait.
#[test]
fn pending_operations_cost_no_budget() {
    let (_far, near, _) = arrived(0);
    let executor = executor(1);
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = polls.clone();
    let task = executor.spawn(async move {
        let near = AsyncFd::new(near).unwrap();
        let mut all: Vec<_> = (0..10 * BUDGET)
            .map(|_| Box::pin(read_one(&near)))
            .collect();
        let mut sleeps: Vec<Pin<Box<Sleep>>> = (0..10 * BUDGET)
            .map(|_| Box::pin(sleep(Duration::from_secs(3600))))
            .collect();
        poll_fn(|cx| {
            counted.fetch_add(1, Relaxed);
            assert!(all.iter_mut().all(|one| one.as_mut().poll(cx).is_pending()));
            assert!(
                sleeps
                    .iter_mut()
                    .all(|one| one.as_mut().poll(cx).is_pending())
            );
            Poll::<()>::Pending
        })
        .await;
    });
    // Behind it, twice: if it had woken itself, it would have run in between.
    for _ in 0..2 {
        block_on(executor.spawn(joint_executor::yield_now()));
    }
    assert_eq!(polls.load(Relaxed), 1);
    drop(task);
}

#[test]
fn ticks_late_timeouts_and_ended_sleeps_take_from_the_budget() {
    type Operation = Box<dyn FnMut(&mut Context<'_>) -> Poll<()> + Send>;
    let begin = Instant::now();
    let operations: [fn(Instant) -> Operation; 3] = [
        |begin| {
            let mut interval = interval_at(begin, Duration::from_nanos(1));
            Box::new(move |cx| interval.poll_tick(cx).map(drop))
        },
        |_| {
            let late =
                || async { assert!(timeout(Duration::ZERO, pending::<()>()).await.is_err()) };
            Box::new(move |cx| (Box::pin(late()) as Boxed<()>).as_mut().poll(cx))
        },
        |_| {
            let mut ended = Box::pin(sleep(Duration::ZERO));
            block_on(&mut ended);
            Box::new(move |cx| ended.as_mut().poll(cx))
        },
    ];
    // As many ticks as are due by now, at the least.
    while begin.elapsed() < Duration::from_nanos(200) {}
    for make in operations {
        let mut operation = make(begin);
        let polls = block_on(executor(1).spawn(async move {
            let done = AtomicUsize::new(0);
            let work = poll_fn(|cx| {
                while done.load(Relaxed) < 200 {
                    ready!(operation(cx));
                    done.fetch_add(1, Relaxed);
                }
                Poll::Ready(())
            });
            logged(&done, work).await.1
        }));
        assert_eq!(polls, [BUDGET, 72]);
    }
}
