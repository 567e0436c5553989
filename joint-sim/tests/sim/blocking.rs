//! Functions that block in a simulation: each has a thread of its own, and all take turns.

use joint::{oneshot, park::block_on_timeout};

use crate::prelude::*;

/// Two functions, each of which waits for the other one's answer before it sends its own.
async fn ping_pong(rounds: usize) -> usize {
    let (mut pings, mut pongs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (ping, pinged) = oneshot::channel();
        let (pong, ponged) = oneshot::channel();
        pings.push((ping, ponged));
        pongs.push((pinged, pong));
    }
    let player = spawn_blocking(move || {
        let mut sum = 0;
        for (n, (ping, ponged)) in pings.into_iter().enumerate() {
            ping.send(n).unwrap();
            sum += block_on(ponged).unwrap();
        }
        sum
    });
    let partner = spawn_blocking(move || {
        for (pinged, pong) in pongs {
            let n: usize = block_on(pinged).unwrap();
            pong.send(n + 1).unwrap();
        }
    });
    partner.await;
    player.await
}

#[test]
fn two_functions_wait_for_each_other_by_turns() {
    for seed in 0..50 {
        for faults in [Faults::none(), Faults::all()] {
            let outcome = Builder::new(seed).faults(faults).run(ping_pong(10));
            assert_eq!(outcome.unwrap().output, 55);
        }
    }
}

/// A function is begun before it does anything, and has done all before it ends.
#[test]
fn a_function_has_a_beginning_and_an_end() {
    let seen = |seed| {
        sim::run(seed, async {
            let flag = Arc::new(AtomicBool::new(false));
            let own = flag.clone();
            let call = spawn_blocking(move || own.store(true, Relaxed));
            let mut seen = BTreeSet::new();
            while !call.is_finished() {
                seen.insert(flag.load(Relaxed));
                yield_now().await;
            }
            let aborted = spawn_blocking(move || flag.store(false, Relaxed));
            yield_now().await;
            aborted.abort();
            (seen.contains(&true), aborted.result().await.is_ok())
        })
    };
    let seen: BTreeSet<_> = (0..50).map(seen).collect();
    assert_eq!(seen.len(), 4, "{seen:?}");
}

#[test]
fn many_functions_wait_at_once() {
    sim::run(1, async {
        let (mut senders, mut calls) = (Vec::new(), Vec::new());
        for _ in 0..50 {
            let (sender, receiver) = oneshot::channel::<u32>();
            senders.push(sender);
            calls.push(spawn_blocking(|| block_on(receiver).unwrap()));
        }
        sleep(SECOND).await;
        for (n, sender) in (0..).zip(senders) {
            sender.send(n).unwrap();
        }
        for (n, call) in (0..).zip(calls) {
            assert_eq!(call.await, n);
        }
    });
}

#[test]
fn a_function_keeps_the_virtual_time() {
    let times = sim::run(1, async {
        let start = now();
        let (sender, receiver) = oneshot::channel();
        let times = spawn_blocking(move || {
            block_on(sleep(SECOND));
            let first = now() - start;
            assert_eq!(block_on_timeout(pending::<()>(), SECOND), None);
            let second = now() - start;
            assert_eq!(block_on_timeout(receiver, 5 * SECOND), Some(Ok(3)));
            (first, second, now() - start)
        });
        sleep(4 * SECOND).await;
        sender.send(3).unwrap();
        sleep(SECOND).await;
        times.await
    });
    assert_eq!(times, (SECOND, 2 * SECOND, 4 * SECOND));
}

#[test]
fn what_a_blocking_function_starts_is_simulated() {
    let sum = sim::run(3, async {
        spawn_blocking(|| {
            assert!(sim::is_simulated());
            let inner = spawn_blocking(|| block_on(spawn(async { 1 })));
            let executor = executor(2);
            let task = executor.spawn(async { 2 });
            let sum = block_on(inner) + block_on(task) + executor.block_on(async { 4 });
            let draws = (sim::random(), sim::random());
            assert_ne!(draws.0, draws.1);
            sum
        })
        .await
    });
    assert_eq!(sum, 7);
}

