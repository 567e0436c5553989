//! The programs of Oxide's RFD 609: a future is given what others wait for, and is not polled. The
//! simulation names the future, and finds nothing in the cured program.

use async_channel::Sender;
use futures_util::{
    StreamExt,
    future::{Either, select},
    stream::{self, FuturesUnordered},
};
use joint::JoinHandle;
use joint_executor::oneshot;

use crate::{
    bugs::lock::{Guard, Lock},
    prelude::*,
};

/// Takes the lock, and keeps it for a moment.
async fn use_lock(lock: Lock) {
    let _guard = waiting_for("the lock", lock.lock()).await;
    sleep(MILLI).await;
}

/// A select by reference keeps the branch that has lost, and the handler of the other one needs the
/// same lock. It is free when this returns.
async fn selecting_request(version: Version) -> JoinHandle<()> {
    let lock = Lock::new(Version::Repaired);
    let held = lock.lock().await;
    let request = TaskBuilder::new().name("request");
    let request = request.spawn(selects(version, lock));
    sleep(SECOND).await;
    drop(held);
    request
}

async fn selects(version: Version, lock: Lock) {
    let mut first = Box::pin(use_lock(lock.clone()));
    if let Either::Right(_) = select(&mut first, pin!(sleep(MILLI))).await {
        let lost = (version == Version::Planted).then_some(first);
        use_lock(lock).await;
        if let Some(lost) = lost {
            lost.await;
        }
    }
}

async fn select_by_reference(version: Version) {
    selecting_request(version).await.await;
}

/// The same, but nobody waits for the request, so the run ends well although it stands still.
async fn select_that_nobody_awaits(version: Version) {
    selecting_request(version).await.detach();
    sleep(SECOND).await;
}

/// The body of a loop over futures of one task needs the lock that one of them is waiting for.
async fn futures_unordered(version: Version) {
    let lock = Lock::new(Version::Repaired);
    let request = TaskBuilder::new().name("request");
    let request = request.spawn(async move {
        match version {
            Version::Planted => {
                let futures = [(); 2].map(|()| use_lock(lock.clone()));
                let mut futures = FuturesUnordered::from_iter(futures);
                while futures.next().await.is_some() {
                    use_lock(lock.clone()).await;
                }
            }
            Version::Repaired => {
                let mut tasks = JoinSet::new();
                for _ in 0..2 {
                    tasks.spawn(use_lock(lock.clone()));
                }
                while tasks.join_next().await.is_some() {
                    use_lock(lock.clone()).await;
                }
            }
        }
    });
    request.await;
}

/// The same, with the futures of a stream that is buffered.
async fn buffered_stream(version: Version) {
    async fn each(lock: Lock, futures: impl Iterator<Item = impl Future<Output = ()>>) {
        let mut done = pin!(stream::iter(futures).buffered(2));
        while done.next().await.is_some() {
            use_lock(lock.clone()).await;
        }
    }
    let lock = Lock::new(Version::Repaired);
    let request = TaskBuilder::new().name("request").spawn(async move {
        let own = lock.clone();
        let futures = (0..2).map(|_| use_lock(lock.clone()));
        match version {
            Version::Planted => each(own, futures).await,
            Version::Repaired => each(own, futures.map(spawn)).await,
        }
    });
    request.await;
}

/// Waits for room in a channel, and sends the room itself, which the receiver gives back.
async fn send(room: Lock, sender: Sender<Guard>) {
    let room = waiting_for("room in the channel", room.lock()).await;
    sender.send(room).await.unwrap();
}

/// A send into a full channel is kept, and the task sends again. The room that the receiver makes
/// is that of the first send.
async fn send_that_is_kept(version: Version) {
    let room = Lock::new(Version::Repaired);
    let (sender, receiver) = async_channel::unbounded();
    let request = TaskBuilder::new().name("request").spawn(async move {
        send(room.clone(), sender.clone()).await;
        let first = send(room.clone(), sender.clone());
        let mut first = match version {
            Version::Planted => Either::Left(Box::pin(first)),
            Version::Repaired => Either::Right(spawn(first)),
        };
        if let Either::Right(_) = select(&mut first, pin!(sleep(MILLI))).await {
            send(room, sender).await;
            first.await;
        }
    });
    sleep(SECOND).await;
    for _ in 0..3 {
        drop(receiver.recv().await);
    }
    request.await;
}

