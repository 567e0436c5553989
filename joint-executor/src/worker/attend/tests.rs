//! Which timers a worker fires and when, as counted, and which worker it leaves the driver to, at
//! times set by the test.

use core::hint::spin_loop;

use super::{After, LONGEST_AWAY, SOON};
use crate::{
    driver::clock,
    policy::TURN,
    worker::{harness::*, tests::wakes_after_yield},
};

/// From here on workers look at the driver, where nothing is due.
fn use_driver(worker: &Worker) {
    arm(worker, 0, clock::NEVER - 1, Waker::noop().clone());
}

#[test]
fn an_idle_worker_fires_the_due_timers_of_every_owner() {
    let [worker, _other] = two_workers();
    let wakes = Wakes::new();
    let attend = || worker.attend(After::Queue);
    assert!(!attend(), "the driver was never used");
    arm(&worker, 0, clock::NEVER - 1, wakes.waker());
    assert!(!attend(), "the timer is not due");
    for owner in 0..3 {
        arm(&worker, owner, 0, wakes.waker());
        assert!(attend());
        assert_eq!(wakes.count(), owner + 1);
        assert!(!attend(), "the timer has fired");
    }
}

#[test]
fn a_yield_is_announced_before_the_driver_is_attended_to() {
    let prepare = |worker: &Worker| {
        use_driver(worker);
        worker.push(task(), Lane::Normal);
    };
    let attend = |worker: &Worker| _ = worker.attend(After::Queue);
    assert_eq!(wakes_after_yield(prepare, attend), 1);
}

/// Otherwise a message waits for one more poll of it.
#[test]
fn a_task_that_yields_alone_runs_after_what_the_driver_wakes() {
    for (others, is_first) in [(0, false), (1, true)] {
        let [worker, _other] = two_workers();
        let (waits, waker) = waiting(&worker, Lane::Normal);
        arm(&worker, 0, 0, waker);
        (0..others).for_each(|_| worker.push(task(), Lane::Normal));
        worker.run(busy());
        let next = worker.as_current(|| worker.take_next());
        assert_eq!(worker.queues.lengths()[0], others + 1);
        assert!(!worker.queues.take_yield(), "it was announced");
        worker.run(next.expect("both are queued"));
        assert_eq!(waits.is_finished(), !is_first, "{others}");
        worker.running().discard_queued();
    }
}

#[test]
fn a_busy_worker_fires_its_own_timers_and_others_in_rotation() {
    let [worker, _other] = two_workers();
    let (own, others) = (Wakes::new(), Wakes::new());
    worker.attend_in_turn();
    for turn in 0..4 {
        arm(&worker, 0, 0, own.waker());
        arm(&worker, 1, 0, others.waker());
        arm(&worker, 2, 0, others.waker());
        let before = others.count();
        worker.attend_in_turn();
        // Its own timers are checked each time. The timers of each other owner are checked every
        // three turns, and by then there are as many as turns.
        assert_eq!(own.count(), turn + 1);
        let fired = others.count() - before;
        assert_eq!(fired, [0, 2, 3, 0][turn], "turn {turn}");
    }
}

#[test]
fn one_call_fires_a_bounded_number_of_timers() {
    let [worker, _other] = two_workers();
    let wakes = Wakes::new();
    for _ in 0..2 * TURN {
        arm(&worker, 1, 0, wakes.waker());
    }
    assert!(worker.attend(After::Queue));
    assert_eq!(wakes.count(), TURN as usize);
    assert!(worker.attend(After::Queue));
    assert_eq!(wakes.count(), 2 * TURN as usize);
}

#[test]
fn a_busy_worker_polls_the_system_at_most_once_per_interval() {
    let [worker, _other] = two_workers();
    use_driver(&worker);
    let next_look = &worker.attendant.next_look;
    let before = clock::now();
    worker.attend_in_turn();
    let after = clock::now();
    let next = next_look.get();
    assert!((before + SOON..=after + SOON).contains(&next));
    next_look.set(clock::NEVER);
    worker.attend_in_turn();
    assert_eq!(next_look.get(), clock::NEVER, "it is too early for a look");
}

