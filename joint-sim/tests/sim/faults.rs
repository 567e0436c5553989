//! The faults of a simulation, and that a correct program bears them.

use std::future::poll_fn;

use joint::{budget, oneshot};

use crate::{
    bugs::{
        Version::{Planted, Repaired},
        wakeups::first_waker,
    },
    prelude::*,
};

/// Runs with these faults and each of so many seeds. Returns the outputs.
fn outputs<F: Future>(faults: Faults, seeds: u64, program: impl Fn() -> F) -> Vec<F::Output> {
    let run = |seed| Builder::new(seed).faults(faults.clone()).run(program());
    (0..seeds).map(|seed| run(seed).unwrap().output).collect()
}

/// Uses most of what can go wrong. It returns 55.
pub(crate) async fn program() -> usize {
    let mut set = JoinSet::new();
    for n in 1..=10 {
        set.spawn(async move {
            let (sender, receiver) = oneshot::channel();
            spawn_detached(async move {
                sleep(n as u32 * SECOND).await;
                yield_now().await;
                let _ = sender.send(n);
            });
            loop {
                let waits = timeout(Duration::from_millis(300), async { yield_now().await });
                if waits.await.is_ok() {
                    return receiver.await.unwrap();
                }
            }
        });
    }
    let mut sum = 0;
    while let Some(n) = set.join_next().await {
        sum += n.unwrap();
    }
    let twice = spawn_blocking(move || block_on(async { spawn(async move { 2 * sum }).await }));
    twice.await / 2
}

#[test]
fn no_fault_happens_that_is_off() {
    let plain = |seed| Builder::new(seed).run(program()).unwrap();
    for seed in 0..20 {
        let off = Builder::new(seed).faults(Faults::all().late_timers(0.0));
        let off = off.faults(Faults::none()).run(program()).unwrap();
        assert_eq!(off.digest, plain(seed).digest);
        assert_eq!(off.elapsed, 10 * SECOND);
    }
}

#[test]
fn a_blocked_wait_is_late_too() {
    let late = outputs(Faults::none().late_timers(1.0), 1, || async {
        let start = now();
        joint::park::block_on_timeout(pending::<()>(), SECOND);
        now() - start
    });
    assert!(late[0] > SECOND);
}

#[test]
fn spurious_polls_do_not_hide_a_deadlock() {
    let faults = Faults::none().spurious_polls(1.0);
    let failure = Builder::new(1).faults(faults).run(async {
        let _others: Vec<_> = (0..3).map(|_| spawn(pending::<()>())).collect();
        pending::<()>().await;
    });
    assert!(failure.unwrap_err().is_deadlock());
}

#[test]
fn wake_ups_overtake_one_another() {
    // Without faults a round robin never changes the order.
    let faults = Faults::none().late_wakeups(0.5);
    let run = Builder::new(1).scheduler(Scheduler::RoundRobin);
    let outcome = run.faults(faults).run(async {
        let (sender, receiver) = mpsc::channel();
        for n in 0..20 {
            let sender = sender.clone();
            spawn_detached(async move { sender.send(n).unwrap() });
        }
        drop(sender);
        sleep(SECOND).await;
        receiver.iter().collect::<Vec<_>>()
    });
    let order = outcome.unwrap().output;
    assert_eq!(order.len(), 20);
    assert!(!order.is_sorted());
}

/// Counts in each poll up to its budget, and ends in the poll with this number. Returns how much
/// each poll has counted, and whether its waker wakes the task.
fn counts(polls: usize) -> impl Future<Output = Vec<(u64, bool)>> {
    let mut all = Vec::new();
    poll_fn(move |cx| {
        let mut count = 0;
        while budget::poll_proceed(cx).is_ready() {
            budget::spend();
            count += 1;
        }
        // That of the fault has no data, and that of a task has.
        all.push((count, !cx.waker().data().is_null()));
        match all.len() == polls {
            true => Poll::Ready(all.clone()),
            false => Poll::Pending,
        }
    })
}

