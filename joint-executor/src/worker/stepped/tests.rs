//! What a stepped worker leaves behind between two calls, by counts and states.

use super::*;
use crate::worker::harness::*;

const LONG: Duration = Duration::from_secs(60);

/// A worker that has stopped running tasks is not seen to be busy, so nobody watches it.
#[test]
fn a_step_that_ends_with_tasks_left_wakes_another_worker() {
    // The last one lies where other workers do not look before the end of the step.
    for (launched, most, wakes) in [(0, 1, 0), (1, 1, 0), (1, 2, 0), (2, 1, 1), (3, 2, 1)] {
        let [worker, _other] = two_workers();
        let left = (0..launched).map(|_| task()).collect::<Vec<_>>();
        // What was pushed before the step was announced then.
        let step = || {
            worker.as_current(|| {
                left.into_iter()
                    .for_each(|new| worker.queues.push_beyond(new))
            });
            worker.step(most, Waker::noop())
        };
        let step = Cell::new(Some(step));
        let woke = wakes_of(&worker, || step.take().map(|step| step()));
        worker.running().discard_queued();
        assert_eq!(woke, wakes, "{launched} tasks, {most} runs");
    }
}

/// Otherwise nothing ends a wait on a thread that has driven no step, as an owner that chooses the
/// tasks does not.
#[test]
fn a_wait_registers_its_thread() {
    let (sender, ended) = mpsc::channel();
    thread::spawn(move || {
        for decides in [Decides::Workers, Decides::Owner] {
            let fences = Fences::among(1);
            let (shared, workers) = Shared::with_workers(1, fences, &mut Hooks::default(), decides);
            workers[0].wait_here(Some(Duration::ZERO));
            shared.sleep.unpark_all();
            thread::park();
        }
        sender.send(()).expect("the test waits");
    });
    ended.recv_timeout(LONG).expect("it has been unparked");
}

/// What a call finds that comes after a step that has found nothing.
#[test]
fn a_worker_is_away_from_a_step_in_vain_until_its_next_call() {
    let calls: [fn(&Worker); 4] = [
        |worker| worker.be_active(),
        |worker| _ = worker.step(1, Waker::noop()),
        |worker| worker.wait_here(Some(Duration::ZERO)),
        |worker| worker.end_here(),
    ];
    for (i, call) in calls.into_iter().enumerate() {
        let [worker, _other] = two_workers();
        assert_eq!(worker.step(1, Waker::noop()), Step::Idle);
        assert!(worker.stepping.is_away.get());
        call(&worker);
        // A step that again finds nothing goes away again.
        assert_eq!(worker.stepping.is_away.get(), i == 1);
        let woke = worker.shared().sleep.wake_worker(0);
        assert_eq!(matches!(woke, Woke::Away(_)), i == 1, "call {i}");
    }
}

/// Its owner may not call it again before something else happens.
#[test]
fn a_step_fires_the_timers_that_are_due() {
    for (before, queued) in [(0, 0), (0, 1), (1, 0)] {
        let [worker, other] = two_workers();
        (0..before).for_each(|_| other.queues.push_beyond(task()));
        let step = worker.step(1, Waker::noop());
        assert_eq!(step, [Step::Idle, Step::Ready][before]);
        let (sender, fired) = mpsc::channel();
        let fires = move || sender.send(()).expect("the test waits");
        arm(&worker, 0, 0, waker_that(fires));
        (0..queued).for_each(|_| other.queues.push_beyond(task()));
        worker.step(1, Waker::noop());
        assert_eq!(fired.try_iter().count(), 1, "{before} {queued}");
    }
}

#[test]
fn a_worker_does_not_park_if_nobody_else_sees_what_is_there() {
    let is_urgent = |prepare: fn(&Shared)| {
        let [worker, _other] = two_workers();
        prepare(worker.shared());
        worker.is_urgent()
    };
    assert!(!is_urgent(|_| {}));
    assert!(is_urgent(|shared| shared.inject(task(), Lane::Pinned(0))));
    assert!(!is_urgent(|shared| shared.inject(task(), Lane::Pinned(1))));
    assert!(is_urgent(|shared| shared.close()));
    // The other one runs.
    assert!(!is_urgent(|shared| shared.inject(task(), Lane::Normal)));
    assert!(is_urgent(|shared| {
        shared.inject(task(), Lane::Normal);
        (0..2).for_each(|_| shared.sleep.search());
    }));
}
