//! `join` and `join_async`: what runs, where panics go, and what is left behind, through the public
//! API.

use joint::host::{Parked, Wait};

use crate::prelude::*;

/// Each test of plain work runs with so many workers.
const WORKERS: [usize; 3] = [1, 2, 4];

pub(crate) fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn recursive_joins_on_any_number_of_workers() {
    let n = if cfg!(miri) { 8 } else { 24 };
    for workers in WORKERS {
        let fib = executor(workers).install(|| fib(n));
        assert_eq!(fib, [21, 46_368][usize::from(n > 8)], "{workers}");
    }
}

#[test]
fn install_inside_is_a_plain_call() {
    let executor = executor(1);
    let (outer, inner) = executor.install(|| {
        let inner = executor.install(|| thread::current().id());
        (thread::current().id(), inner)
    });
    assert_eq!(outer, inner);
}

/// The owner of a taken side helps the taker: each of two workers meets the other twice.
#[test]
fn a_worker_that_waits_takes_part_of_what_it_waits_for() {
    let executor = executor(2);
    let (outer, inner) = (Barrier::new(2), Barrier::new(2));
    executor.install(|| {
        join(
            || {
                outer.wait();
            },
            || {
                outer.wait();
                join(|| inner.wait(), || inner.wait());
            },
        )
    });
}

/// Calls `fork` under a lock, on one of three workers, with two closures of which the second ends
/// when a fork of another call has begun. That fork is offered once the second worker is in
/// the second closure and the third worker in the other call, so only the worker that waits for
/// `fork` is left, unless `fork` runs elsewhere. Returns the threads of `fork` and of that other
/// fork, which calls `with` with the lock.
fn fork_under_a_lock(
    fork: impl Fn(&(dyn Fn() + Sync), &(dyn Fn() + Sync)) + Sync,
    with: impl Fn(&Mutex<()>) + Sync,
) -> (ThreadId, ThreadId) {
    let (part, other) = (AtomicBool::new(false), AtomicBool::new(false));
    let lock = Mutex::new(());
    executor(3).install(|| {
        join(
            || {
                let held = lock.lock().unwrap();
                fork(&|| wait_until(|| part.load(Relaxed)), &|| {
                    part.store(true, Relaxed);
                    wait_until(|| other.load(Relaxed));
                });
                drop(held);
                thread::current().id()
            },
            || {
                wait_until(|| part.load(Relaxed));
                let other_fork = || {
                    other.store(true, Relaxed);
                    with(&lock);
                    thread::current().id()
                };
                join(|| wait_until(|| other.load(Relaxed)), other_fork).1
            },
        )
    })
}

/// The documentation of `join` says so. With `lock`, the worker would wait for itself.
#[test]
fn a_waiting_worker_takes_a_strangers_fork_under_its_lock() {
    let fork = |a: &(dyn Fn() + Sync), b: &(dyn Fn() + Sync)| {
        join(a, b);
    };
    let (waiter, other) = fork_under_a_lock(fork, |lock| assert!(lock.try_lock().is_err()));
    assert_eq!(waiter, other);
}

/// The documentation of `join` recommends this: the wait for another executor takes nothing over.
#[test]
fn a_join_on_another_executor_takes_no_strangers_fork() {
    let parts = executor(2);
    let fork = |a: &(dyn Fn() + Sync), b: &(dyn Fn() + Sync)| {
        parts.install(|| join(a, b));
    };
    let (waiter, other) = fork_under_a_lock(fork, |lock| drop(lock.lock().unwrap()));
    assert_ne!(waiter, other);
}

#[test]
fn a_panic_of_a_leaves_b_alone() {
    let executor = executor(1);
    let ran = AtomicBool::new(false);
    let dropped = Arc::new(());
    let held = dropped.clone();
    let b = || {
        let _held = held;
        ran.store(true, Relaxed);
    };
    let payload = panic_text(|| executor.install(|| join(|| panic_any("a"), b)));
    assert_eq!(payload, "a");
    assert!(!ran.load(Relaxed));
    assert_eq!(Arc::strong_count(&dropped), 1);
}

#[test]
fn a_panic_of_b_drops_the_result_of_a() {
    let kept = Arc::new(());
    let panics = || executor(1).install(|| join(|| kept.clone(), || panic_any("b")));
    assert_eq!(panic_text(panics), "b");
    assert_eq!(Arc::strong_count(&kept), 1);
}

/// `b` borrows from the frame.
#[test]
fn a_panic_of_a_waits_for_a_b_that_was_taken() {
    let taken = AtomicBool::new(false);
    let mut over = false;
    let a = || {
        wait_until(|| taken.load(Relaxed));
        panic_any("a")
    };
    let b = || {
        taken.store(true, Relaxed);
        (0..100).for_each(|_| thread::yield_now());
        over = true;
    };
    assert_eq!(panic_text(|| executor(2).install(|| join(a, b))), "a");
    assert!(over);
}

#[test]
fn a_panic_of_a_b_that_was_taken_is_resumed_unless_a_panics_too() {
    let executor = executor(2);
    let meet = Barrier::new(2);
    let panics = |text: &'static str| {
        meet.wait();
        panic_any(text)
    };
    let one = || executor.install(|| join(|| meet.wait(), || panics("b")));
    assert_eq!(panic_text(one), "b");
    assert_eq!(executor.install(|| fib(5)), 5);
    let both = || executor.install(|| join(|| panics("a"), || panics("b")));
    assert_eq!(panic_text(both), "a");
}

/// With nobody idle nothing is spawned.
#[test]
fn async_join_on_a_lone_worker_forks_nothing() {
    let executor = executor(1);
    let both = executor.spawn(async {
        let side = || async {
            yield_now().await;
            thread::current().id()
        };
        join_async(side(), side()).await
    });
    let (a, b) = block_on(both);
    assert_eq!(a, b);
    assert_eq!(executor.metrics().spawned, 1);
}