#[test]
fn a_driver_that_nobody_keeps_is_left_if_no_lookout_sees_it() {
    let [worker, _other] = two_workers();
    let shared = worker.shared();
    assert!(!shared.leaves_driver(), "the driver was never used");
    use_driver(&worker);
    assert!(shared.leaves_driver());
    shared.driver.set_kept(true);
    assert!(!shared.leaves_driver());
    shared.driver.set_kept(false);
    shared.sleep.search();
    assert!(!shared.leaves_driver(), "a lookout finds it");
    for (time, leaves) in [(SOON - 1, false), (SOON, true)] {
        // Only a change by more than an eighth is written.
        shared.set_poll_time(0);
        shared.set_poll_time(time as usize);
        assert_eq!(shared.leaves_driver(), leaves);
    }
}

#[test]
fn a_worker_with_a_deadline_wakes_another_if_it_leaves_it() {
    let [worker, _other] = two_workers();
    use_driver(&worker);
    let hurry = || worker.as_current(|| worker.shared().hurry_driver(0, Some(&worker.running())));
    assert_eq!(wakes_of(&worker, hurry), 1);
    worker.shared().sleep.search();
    assert_eq!(wakes_of(&worker, hurry), 0);
}

#[test]
fn the_buffer_for_what_a_keeper_finds_is_used_again() {
    let [worker, _other] = two_workers();
    let attendant = &worker.attendant;
    attendant.attend_as_keeper(&worker.running(), Vec::with_capacity(8));
    assert!(attendant.take_ready(None).capacity() >= 8);
}

/// A waker that is due at the driver.
#[derive(Clone, Copy, Debug)]
enum Due {
    Task,
    HighTask,
    PinnedTask,
    /// A waker of another crate.
    Foreign,
    /// A task of this crate, but not of the executor, whose wake-up runs code.
    Inline,
    /// The same, and the code wakes a task of the executor.
    InlineAndTask,
}

/// How many workers a worker wakes that attends to the driver while another one sleeps.
fn wakes_for(due: &[Due], attend: fn(&Worker)) -> u64 {
    let [worker, _other] = two_workers();
    let timers = worker.shared().driver.timers(0);
    use_driver(&worker);
    worker.shared().driver.set_kept(true);
    let mut handles = Vec::new();
    for (due, deadline) in due.iter().zip(0..) {
        let mut task = |lane| {
            let (handle, waker) = waiting(&worker, lane);
            handles.push(handle);
            waker
        };
        let waker = match due {
            Due::Task => task(Lane::Normal),
            Due::HighTask => task(Lane::High),
            Due::PinnedTask => task(Lane::Pinned(0)),
            Due::Foreign => Waker::noop().clone(),
            Due::Inline => inline(|| {}),
            Due::InlineAndTask => {
                let task = task(Lane::Normal);
                inline(move || task.wake_by_ref())
            }
        };
        assert!(timers.insert(deadline, waker).is_ok());
    }
    let wakes = wakes_of(&worker, || worker.as_current(|| attend(&worker)));
    worker.as_current(|| worker.running().discard_queued());
    wakes
}

#[test]
fn a_worker_that_runs_its_only_woken_task_next_wakes_no_other() {
    use Due::{Foreign, HighTask, Inline, InlineAndTask, PinnedTask, Task};

    let runs = |worker: &Worker| assert!(worker.attend(After::Queue));
    let is_blocked = |worker: &Worker| assert!(worker.attend(After::Anything));
    let in_turn = |worker: &Worker| _ = worker.attend_in_turn();
    for (due, wakes) in [
        (&[Task][..], 0),
        (&[Task, Task], 1),
        (&[Foreign], 0),
        // The foreign waker may run for any time before the worker runs the task.
        (&[Foreign, Task], 1),
        (&[Task, Foreign], 1),
        (&[Inline], 0),
        // So may what this waker runs.
        (&[Inline, Task], 1),
        (&[Task, Inline], 1),
        (&[InlineAndTask], 1),
        // Another worker must find the second one while the first one runs.
        (&[Foreign, Inline], 1),
        // After 32 tasks of high priority another one comes first.
        (&[HighTask], 1),
        (&[Task, HighTask], 1),
        // A pinned one notifies when its turn comes.
        (&[Task, PinnedTask], 0),
    ] {
        assert_eq!(wakes_for(due, runs), wakes, "{due:?}");
        assert_eq!(wakes_for(due, in_turn), wakes, "{due:?}");
    }
    assert_eq!(wakes_for(&[Task], is_blocked), 1);
}

