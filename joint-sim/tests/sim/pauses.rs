//! Pauses of hosts, by the program and by faults.

use std::time::Instant;

use joint::oneshot;
use joint_sim::net::{TcpListener, TcpStream, UdpSocket};

use crate::prelude::*;

/// What happened, and in which second.
#[derive(Clone)]
struct Log {
    start: Instant,
    all: Rc<RefCell<Vec<(u32, u64)>>>,
}

impl Log {
    fn new() -> Self {
        Self {
            start: now(),
            all: Rc::default(),
        }
    }

    fn add(&self, what: u32) {
        let at = (now() - self.start).as_secs();
        self.all.borrow_mut().push((what, at));
    }

    fn take(&self) -> Vec<(u32, u64)> {
        self.all.take()
    }
}

/// Starts a host that runs this once with a log.
fn host<F: Future<Output = ()> + 'static>(log: &Log, program: fn(Log) -> F) -> Host {
    let host = Host::new("a");
    let log = log.clone();
    host.run(move || program(log.clone()));
    host
}

#[test]
fn a_paused_host_runs_nothing_and_the_time_of_others_goes_on() {
    each_seed(50, || async {
        let log = Log::new();
        let a = host(&log, |log| async move {
            for round in 1.. {
                sleep(SECOND).await;
                log.add(round);
                yield_now().await;
            }
        });
        sleep(2 * SECOND + SECOND / 2).await;
        assert_eq!(log.take(), [(1, 1), (2, 2)]);
        a.pause();
        assert!(a.is_paused() && a.is_running());
        sleep(10 * SECOND).await;
        assert_eq!(log.take(), []);
        a.resume();
        assert!(!a.is_paused());
        sleep(2 * SECOND + SECOND / 2).await;
        // The timer of the third round was due in the pause.
        assert_eq!(log.take(), [(3, 12), (4, 13), (5, 14)]);
    });
}

#[test]
fn what_arrives_for_a_paused_host_is_kept_in_its_order() {
    let run = Builder::new(1).scheduler(Scheduler::RoundRobin);
    let outcome = run.run(async {
        let log = Log::new();
        let (first, one) = oneshot::channel();
        let (second, other) = oneshot::channel();
        let (a, own) = (Host::new("a"), log.clone());
        run_once(&a, || async move {
            for wait in [one, other] {
                let log = own.clone();
                spawn_local(async move { log.add(wait.await.unwrap()) }).detach();
            }
            let socket = UdpSocket::bind("0.0.0.0:1").await.unwrap();
            loop {
                let mut number = [0];
                socket.recv(&mut number).await.unwrap();
                own.add(number[0].into());
            }
        });
        let (b, own) = (Host::new("b"), log.clone());
        run_once(&b, || async move {
            let listener = TcpListener::bind("0.0.0.0:2").await.unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            let mut byte = [0];
            stream.read_exact(&mut byte).await.unwrap();
            own.add(byte[0].into());
            pending::<()>().await;
        });
        sleep(SECOND).await;
        a.pause();
        b.pause();
        second.send(1).unwrap();
        first.send(2).unwrap();
        sleep(SECOND).await;
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        for number in [3, 4] {
            socket.send_to(&[number], "a:1").await.unwrap();
            sleep(SECOND).await;
        }
        // The machine accepts it.
        let stream = TcpStream::connect("b:2").await.unwrap();
        stream.write_all(&[5]).await.unwrap();
        sleep(SECOND).await;
        assert_eq!(log.take(), []);
        a.resume();
        b.resume();
        sleep(SECOND).await;
        log.take()
    });
    let log = outcome.unwrap().output;
    assert_eq!(log, [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]);
}

#[test]
fn pausing_and_resuming_twice_is_as_once() {
    sim::run(1, async {
        let log = Log::new();
        let a = Host::new("a");
        // It does not run yet.
        a.pause();
        assert!(!a.is_paused());
        a.resume();
        let own = log.clone();
        run_once(&a, || async move {
            sleep(SECOND).await;
            own.add(1);
        });
        a.pause();
        a.pause();
        sleep(9 * SECOND).await;
        a.resume();
        a.resume();
        let _ = a.ended().await;
        // It was paused before its first poll.
        assert_eq!(log.take(), [(1, 10)]);
        a.pause();
        assert!(!a.is_paused());
    });
}

/// Starts a host with a call that has not begun, a task that is ready, and one that waits.
fn busy_host(drops: &Rc<Cell<usize>>) -> Host {
    let host = Host::new("a");
    let drops = drops.clone();
    host.run(move || {
        let [one, two] = [Dropped(drops.clone()), Dropped(drops.clone())];
        async move {
            current_host().pause();
            let _call = spawn_blocking(|| panic!("it begins"));
            let _waits = spawn_local(async move {
                let _one = one;
                panic!("it is polled");
            });
            let _two = two;
            sleep(SECOND).await;
            panic!("it goes on");
        }
    });
    host
}