#[test]
fn another_waker_comes_first_and_has_the_same_budget() {
    let faults = Faults::none().other_wakers(1.0);
    let in_main = outputs(faults.clone(), 1, || counts(3));
    assert_eq!(in_main, [[(128, false), (0, true), (128, false)]]);
    let in_task = || async { spawn(sim::may_cancel(counts(3))).await.unwrap() };
    assert_eq!(outputs(faults.clone(), 1, in_task), in_main);
    let in_task = || async { spawn(sim::may_panic(counts(3))).await };
    assert_eq!(outputs(faults, 1, in_task), in_main);
    let usual = [[(128, true), (128, true), (128, true)]];
    assert_eq!(outputs(Faults::none(), 1, || counts(3)), usual);
    // A small budget.
    let early = outputs(Faults::none().extra_yields(1.0), 20, || counts(1));
    assert!(early.iter().all(|polls| polls[0].0 < 8), "{early:?}");
    let simulated = |program: Version| move || first_waker::<Joint>(program);
    let off = Check::new().faults(Faults::all().other_wakers(0.0));
    off.seeds(500).find(simulated(Planted)).unwrap();
    let check = Check::new();
    let found = check.find(simulated(Planted)).unwrap_err();
    let report = found.to_string();
    says(&report, "fault: main polls first with another waker");
    assert_eq!(found.shrunk_decisions(), Some(1), "{report}");
    check.seeds(500).find(simulated(Repaired)).unwrap();
}

#[test]
fn a_future_is_dropped_at_each_of_its_suspension_points() {
    let places = outputs(Faults::none().cancellations(0.2), 300, || async {
        let reached = Rc::new(Cell::new(0));
        let counts = reached.clone();
        let work = async move {
            for n in 0..5 {
                counts.set(n);
                match n % 2 {
                    0 => yield_now().await,
                    _ => sleep(SECOND).await,
                }
            }
            counts.set(5);
        };
        let ended = sim::may_cancel(work).await;
        assert_eq!(Rc::strong_count(&reached), 1, "it was dropped");
        assert_eq!(ended.is_some(), reached.get() == 5);
        reached.get()
    });
    for place in 0..=5 {
        assert!(places.contains(&place), "{place}");
    }
}

#[test]
fn a_failure_tells_of_the_last_faults() {
    let faults = Faults::none().late_wakeups(1.0).spurious_polls(1.0);
    let failure = Builder::new(1).faults(faults).run(async {
        spawn(yield_now()).await;
        pending::<()>().await;
    });
    let report = failure.unwrap_err().to_string();
    says(&report, "fault: the wake-up of task 1 is late");
    says(&report, "fault: task 1 will be polled without reason");
}

/// The text of a run in which a host sends one datagram to the main future's.
fn sends_one(seed: u64, faults: Faults) -> String {
    let run = Builder::new(seed).faults(faults).trace(true);
    let outcome = run.run(async {
        let socket = net::UdpSocket::bind("0.0.0.0:1").await.unwrap();
        Host::new("a").run(|| async {
            let socket = net::UdpSocket::bind("0.0.0.0:7").await.unwrap();
            socket.send_to(b"hello", "main:1").await.unwrap();
            pending::<()>().await;
        });
        while timeout(300 * SECOND, socket.recv(&mut [0; 5]))
            .await
            .is_ok()
        {}
    });
    let trace = outcome.unwrap().trace.unwrap();
    let lines = trace.events().iter().map(|event| format!("{event}\n"));
    lines.collect()
}

#[test]
fn a_datagram_lost_late_or_doubled_by_a_fault_has_a_line() {
    let told = "fault: what `a:7` sends to `main:1` ";
    let line = "step 2, 0ns: 5 bytes from a:7 to main:1 were lost: b\"hello\"\n";
    let lost = format!("{told}is lost\n{line}");
    // It is sent at the beginning, so it arrives at the time that the line has as its delay.
    let arrives = |text: &str, how: &str| {
        let (_, rest) = text.split_once(&format!("{told}{how} after "))?;
        let (delay, _) = rest.split_once('\n')?;
        says(
            text,
            &format!(", {delay}: main:1 received 5 bytes from a:7"),
        );
        Some(())
    };
    let (mut losses, mut delays) = (0, 0);
    for seed in 0..20 {
        let text = sends_one(seed, Faults::none().loss(1.0));
        losses += usize::from(text.contains(&lost));
        delays += usize::from(arrives(&text, "arrives only").is_some());
        let text = sends_one(seed, Faults::none().duplication(1.0));
        arrives(&text, "arrives again").unwrap();
        let text = sends_one(seed, Faults::none().clocks(1.0));
        assert!(!text.contains(told), "{text}");
    }
    assert!(losses > 0 && losses + delays == 20, "{losses} {delays}");
}