#[test]
fn a_local_future_is_dropped_on_the_thread_of_the_world() {
    let place = Arc::new(Mutex::new(None));
    let own = place.clone();
    let tells = OnDrop(move || *own.lock().unwrap() = Some(thread::current().id()));
    sim::run(1, async {
        let executor = executor(1);
        let starts = executor.spawn(async move {
            joint_executor::spawn_local(async move {
                let _tells = tells;
                pending::<()>().await;
            })
            .detach();
        });
        starts.await;
        spawn_blocking(move || drop(executor)).await;
    });
    assert_eq!(*place.lock().unwrap(), Some(thread::current().id()));
}

#[test]
fn the_functions_of_a_run_that_is_over_end() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let calls: Vec<_> = sim::run(1, async {
        let call = |_| {
            let counts = Counts(dropped.clone());
            spawn_blocking(move || {
                let _counts = counts;
                block_on(pending::<()>());
            })
        };
        let calls = (0..10).map(call).collect();
        sleep(SECOND).await;
        // This one has not begun when the run ends.
        let counts = Counts(dropped.clone());
        spawn_blocking(move || drop(counts)).detach();
        calls
    });
    assert_eq!(dropped.load(Relaxed), 11);
    for call in calls {
        assert!(block_on(call.result()).unwrap_err().is_cancelled());
    }
}

/// Lends its stack to a function that the executor runs.
type Call = fn(&Executor, &(dyn Fn() + Sync));

/// Other code uses the stack of a call of `install`, `join` or `scope`. The innermost of three
/// calls waits for a worker that the outermost one blocks. Each frame ends in order.
#[test]
fn calls_that_lend_their_stack_and_deadlock_end_with_the_run() {
    let calls: [Call; 4] = [
        |executor, f| executor.install(f),
        |executor, f| _ = executor.install(|| joint_executor::join(f, || {})),
        |executor, f| executor.scope(|s| drop(s.spawn(async { f() }))),
        // The task waits by itself.
        |executor, f| {
            executor.scope(|s| {
                let never = executor.spawn(pending::<()>());
                drop(s.spawn(async { (never.await, f()).1 }));
                let begins = executor.spawn(async {});
                drop(s.spawn(async { (begins.await, f()).1 }));
            });
        },
    ];
    for call in calls {
        for on_call_thread in [false, true] {
            let dropped = Arc::new(AtomicUsize::new(0));
            let counts = [(); 3].map(|()| Counts(dropped.clone()));
            let failure = Builder::new(1).run(async move {
                let [outer, inner] = [(); 2].map(|()| executor(1));
                let calls = move || {
                    let [one, two, three] = &counts;
                    call(&outer, &|| {
                        let _borrowed = one;
                        call(&inner, &|| {
                            let _borrowed = two;
                            call(&outer, &|| panic!("{:p} runs", three));
                        });
                    });
                };
                match on_call_thread {
                    true => spawn_blocking(calls).await,
                    false => calls(),
                }
            });
            let failure = failure.unwrap_err();
            assert!(failure.is_deadlock(), "{failure}");
            assert_eq!(dropped.load(Relaxed), 3);
        }
    }
}

/// The host's executor ends with it, and its functions end at their next waits.
#[test]
fn a_killed_function_waits_for_what_its_stack_is_lent_to() {
    let calls: [Call; 2] = [
        |main, f| main.install(f),
        |main, f| main.scope(|s| drop(s.spawn(async { f() }))),
    ];
    for call in calls {
        let ended = Arc::new(AtomicUsize::new(0));
        let own = ended.clone();
        sim::run(1, async move {
            let (main, host) = (Handle::current(), Host::new("host"));
            host.run(move || {
                let (main, own) = (main.clone(), own.clone());
                spawn_blocking(move || {
                    let borrowed = Counts(own.clone());
                    call(&main, &|| {
                        block_on(sleep(2 * SECOND));
                        assert_eq!(borrowed.0.fetch_add(1, Relaxed), 0);
                    });
                    block_on(pending::<()>());
                })
            });
            sleep(SECOND).await;
            host.kill();
            sleep(2 * SECOND).await;
        });
        assert_eq!(ended.load(Relaxed), 2);
    }
}

