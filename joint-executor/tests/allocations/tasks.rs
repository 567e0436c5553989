//! The heap memory of tasks: their blocks, nothing that stays, and nothing large once they end.

use std::{
    future::{Future, pending},
    hint::black_box,
    pin::{Pin, pin},
    sync::{Arc, Barrier, Mutex, atomic::Ordering::Relaxed},
    task::{Context, Poll},
    thread,
    time::Duration,
};

use crate::common::{HOUR, MILLI, executor};
use crate::counting::{BYTES, COUNT, alone};
use joint::{block_on, oneshot};
#[cfg(feature = "io")]
use joint_executor::io;
use joint_executor::{
    Executor, JoinSet, LocalExecutor, async_scope, scope, spawn, spawn_blocking, spawn_local,
    time::{Timer, interval, sleep},
    yield_now,
};

/// Frees on another thread what this one has allocated: that must not count for the tasks.
fn free_elsewhere(taken: Vec<u8>) {
    let elsewhere = thread::spawn(move || drop(black_box(taken)));
    elsewhere.join().unwrap();
}

const TASKS: usize = 100_000;
/// A task with a future and an output of a word or less.
const BLOCK: usize = 56 + SPAN;
/// The bytes that the feature `tracing` adds to each task.
const SPAN: usize = if cfg!(feature = "tracing") { 40 } else { 0 };

#[test]
fn a_task_that_is_queued_takes_its_block_and_nothing_else() {
    let _alone = alone();
    let executor = executor(1);
    let (begin, end) = (Barrier::new(2), Barrier::new(2));
    // The one worker is in a poll, so none of the tasks is run.
    let taken = thread::scope(|threads| {
        threads.spawn(|| {
            executor.scope(|scope| {
                scope.spawn(async {
                    begin.wait();
                    end.wait();
                });
            });
        });
        begin.wait();
        let before = COUNT.get().bytes;
        for _ in 0..TASKS {
            executor.spawn_detached(async { 7u32 });
        }
        let taken = COUNT.get().bytes - before;
        end.wait();
        taken
    });
    // Less than a byte more for each.
    assert!(
        taken < (TASKS * (BLOCK + 1)) as isize,
        "{taken} bytes for {TASKS} tasks"
    );
}

#[test]
fn a_task_that_waits_takes_its_block_and_one_word_more() {
    let _alone = alone();
    let executor = executor(1);
    let waiting = |tasks| {
        let elsewhere = vec![0; 1 << 20];
        block_on(executor.spawn(async move {
            // The one worker runs all of them.
            let before = COUNT.get().bytes;
            free_elsewhere(elsewhere);
            for _ in 0..tasks {
                // Nobody wakes it but the executor's end.
                spawn(async {
                    pending::<()>().await;
                    7u32
                })
                .detach();
                yield_now().await;
            }
            COUNT.get().bytes - before
        }))
    };
    waiting(1);
    let bytes = waiting(TASKS);
    // The word is in chunks of a kibibyte, of which an array keeps the addresses.
    let most = TASKS * (BLOCK + 8) * 102 / 100;
    assert!(bytes <= most as isize, "{bytes} bytes for {TASKS} tasks");
}

#[test]
fn executors_in_a_loop_leave_no_memory_behind() {
    let _alone = alone();
    let live = |executors: usize| {
        for _ in 0..executors {
            let executor = self::executor(2);
            executor.spawn(pending::<()>()).detach();
            block_on(executor.spawn(async {
                for n in 0..200 {
                    spawn(sleep(HOUR + Duration::from_millis(n))).detach();
                }
                let children: Vec<_> = (0..100).map(|_| spawn(yield_now())).collect();
                for child in children {
                    child.await;
                }
                sleep(MILLI).await;
            }));
        }
        BYTES.load(Relaxed)
    };
    // What is made once stays: the global executor, which serves the timers of a closed one, and
    // the garbage of the queues' library, which it collects in its own time.
    block_on(spawn(sleep(MILLI)));
    let before = live(50);
    // Workers of the last executor may still be about to end.
    let is_back = |after: &isize| *after <= before + 32 * 1024;
    let after: Vec<_> = (0..10).map(|_| live(100)).collect();
    assert!(
        after.iter().any(is_back),
        "{before} bytes became {after:?} in 100 executors each"
    );
}