#[test]
fn a_paused_host_can_be_killed_and_is_not_paused_after_that() {
    for kill in [Host::kill, Host::kill_program, Host::cut_power] {
        each_seed(20, || async {
            let drops = Rc::new(Cell::new(0));
            let host = busy_host(&drops);
            sleep(2 * SECOND).await;
            assert!(host.is_paused());
            kill(&host);
            assert_eq!(host.ended().await, HostEnd::Killed);
            assert!(!host.is_paused());
            assert_eq!(drops.get(), 2);
            // The next start runs, and pauses itself again.
            for starts in 2..5 {
                host.restart();
                assert!(!host.is_paused());
                sleep(2 * SECOND).await;
                assert!(host.is_paused());
                assert_eq!(drops.get(), 2 * (starts - 1));
            }
        });
    }
}

#[test]
fn waits_that_block_are_paused_too() {
    each_seed(20, || async {
        let log = Log::new();
        let a = host(&log, |log| async move {
            block_on(sleep(SECOND));
            log.add(1);
            park::block_on_timeout(pending::<()>(), SECOND);
            log.add(2);
            spawn_blocking(|| park::block_on_timeout(pending::<()>(), SECOND)).await;
            log.add(3);
            let inner = executor(1);
            spawn_blocking(move || block_on(inner.spawn(sleep(SECOND)))).await;
            log.add(4);
        });
        for second in 1..=4 {
            sleep(SECOND / 2).await;
            a.pause();
            sleep(9 * SECOND + SECOND / 2).await;
            a.resume();
            sleep(SECOND / 1000).await;
            assert_eq!(log.all.borrow().len(), second);
        }
    });
}

#[test]
fn the_main_host_can_be_paused_and_others_resume_it() {
    sim::run(1, async {
        let start = now();
        let a = Host::new("a");
        a.run(|| async {
            sleep(5 * SECOND).await;
            Host::find("main").unwrap().resume();
            pending::<()>().await;
        });
        current_host().pause();
        yield_now().await;
        assert_eq!(now() - start, 5 * SECOND);
    });
}

#[test]
fn a_deadlock_names_the_hosts_that_are_paused() {
    let failure = Builder::new(1).run(async {
        let log = Log::new();
        let a = host(&log, |_| async {
            let task = spawn_local(async {
                sleep(SECOND).await;
                yield_now().await;
            });
            current_host().pause();
            task.await;
        });
        let _ = a.ended().await;
    });
    let failure = failure.unwrap_err();
    assert!(failure.is_deadlock());
    let report = failure.to_string();
    says(&report, "\n  the host `a` is paused\n");
    says(&report, ": host `a` paused\n");
}

#[test]
fn the_program_ends_a_pause_of_a_fault_or_makes_it_its_own() {
    let faults = Faults::none().pauses(1.0).longest_delay(SECOND);
    for seed in 0..20 {
        let run = Builder::new(seed).faults(faults.clone()).run(async {
            let log = Log::new();
            let a = host(&log, |log| async move {
                loop {
                    log.add(1);
                    sleep(SECOND / 100).await;
                }
            });
            sleep(10 * SECOND).await;
            assert!(!log.take().is_empty());
            // The fault's own end of the pause must not end it.
            a.resume();
            assert!(!a.is_paused());
            a.pause();
            sleep(100 * SECOND).await;
            assert!(a.is_paused() && log.take().is_empty());
            a.resume();
            sleep(10 * SECOND).await;
            assert!(!log.take().is_empty());
        });
        run.unwrap();
    }
}

#[test]
fn a_pause_of_a_fault_is_in_the_trace_and_in_the_plan() {
    let faults = Faults::none().pauses(1.0);
    let run = Builder::new(1).faults(faults.clone()).trace(true);
    let trace = run.run(yield_now()).unwrap().trace.unwrap().to_string();
    for line in [
        "step 1, 0ns: fault: the host of main pauses",
        "step 1, 0ns: host `main` paused",
        ": host `main` goes on after a pause",
    ] {
        assert!(trace.contains(line), "{line}: {trace}");
    }
    let found = Check::new().faults(faults).find(|| async {
        let start = now();
        yield_now().await;
        assert!(now() == start, "time has passed");
    });
    let found = found.unwrap_err();
    // Of all decisions only the pause is left.
    assert_eq!(found.shrunk_decisions(), Some(1), "{found}");
    assert!(found.shrunk_replay().unwrap().contains(":d0="), "{found}");
    // A replay of another program is no success.
    let other = Check::new().replay(found.shrunk_replay().unwrap());
    let other = crate::found(&other, || async {});
    says(
        other,
        "no failure, but not the run that failed: it differs from step 1 on",
    );
    remove_files(&found);
}