#[test]
fn a_destructor_that_waits_after_the_end_loses_its_thread_only() {
    let dropped = Arc::new(AtomicUsize::new(0));
    sim::run(1, async {
        let counts = Counts(dropped.clone());
        spawn_blocking(move || {
            let _waits = OnDrop(|| {
                let _counts = &counts;
                block_on(pending::<()>());
            });
            block_on(pending::<()>());
        })
        .detach();
        let counts = Counts(dropped.clone());
        spawn_blocking(move || {
            let _counts = counts;
            block_on(pending::<()>());
        })
        .detach();
        sleep(SECOND).await;
    });
    assert_eq!(dropped.load(Relaxed), 1);
}

#[test]
fn a_function_that_blocks_elsewhere_is_reported() {
    let (sender, receiver) = mpsc::channel::<oneshot::Sender<u32>>();
    let (begin, begun) = oneshot::channel();
    let failure = Builder::new(1)
        .max_call_time(Duration::from_millis(50))
        .trace(true)
        .run(async move {
            let kept = executor(1);
            let waits = spawn_blocking(move || {
                begin.send(()).unwrap();
                let answer = receiver.recv().unwrap();
                // The run is over, but its world is still there.
                let task = spawn(async { 1 });
                drop(task);
                answer.send(sim::random() as u32).unwrap();
                block_on(pending::<()>());
            });
            waits.await;
            drop(kept);
        });
    let failure = failure.unwrap_err();
    assert!(failure.trace().is_none());
    let report = failure.to_string();
    says(&report, "blocked outside of joint's waits for 50ms");
    says(&report, "joint-sim/tests/sim/blocking.rs:");
    block_on(begun).unwrap();
    assert!(!sim::is_simulated());
    let (answer, answered) = oneshot::channel();
    sender.send(answer).unwrap();
    assert!(block_on(answered).is_ok());
}

#[test]
fn stacked_polls_that_wait_for_each_other_are_no_deadlock() {
    // One poll waits, and the other one above it on the stack waits for what the first one does
    // next.
    let program = || async {
        let (first, one) = oneshot::channel();
        let (second, two) = oneshot::channel();
        let (third, three) = oneshot::channel();
        let left = spawn(async move {
            first.send(()).unwrap();
            block_on(two).unwrap();
            third.send(()).unwrap();
        });
        let right = spawn(async move {
            block_on(one).unwrap();
            second.send(()).unwrap();
            block_on(three).unwrap();
        });
        left.await;
        right.await;
    };
    let run = |seed| Builder::new(seed).workers(4).run(program());
    let reports: Vec<_> = (0..50).filter_map(|seed| run(seed).err()).collect();
    assert!(!reports.is_empty());
    for failure in reports {
        assert!(!failure.is_deadlock());
        let report = failure.to_string();
        says(&report, "lies beneath another one");
        says(&report, "use `spawn_blocking`");
    }
    // A limit ends the wait beneath on a real thread, but not here.
    let failure = Builder::new(1).workers(4).run(async {
        let (sender, receiver) = oneshot::channel();
        let left = spawn(async move {
            let limited = block_on_timeout(pending::<()>(), SECOND);
            sender.send(limited).unwrap();
        });
        let right = spawn(async move {
            sleep(SECOND / 2).await;
            block_on(receiver)
        });
        let _ = right.await;
        left.await;
    });
    says(failure.unwrap_err(), "lies beneath another one");
}