const LARGE: usize = 20_000;

/// Something that a task polls by reference, and that outlives it.
type Held = Arc<Mutex<dyn FnMut(&mut Context<'_>) -> bool + Send>>;

/// A large future that polls `held`, and then waits forever, or ends.
struct Large {
    held: Held,
    waits: bool,
    bytes: [u8; LARGE],
}

impl Large {
    fn new(held: &Held, waits: bool) -> Self {
        let held = held.clone();
        black_box(Self {
            held,
            waits,
            bytes: [7; LARGE],
        })
    }
}

impl Future for Large {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        assert!((self.held.lock().unwrap())(cx), "it is pending");
        black_box(&self.bytes);
        match self.waits {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }
}

fn held(poll: impl FnMut(&mut Context<'_>) -> bool + Send + 'static) -> Held {
    Arc::new(Mutex::new(poll))
}

/// Holds what implements `Future` and `Unpin`.
fn future<F: Future<Output: Send> + Send + Unpin + 'static>(mut future: F) -> Held {
    held(move |cx| Pin::new(&mut future).poll(cx).is_pending())
}

/// A waker that is kept.
fn waker() -> Held {
    let mut waker = None;
    held(move |cx| waker.replace(cx.waker().clone()).is_none())
}

/// Asserts that `held` keeps nothing large of the task that `ends` ends, from the second run on.
#[track_caller]
fn assert_keeps_little(name: &str, make: impl Fn() -> Held, ends: impl Fn(&Held)) {
    ends(&make());
    let before = BYTES.load(Relaxed);
    let held = make();
    ends(&held);
    let kept = BYTES.load(Relaxed) - before;
    assert!(kept < LARGE as isize, "{name}: {kept} bytes are kept");
}

/// A stale waker, an unfinished wait or a handle keeps the small block of an ended task.
#[test]
fn what_an_ended_task_has_polled_keeps_no_large_future_of_it() {
    let _alone = alone();
    let executor = executor(1);
    // A worker's task, because descriptors and timers belong to the executor of who makes them.
    type Make = fn() -> Held;
    let made = |make: Make| block_on(executor.spawn(async move { make() }));
    let held_by: &[(&str, Make)] = &[
        ("a waker", waker),
        ("a sleep", || future(sleep(HOUR))),
        ("a timer", || future(Timer::new(HOUR))),
        ("an interval", || {
            let mut ticks = interval(HOUR);
            let _ = pin!(ticks.tick()).poll(&mut Context::from_waker(std::task::Waker::noop()));
            held(move |cx| ticks.poll_tick(cx).is_pending())
        }),
        ("a set of tasks", || {
            let mut set = JoinSet::new();
            set.spawn(pending::<()>());
            held(move |cx| set.poll_join_next(cx).is_pending())
        }),
        ("a handle", || future(spawn(pending::<()>()))),
        ("a receiver", || {
            let (sender, mut receiver) = oneshot::channel::<()>();
            held(move |cx| {
                let _open = &sender;
                Pin::new(&mut receiver).poll(cx).is_pending()
            })
        }),
        ("a sender", || {
            let (mut sender, receiver) = oneshot::channel::<()>();
            held(move |cx| {
                let _open = &receiver;
                sender.poll_closed(cx).is_pending()
            })
        }),
        #[cfg(feature = "io")]
        ("a listener", || {
            let listener = block_on(io::TcpListener::bind("127.0.0.1:0")).unwrap();
            held(move |cx| listener.poll_accept(cx).is_pending())
        }),
        #[cfg(feature = "io")]
        ("a datagram socket", || {
            let socket = block_on(io::UdpSocket::bind("127.0.0.1:0")).unwrap();
            held(move |cx| socket.poll_recv(cx, &mut [0; 8]).is_pending())
        }),
        #[cfg(feature = "io")]
        ("a descriptor", || {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            let socket = io::AsyncFd::new(socket).unwrap();
            future(Box::pin(async move {
                let received = socket.read_with(|socket| socket.recv(&mut [0; 8]));
                received.await
            }))
        }),
    ];
    for &(name, make) in held_by {
        assert_keeps_little(
            name,
            || made(make),
            |held| {
                let (mut large, (sender, receiver)) = (Large::new(held, true), oneshot::channel());
                let mut sender = Some(sender);
                let task = executor.spawn(std::future::poll_fn(move |cx| {
                    let poll = Pin::new(&mut large).poll(cx);
                    sender.take().unwrap().send(()).unwrap();
                    poll
                }));
                block_on(receiver).unwrap();
                assert_eq!(block_on(task.cancel()), None);
            },
        );
    }
}

/// The waker that is left is that of a task that has ended, however it was started.
#[test]
fn a_task_keeps_no_large_future_through_whichever_door_it_came() {
    let _alone = alone();
    let executor = executor(1);
    type Ends<'a> = &'a dyn Fn(Large);
    let doors: [(&str, Ends); 11] = [
        ("spawn", &|large| block_on(executor.spawn(large))),
        ("spawn inside", &|large| {
            block_on(executor.spawn(async { spawn(large).await }));
        }),
        ("spawn_local", &|large| {
            block_on(executor.spawn(async { spawn_local(large).await }));
        }),
        ("with a name", &|large| {
            block_on(executor.task().name("large").spawn(large));
        }),
        ("on a worker", &|large| {
            block_on(executor.spawn_on(0, large))
        }),
        ("a local executor", &|large| {
            let executor = LocalExecutor::new();
            executor.block_on(executor.spawn(large));
        }),
        ("a set", &|large| {
            let mut set = JoinSet::new();
            set.spawn_on(&executor, large);
            block_on(set.join_next()).unwrap().unwrap();
        }),
        ("a scope", &|large| {
            scope(|scope| {
                scope.spawn(large);
            });
        }),
        ("an async scope", &|large| {
            block_on(async_scope((), async |scope| scope.spawn(large).await));
        }),
        ("a hosted worker", &|large| {
            let (executor, workers) = Executor::builder().workers(1).build_hosted().unwrap();
            let mut workers = workers.into_iter().map(|worker| worker.bind());
            workers.next().unwrap().block_on(executor.spawn(large));
        }),
        ("the sides of a join", &|large| {
            block_on(executor.spawn(async {
                let both = joint_executor::join_async(async {}, large);
                both.await;
            }));
        }),
    ];
    for (name, end) in doors {
        assert_keeps_little(name, waker, |held| end(Large::new(held, false)));
    }
    let kept = Mutex::new(None);
    assert_keeps_little("a function that blocks", waker, |_| {
        let large = [7u8; LARGE];
        let task = spawn_blocking(move || black_box(&large)[0]);
        *kept.lock().unwrap() = Some(task.abort_handle());
        block_on(task);
    });
}

/// As a signal handler may do it on any thread.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn a_wake_up_on_a_thread_not_made_by_std_allocates_nothing() {
    use std::{ffi::c_void, ptr, task::Waker};

    extern "C" fn wake(waker: *mut c_void) -> *mut c_void {
        // std's own memory for a thread is not the global allocator's.
        // SAFETY: it only reads counts.
        let allocated = || unsafe { libc::mallinfo2() }.uordblks;
        let before = allocated();
        // SAFETY: alive until this thread is joined.
        unsafe { &*waker.cast::<Waker>() }.wake_by_ref();
        ptr::without_provenance_mut(allocated() - before)
    }

    // `mallinfo2` counts the whole process.
    crate::common::alone(|| {
        let parker = joint::park::Parker::new();
        let mut thread = 0;
        let waker = ptr::from_ref(parker.waker()).cast_mut().cast();
        // SAFETY: the function takes a waker.
        let made = unsafe { libc::pthread_create(&raw mut thread, ptr::null(), wake, waker) };
        assert_eq!(made, 0);
        let mut allocated = ptr::null_mut();
        // SAFETY: the thread was made just now.
        let joined = unsafe { libc::pthread_join(thread, &raw mut allocated) };
        assert_eq!((joined, allocated.addr()), (0, 0));
        assert!(parker.take_wake());
    });
}