/// The other worker has nothing to run, and is idle as soon as it has found that out.
#[test]
fn async_join_forks_if_a_worker_is_idle() {
    let executor = executor(2);
    let mut tasks = 0;
    wait_until(|| {
        block_on(executor.spawn(join_async(async {}, async {})));
        tasks += 1;
        executor.metrics().spawned > tasks
    });
}

#[test]
fn async_sides_take_turns_to_be_polled_first_until_ready() {
    let log = Arc::new(Mutex::new(String::new()));
    let side = |name: char, polls: usize| {
        let (mut left, log) = (polls, log.clone());
        poll_fn(move |_| {
            log.lock().unwrap().push(name);
            left -= 1;
            if left == 0 {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
    };
    let mut both = pin!(join_async(side('a', 2), side('b', 4)));
    let mut cx = Context::from_waker(Waker::noop());
    while both.as_mut().poll(&mut cx).is_pending() {}
    assert_eq!(*log.lock().unwrap(), "abbabb");
}

#[test]
fn async_dropping_a_join_cancels_both_sides() {
    let executor = executor(2);
    let alive = Arc::new(());
    let (started, has_started) = mpsc::channel();
    let side = || {
        let (held, started) = (alive.clone(), started.clone());
        async move {
            started.send(()).unwrap();
            hold(held).await;
        }
    };
    let task = executor.spawn(join_async(side(), side()));
    for _ in 0..2 {
        has_started.recv().unwrap();
    }
    block_on(task.cancel());
    drop(executor);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
fn async_a_panic_of_either_side_reaches_the_caller() {
    for workers in WORKERS {
        let executor = executor(workers);
        let of_a = executor.spawn(join_async(async { panic_any("a") }, pending::<()>()));
        assert_eq!(panic_text(|| block_on(of_a)), "a");
        let of_b = executor.spawn(join_async(pending::<()>(), async { panic_any("b") }));
        assert_eq!(panic_text(|| block_on(of_b)), "b");
    }
}

/// Ways in which a wait panics.
#[cfg(not(miri))]
const PANICS: [fn(); 2] = [
    || _ = host::update(|host| host.wait = Some(|_, _| panic!("this thread must not wait"))),
    || _ = host::update(|host| host.attend = Some(|_| panic!("this thread serves nobody"))),
];

/// The one worker is in a poll that does not end.
#[cfg(not(miri))]
fn busy() -> Executor {
    let executor = executor(1);
    mem::forget(Busy::spawn(executor.task()));
    executor
}

#[cfg(not(miri))]
#[test]
fn a_panicking_wait_ends_the_program_if_the_stack_is_lent() {
    let doors: [fn(Executor); 4] = [
        |executor| executor.install(|| {}),
        |executor| _ = executor.enter(|| join(|| {}, || {})),
        |executor| executor.scope(|s| drop(s.spawn(async {}))),
        |executor| {
            executor.scope::<_, ()>(|s| {
                s.spawn(async {});
                panic!("the scope's closure")
            });
        },
    ];
    for (door, panics) in doors
        .iter()
        .flat_map(|door| PANICS.map(|panics| (door, panics)))
    {
        ends_the_program("the program is aborted", || {
            let executor = busy();
            panics();
            door(executor);
        });
    }
    // The thief never ends.
    for panics in PANICS {
        ends_the_program("the program is aborted", || {
            executor(2).install(|| {
                let taken = AtomicBool::new(false);
                let a = || {
                    wait_until(|| taken.load(Relaxed));
                    host::update(|host| host.attend = None);
                    panics();
                };
                let b = || {
                    taken.store(true, Relaxed);
                    thread::park();
                };
                join(a, b);
            });
        });
    }
}

/// The worker is busy until the function has been called three times.
#[test]
fn a_wait_that_returns_too_early_leaves_nothing_lent() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    fn called() {
        CALLS.fetch_add(1, Relaxed);
        thread::yield_now();
    }
    let ways: [Wait; 3] = [
        |_, is_due| (called(), is_due(), Parked::TimedOut).2,
        |_, _| (called(), Parked::TimedOut).1,
        |_, _| (called(), Parked::Due { slept: false }).1,
    ];
    for wait in ways {
        let executor = executor(1);
        ends(move || {
            host::update(|host| host.wait = Some(wait));
            let text = String::from("borrowed");
            let busy = || {
                CALLS.store(0, Relaxed);
                executor.spawn_detached(async { wait_until(|| CALLS.load(Relaxed) >= 3) });
            };
            busy();
            assert_eq!(executor.install(|| text.len()), 8);
            busy();
            executor.scope(|s| drop(s.spawn(async { assert_eq!(text.len(), 8) })));
        });
    }
}

/// Whether another worker takes `b` is up to chance.
#[cfg(not(miri))]
#[test]
fn a_panic_in_the_drop_of_b_is_caught_if_a_panics() {
    let (alone, pair) = (executor(1), executor(2));
    for (is_taken, both) in [(false, false), (true, false), (true, true)] {
        let text = panic_text(|| {
            let b_runs = AtomicBool::new(false);
            let unused = Panics;
            let a = || -> () {
                wait_until(|| !is_taken || b_runs.load(Relaxed));
                panic!("a")
            };
            let b = || {
                let unused = unused;
                b_runs.store(true, Relaxed);
                if both {
                    panic_any(unused);
                }
                unused
            };
            [&alone, &pair][usize::from(is_taken)].install(|| join(a, b));
        });
        assert_eq!(text, "a");
    }
}