/// The worker that has left it there may be blocked in a stranger that waits for it.
#[test]
fn any_worker_wakes_a_stranger_that_another_has_left() {
    let ways: [fn(&Worker); 3] = [
        |is_busy| _ = is_busy.attend_in_turn(),
        |is_blocked| _ = is_blocked.attend(After::Anything),
        |is_stepped| _ = is_stepped.step(8, Waker::noop()),
    ];
    for way in ways {
        let [worker, other] = two_workers();
        use_driver(&worker);
        let (wakes, waker) = counting();
        worker.shared().driver.due().push(waker);
        assert!(worker.shared().has_queued() && worker.shared().has_work());
        way(&other);
        assert!(wakes.count() == 1 && !worker.shared().has_work());
    }
}

#[test]
fn a_worker_that_leaves_the_driver_wakes_another_for_one_task() {
    let attend = |worker: &Worker| {
        worker.shared().driver.set_kept(false);
        worker.attend(After::Queue);
    };
    assert_eq!(wakes_for(&[Due::Task], attend), 1);
}

/// So that it stays away for no longer than [`LONGEST_AWAY`] if its polls go on to be as long.
#[test]
fn the_driver_has_its_turn_sooner_the_longer_the_runs_are() {
    let [worker, _other] = two_workers();
    use_driver(&worker);
    let next = |away: u64, runs: u64| {
        worker.queues.runs.set(worker.queues.runs() + runs);
        worker
            .attendant
            .visit(&worker, clock::now().max(away) - away);
        worker.attend_in_turn().expect("it is in use")
    };
    while clock::now() < 8 * LONGEST_AWAY {
        spin_loop();
    }
    // The runs before the last turn do not count.
    (0..8).for_each(|_| _ = next(0, 16));
    // At least as long as is asked for, because the clock goes on.
    assert!(next(8 * LONGEST_AWAY, 16) <= 2, "after long runs");
    // As if it had been a quarter of the time before.
    assert!(next(0, 16) <= 4, "after short ones");
    assert!(next(0, 16) <= 8, "after more short ones");
    let last = [(); 24].map(|()| next(0, 1 << 20))[23];
    assert!(last >= TURN.into(), "{last}");
}

#[test]
fn a_visitor_is_expected_again_unless_it_stayed_away() {
    let [worker, _other] = two_workers();
    let until = || worker.counters().visits_until.get();
    let start = clock::now() + 10 * SOON;
    worker.attendant.visit(&worker, start);
    assert_eq!(until(), 0, "the first visit");
    worker.attendant.visit(&worker, start + SOON);
    assert_eq!(until(), start + 2 * SOON);
    worker.attendant.visit(&worker, start + 2 * SOON);
    assert_eq!(until(), start + 3 * SOON);
    worker.attendant.visit(&worker, start + 3 * SOON + 1);
    assert_eq!(until(), 0, "it was away for too long");
}

/// However long it was parked there.
#[test]
fn a_keeper_that_leaves_is_expected_again_if_it_was_before() {
    let [worker, _other] = two_workers();
    let until = &worker.counters().visits_until;
    let rise = || {
        worker
            .attendant
            .attend_as_keeper(&worker.running(), Vec::new())
    };
    rise();
    assert_eq!(until.get(), 0);
    until.set(1);
    let now = clock::now();
    rise();
    assert!(until.get() >= now + SOON);
    assert!(worker.attendant.last_visit.get() >= now);
}
