//! Hosts: where tasks run, and what starts, crashes and restarts leave behind.

use crate::{common::panics, prelude::*};

fn here() -> String {
    current_host().name().to_owned()
}

#[test]
fn whatever_a_host_spawns_stays_there() {
    each_seed(20, || async {
        for name in ["a", "b"] {
            Host::new(name).run(move || async move {
                assert_eq!(here(), name);
                spawn(async move {
                    assert_eq!(spawn(async { here() }).await, name);
                })
                .await;
                assert_eq!(spawn_local(async { here() }).await, name);
                assert_eq!(spawn_blocking(here).await, name);
                let spawns = || block_on(spawn(async { here() }));
                assert_eq!(spawn_blocking(spawns).await, name);
                sleep(SECOND).await;
                let executor = executor(2);
                assert_eq!(executor.spawn(async { here() }).await, name);
                assert_eq!(here(), name);
            });
        }
        assert_eq!(here(), "main");
        let ends = ["a", "b"].map(|name| Host::find(name).unwrap().ended());
        for end in ends {
            assert_eq!(end.await, HostEnd::Returned);
        }
        assert_eq!(spawn(async { here() }).await, "main");
    });
}

#[test]
fn a_killed_host_drops_its_tasks_where_they_stand() {
    let dropped = Rc::new(Cell::new(0));
    sim::run(1, async {
        let host = Host::new("a");
        let counts = dropped.clone();
        host.run(move || {
            let counts = counts.clone();
            async move {
                let [one, two] = [Dropped(counts.clone()), Dropped(counts)];
                let _waits = spawn_local(async move {
                    let _two = two;
                    pending::<()>().await;
                });
                let _one = one;
                pending::<()>().await;
            }
        });
        for n in 1..=10 {
            sleep(SECOND).await;
            assert!(host.is_running());
            assert_eq!(dropped.get(), 2 * (n - 1));
            host.kill();
            assert!(!host.is_running());
            assert_eq!(dropped.get(), 2 * n);
            assert_eq!(host.ended().await, HostEnd::Killed);
            host.restart();
        }
    });
    // The last start has made no future yet.
    assert_eq!(dropped.get(), 20);
}

#[test]
fn a_host_ends_with_its_main_future() {
    sim::run(1, async {
        let host = Host::new("a");
        let left = Rc::new(Cell::new(0));
        let counts = Dropped(left.clone());
        run_once(&host, || async move {
            spawn_local(async move {
                let _counts = counts;
                pending::<()>().await;
            })
            .detach();
            sleep(SECOND).await;
        });
        let start = now();
        assert_eq!(host.ended().await, HostEnd::Returned);
        assert_eq!((now() - start, left.get()), (SECOND, 1));
        assert!(!host.is_running());
    });
}

#[test]
fn a_host_may_kill_and_restart_itself() {
    for seed in 0..20 {
        let starts = sim::run(seed, async {
            let host = Host::new("a");
            let starts = Rc::new(Cell::new(0));
            let counts = starts.clone();
            host.run(move || {
                let counts = counts.clone();
                async move {
                    counts.set(counts.get() + 1);
                    match counts.get() {
                        5 => current_host().kill(),
                        _ => current_host().restart(),
                    }
                    pending::<()>().await;
                }
            });
            sleep(SECOND).await;
            assert_eq!(host.ended().await, HostEnd::Killed);
            starts.get()
        });
        assert_eq!(starts, 5);
    }
}

#[test]
fn a_panic_of_a_hosts_main_future_fails_the_run_or_is_its_end() {
    let start = || {
        let host = Host::new("a");
        host.run(|| async {
            yield_now().await;
            panic!("of the host");
        });
        host
    };
    let failure = Builder::new(1).run(async {
        start();
        sleep(SECOND).await;
    });
    let failure = failure.unwrap_err();
    let place = "the main future of host `a` panicked at joint-sim/tests/sim/hosts.rs:";
    says(&failure, place);
    let payload = failure.into_panic().unwrap();
    assert_eq!(*payload.downcast::<&str>().unwrap(), "of the host");
    sim::run(1, async {
        let host = start();
        let end = HostEnd::Panicked("of the host".to_owned());
        assert_eq!(host.ended().await, end);
        let (ended, again) = (host.ended(), host.ended());
        host.restart();
        drop(again);
        assert_eq!(ended.await, end);
    });
}

#[test]
fn misuse_is_a_panic_that_says_so() {
    sim::run(1, async {
        let host = Host::new("a");
        let again = panic_text(|| Host::new("a"));
        says(again, "there is a host named `a` already");
        panics(|| host.restart());
        host.run(pending::<()>);
        let twice = panic_text(|| host.run(pending::<()>));
        says(twice, "the host `a` runs already");
        panics(|| current_host().kill());
    });
    panics(|| Host::new("a"));
}

#[test]
fn a_blocked_function_ends_with_its_host() {
    each_seed(10, || async {
        let host = Host::new("a");
        let (counted, left) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (counts, leaves) = (counted.clone(), Counts(left.clone()));
        run_once(&host, || {
            spawn_blocking(move || {
                let _leaves = leaves;
                loop {
                    block_on(sleep(SECOND));
                    counts.fetch_add(1, Relaxed);
                }
            })
        });
        sleep(3 * SECOND + SECOND / 2).await;
        host.kill();
        sleep(10 * SECOND).await;
        assert_eq!((counted.load(Relaxed), left.load(Relaxed)), (3, 1));
        // Its thread may run another one now.
        let start = now();
        spawn_blocking(|| block_on(sleep(SECOND))).await;
        assert_eq!(now() - start, SECOND);
    });
}

#[test]
fn a_host_is_killed_while_a_poll_of_it_is_blocked() {
    let outcome = Builder::new(1).run(async {
        let host = Host::new("a");
        host.run(|| async {
            block_on(sleep(10 * SECOND));
            panic!("it was killed");
        });
        sleep(SECOND).await;
        host.kill();
        assert!(!host.is_running());
        host.restart();
        sleep(SECOND).await;
        host.kill();
        sleep(60 * SECOND).await;
    });
    outcome.unwrap();
}