/// Runs the planted program with many seeds. Each run must fail, and one future must be named, by
/// what it waits for and when that came. The repaired program must pass.
fn is_found<F: Future<Output = ()>>(program: fn(Version) -> F, what: &str, woken: Duration) {
    let schedulers = [
        Scheduler::Random,
        Scheduler::RoundRobin,
        Scheduler::Pct { depth: 3 },
    ];
    let runs = schedulers.into_iter().flat_map(|scheduler| {
        (0..5).map(move |seed| Builder::new(seed).scheduler(scheduler.clone()))
    });
    for run in runs {
        let failure = run.trace(true).run(program(Version::Planted)).unwrap_err();
        assert!(failure.is_deadlock(), "{failure}");
        let [snoozing] = failure.snoozing() else {
            panic!("one future snoozes: {failure}");
        };
        assert_eq!((snoozing.what, snoozing.woken), (what, woken), "{failure}");
        assert!(snoozing.polls > 0);
        assert!(snoozing.place.file().ends_with("snoozing.rs"));
        let line = format!("\n  {snoozing}\n");
        assert!(line.starts_with("\n  the wait of task 1 \"request\" for "));
        assert_eq!(failure.to_string().matches(&line).count(), 1, "{failure}");
        let place = snoozing.place;
        let woken = format!("the wait of task 1 at {place} was woken by ");
        let mut events = failure.trace().unwrap().events().iter().rev();
        let last = events.find(|event| event.to_string().contains(&woken));
        let last = last.expect("the trace has the wake-up");
        assert_eq!((last.step(), last.at()), (snoozing.step, snoozing.woken));
    }
    check(|| program(Version::Repaired));
}

#[test]
fn a_future_that_is_kept_and_not_polled_snoozes() {
    is_found(select_by_reference, "the lock", SECOND);
    is_found(futures_unordered, "the lock", MILLI);
    is_found(buffered_stream, "the lock", MILLI);
    is_found(send_that_is_kept, "room in the channel", SECOND);
}

#[test]
fn a_check_that_denies_snoozing_fails_a_run_that_ends_well() {
    check(|| select_that_nobody_awaits(Version::Planted));
    let denies = Check::new().deny_snoozing(true);
    let planted = || select_that_nobody_awaits(Version::Planted);
    let found = denies.find(planted).unwrap_err();
    let [snoozing] = found.failure().snoozing() else {
        panic!("one future snoozes: {found}");
    };
    assert_eq!(snoozing.what, "the lock");
    assert!(!found.failure().is_deadlock());
    let line = format!("\n  {snoozing}\n");
    assert_eq!(found.to_string().matches(&line).count(), 1, "{found}");
    let replay = found.shrunk_replay().unwrap();
    let again = denies.clone().replay(replay).find(planted).unwrap_err();
    assert_eq!(again.failure().snoozing()[0].place, snoozing.place);
    denies.run(|| select_that_nobody_awaits(Version::Repaired));
}

/// A loop over a select polls the future that it keeps again once its handler is done. If the main
/// future ends before that, the future snoozes, which is no bug. That is why a check must be told.
#[test]
fn a_check_that_denies_snoozing_blames_a_loop_in_its_handler() {
    let program = |awaits| async move {
        let (stop, stopped) = oneshot::channel::<()>();
        let looping = spawn(async move {
            let mut stopped = pin!(waiting_for("the stop", stopped));
            while let Either::Right(_) = select(&mut stopped, pin!(sleep(MILLI))).await {
                sleep(SECOND).await;
                sleep(SECOND).await;
            }
        });
        sleep(2 * MILLI).await;
        stop.send(()).unwrap();
        // Until the handler is in its second half.
        sleep(SECOND + MILLI).await;
        if awaits {
            looping.await;
        }
    };
    let check = Check::new().faults(Faults::none()).seeds(20);
    check.run(|| program(false));
    let denies = check.deny_snoozing(true);
    let found = denies.find(|| program(false)).unwrap_err();
    assert_eq!(found.failure().snoozing()[0].what, "the stop");
    denies.run(|| program(true));
}

#[test]
fn a_run_that_ends_well_tells_what_snoozed() {
    #[derive(Clone, Copy, PartialEq)]
    enum Then {
        /// The run ends before the task is polled again.
        Nothing,
        Keeps,
        Polls,
        Drops,
    }
    let run = |then| {
        let outcome = Builder::new(1).run(async move {
            let (sender, receiver) = oneshot::channel::<()>();
            let task = spawn(async move {
                let mut receiver = Box::pin(waiting_for("a message", receiver));
                let _ = select(&mut receiver, pin!(sleep(MILLI))).await;
                sleep(SECOND).await;
                let _kept = match then {
                    Then::Keeps => Some(receiver),
                    Then::Polls => receiver.await.map(|()| None).unwrap(),
                    Then::Drops | Then::Nothing => {
                        drop(receiver);
                        None
                    }
                };
                sleep(SECOND).await;
            });
            sleep(2 * MILLI).await;
            sender.send(()).unwrap();
            if then != Then::Nothing {
                sleep(SECOND + MILLI).await;
            }
            drop(task);
        });
        outcome.unwrap().snoozing
    };
    let [snoozing] = &run(Then::Keeps)[..] else {
        panic!("one future snoozes");
    };
    assert_eq!(snoozing.what, "a message");
    assert_eq!(snoozing.woken, 2 * MILLI);
    for then in [Then::Nothing, Then::Polls, Then::Drops] {
        assert!(run(then).is_empty());
    }
}
