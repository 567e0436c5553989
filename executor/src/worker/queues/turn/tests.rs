//! The task that a worker takes next, and whether it wakes other workers, by counts of wake-ups and
//! runs.

use alloc::{string::String, vec::Vec};
use core::{cell::Cell, future::poll_fn, panic::Location, task::Poll};

#[cfg(feature = "io")]
use super::NEVER;
use crate::{
    policy::{
        BATCH, HURRIED_INTERVAL, INJECTOR_INTERVAL, OLDEST_INTERVAL, PINNED_INTERVAL,
        RESCUE_INTERVAL, STREAK, WORTH_A_WAKE,
    },
    registry::Lane,
    worker::{
        Worker,
        harness::{task, two_workers, wakes_of},
        launch::new_detached,
        shared::Runnable,
        tests::wakes_after_yield,
    },
};
use joint::task::Id;

mod replay;

/// Whether a worker with only this task has something of its own, and something that is pinned.
fn has_alone(bring: impl FnOnce(&Worker)) -> (bool, bool) {
    let [worker, _other] = two_workers();
    bring(&worker);
    (worker.has_own(), worker.has_pinned())
}

#[test]
fn one_task_in_any_queue_of_a_worker_is_its_own() {
    assert_eq!(has_alone(|_| {}), (false, false), "nothing");
    let queued = |lane| has_alone(|worker| worker.running().push(task(), lane));
    assert_eq!(queued(Lane::Normal), (true, false));
    assert_eq!(queued(Lane::High), (true, false));
    assert_eq!(queued(Lane::Pinned(0)), (true, true));
    assert_eq!(
        queued(Lane::Pinned(1)),
        (false, false),
        "pinned to another worker"
    );
    let injected = |lane| has_alone(|worker| worker.shared().inject(task(), lane));
    assert_eq!(injected(Lane::Normal), (false, false));
    assert_eq!(injected(Lane::High), (false, false));
    assert_eq!(injected(Lane::Pinned(0)), (true, true));
}

/// How many workers a worker wakes when it takes its next task, with these tasks in the queues.
/// Unless `is_due`, the injector's turn is still some runs away.
fn wakes_at_next(is_due: bool, own: &[Lane], injected: &[Lane]) -> u64 {
    let [worker, _other] = two_workers();
    if !is_due {
        assert!(worker.running().next().is_none(), "nothing is queued");
    }
    own.iter()
        .for_each(|&lane| worker.running().push(task(), lane));
    for &lane in injected {
        worker.shared().inject(task(), lane);
    }
    wakes_of(&worker, || assert!(worker.running().next().is_some()))
}

const NORMAL: Lane = Lane::Normal;
const HIGH: Lane = Lane::High;
const PINNED: Lane = Lane::Pinned(0);

#[test]
fn a_worker_that_takes_one_of_several_injected_tasks_wakes_another() {
    for is_due in [true, false] {
        let wakes = |injected: &[Lane]| wakes_at_next(is_due, &[], injected);
        assert_eq!(wakes(&[NORMAL]), 0, "the only task is run at once");
        assert_eq!(wakes(&[NORMAL, NORMAL]), 1, "one is brought along");
        assert_eq!(wakes(&[HIGH, HIGH]), 1, "one is brought along");
        assert_eq!(
            wakes(&[HIGH, NORMAL]),
            1,
            "one is left in the injector, or both are brought along"
        );
    }
}

#[test]
fn a_check_of_an_empty_injector_wakes_no_worker() {
    assert_eq!(wakes_at_next(true, &[NORMAL], &[]), 0);
}

#[test]
fn a_worker_that_runs_an_injected_high_task_wakes_another_for_its_queue() {
    assert_eq!(wakes_at_next(true, &[NORMAL], &[HIGH]), 1);
}

#[test]
fn a_worker_that_runs_a_pinned_task_wakes_another_for_its_queue() {
    assert_eq!(wakes_at_next(true, &[NORMAL], &[PINNED]), 1);
    assert_eq!(wakes_at_next(true, &[], &[PINNED]), 0, "nothing is left");
}

#[test]
fn a_yield_is_announced_before_a_late_source_is_served() {
    let next = |worker: &Worker| {
        worker.queues.turns.oldest.set(0);
        worker.queues.turns.next.set(0);
        assert!(worker.running().next().is_some());
    };
    let oldest = |worker: &Worker| {
        let pushed = worker.queues.deques.push_spawned(task(), 1);
        assert!(pushed.is_ok());
    };
    assert_eq!(wakes_after_yield(oldest, next), 1);
    assert_eq!(wakes_after_yield(|_| {}, next), 0, "it is alone");
}

/// In which of `runs` runs a busy worker takes a task that is stuck behind another worker's poll.
fn rescues(runs: u64, poll_time: usize) -> Vec<u64> {
    let [worker, other] = two_workers();
    worker.shared().set_poll_time(poll_time);
    worker.lookout.set_stuck(other.index());
    worker.running().push(busy(), NORMAL);
    let takes_over = |_: &u64| {
        if other.queues.deques.is_empty() {
            other.running().push(task(), NORMAL);
        }
        let before = worker.counters().steals.get();
        worker
            .running()
            .run(worker.running().next().expect("a busy worker has a task"));
        worker.counters().steals.get() > before
    };
    (0..runs).filter(takes_over).collect()
}

#[test]
fn a_busy_worker_checks_for_stuck_workers_every_976_runs() {
    let interval = INJECTOR_INTERVAL * RESCUE_INTERVAL;
    assert_eq!(interval, 976, "docs/executor.md says 976");
    let expected = [0, interval, 2 * interval];
    assert_eq!(rescues(2_000, WORTH_A_WAKE - 1), expected);
}

#[test]
fn a_busy_worker_with_long_polls_checks_for_stuck_workers_every_61_runs() {
    assert_eq!(rescues(130, WORTH_A_WAKE), [0, 61, 122]);
}

/// A task that is always due.
fn busy() -> Runnable {
    let forever = poll_fn(|cx| {
        cx.waker().wake_by_ref();
        Poll::<()>::Pending
    });
    new_detached(Location::caller(), forever)
}

/// Makes tasks, and gives each a letter by which it is recognised when it runs.
struct Letters(Vec<(Id, char)>);

impl Letters {
    fn task(&mut self, letter: char) -> Runnable {
        self.named(letter, task())
    }

    fn named(&mut self, letter: char, task: Runnable) -> Runnable {
        // The id may be that of a task that has ended.
        self.0.retain(|&(id, _)| id != task.id());
        self.0.push((task.id(), letter));
        task
    }

    /// Runs the next `runs` tasks.
    fn runs(&self, worker: &Worker, runs: usize) -> String {
        let run = |_| {
            let next = worker.running().next().expect("there is a task to run");
            let id = next.id();
            worker.running().run(next);
            let own = self.0.iter().find(|(one, _)| *one == id);
            own.map_or('.', |&(_, letter)| letter)
        };
        (0..runs).map(run).collect()
    }
}

#[test]
fn at_most_16_consecutive_runs_come_from_the_slot() {
    let [worker, _other] = two_workers();
    for _ in 0..2 {
        for _ in 0..STREAK {
            assert!(worker.queues.turns.slot_is_due());
            worker.queues.slot.set(Some(task()));
            assert!(worker.running().next().is_some());
        }
        assert!(!worker.queues.turns.slot_is_due());
        worker.running().push(task(), NORMAL);
        assert!(worker.running().next().is_some());
    }
}

#[test]
fn at_most_32_consecutive_runs_come_from_the_high_lane_if_others_wait() {
    let [worker, _other] = two_workers();
    let mut letters = Letters(Vec::new());
    for _ in 0..2 * STREAK {
        worker.running().push(letters.task('h'), HIGH);
    }
    for _ in 0..2 {
        worker.running().push(letters.task('n'), NORMAL);
    }
    let row = "h".repeat(STREAK as usize) + "n";
    assert_eq!(letters.runs(&worker, 66), row.repeat(2));
    for _ in 0..=STREAK {
        worker.running().push(letters.task('h'), HIGH);
    }
    let all = "h".repeat(STREAK as usize + 1);
    assert_eq!(letters.runs(&worker, 33), all, "there are no normal tasks");
}

/// Pushes a task for each letter: as spawned by the worker if it is in lower case, and otherwise as
/// woken.
fn push_all(worker: &Worker, letters: &mut Letters, all: &str) {
    for letter in all.chars() {
        let task = letters.task(letter);
        match letter.is_lowercase() {
            true => worker.running().push_spawned(task),
            false => worker.running().push(task, NORMAL),
        }
    }
}

#[test]
fn spawned_tasks_run_newest_first_and_woken_tasks_oldest_first() {
    let [worker, _other] = two_workers();
    let mut letters = Letters(Vec::new());
    push_all(&worker, &mut letters, "aXbYcZ");
    assert_eq!(letters.runs(&worker, 6), "cbaXYZ");
}

#[test]
fn spawned_tasks_and_woken_ones_run_in_streaks_of_32() {
    let [worker, _other] = two_workers();
    let mut letters = Letters(Vec::new());
    let (spawned, woken) = ("s".repeat(32), "W".repeat(32));
    push_all(&worker, &mut letters, &spawned.repeat(3));
    push_all(&worker, &mut letters, &woken.repeat(2));
    push_all(&worker, &mut letters, "WW");
    let row = [&*spawned, &woken].concat();
    assert_eq!(letters.runs(&worker, 162), row.repeat(2) + &spawned + "WW");
    assert!(worker.running().next().is_none());
    // A streak begins anew after a woken task ran because nothing was spawned.
    push_all(&worker, &mut letters, &spawned[1..]);
    assert_eq!(letters.runs(&worker, 31), spawned[1..]);
    push_all(&worker, &mut letters, "W");
    assert_eq!(letters.runs(&worker, 1), "W");
    push_all(&worker, &mut letters, &[&*spawned, "sW"].concat());
    assert_eq!(letters.runs(&worker, 34), spawned.clone() + "Ws");
}

#[test]
fn a_woken_task_runs_within_33_runs_despite_any_number_of_spawned_ones() {
    let [worker, _other] = two_workers();
    let mut letters = Letters(Vec::new());
    for before in 0..=2 * STREAK {
        push_all(&worker, &mut letters, &"s".repeat(100));
        letters.runs(&worker, before as usize);
        push_all(&worker, &mut letters, "W");
        let runs = letters.runs(&worker, STREAK as usize + 1);
        assert!(runs.contains('W'), "{before}: {runs}");
    }
    worker.running().discard_queued();
}

#[test]
fn a_task_that_yields_runs_after_the_next_32_spawned_tasks() {
    let [worker, _other] = two_workers();
    let mut letters = Letters(Vec::new());
    for before in [0, 1, 31] {
        push_all(&worker, &mut letters, &"s".repeat(before));
        assert_eq!(letters.runs(&worker, before), "s".repeat(before));
        let yielding = letters.named('Y', busy());
        push_all(&worker, &mut letters, &"s".repeat(64));
        worker.running().run(yielding);
        let row = "s".repeat(STREAK as usize) + "Y";
        assert_eq!(letters.runs(&worker, 66), row.repeat(2));
        worker.running().discard_queued();
    }
}

#[test]
fn the_oldest_spawned_task_runs_within_512_runs() {
    let runs = OLDEST_INTERVAL as usize;
    for yielding in [0, 32] {
        let [worker, _other] = two_workers();
        let mut letters = Letters(Vec::new());
        for _ in 0..yielding {
            worker.running().push(letters.named('Y', busy()), NORMAL);
        }
        push_all(&worker, &mut letters, "ons");
        push_all(&worker, &mut letters, &"s".repeat(2 * runs));
        // A streak has just ended by then, after which one other task comes first.
        let before = letters.runs(&worker, runs + 1);
        assert!(!before.contains('o'), "{before}");
        assert_eq!(letters.runs(&worker, 1), "o");
        assert!(runs + 1 < 512, "docs/executor.md says 512");
        // The next oldest is `n`.
        let before = letters.runs(&worker, runs - 1);
        assert!(!before.contains('n'), "{before}");
        assert!(letters.runs(&worker, 2).contains('n'));
        worker.running().discard_queued();
    }
}

#[test]
fn pinned_tasks_run_every_fourth_run_while_more_are_queued() {
    let [worker, _other] = two_workers();
    let mut letters = Letters(Vec::new());
    worker.running().push(busy(), NORMAL);
    assert_eq!(letters.runs(&worker, 2), "..");
    for _ in 0..2 {
        worker.running().push(letters.task('p'), PINNED);
    }
    assert_eq!(letters.runs(&worker, 9), "....p...p");
    assert_eq!(letters.runs(&worker, 9), ".".repeat(9));
    let metrics = worker.counters().pinned.get();
    assert_eq!(metrics, 0, "no pinned task is left");
}

#[test]
fn a_normal_task_runs_within_64_runs_despite_any_number_of_other_tasks() {
    for own in ["s", "W"] {
        let [worker, _other] = two_workers();
        let mut letters = Letters(Vec::new());
        push_all(&worker, &mut letters, &own.repeat(20));
        for _ in 0..600 {
            worker.running().push(letters.task('h'), HIGH);
            worker.running().push(letters.task('p'), PINNED);
        }
        let runs: String = (0..600)
            .map(|_| {
                if !worker.shared().has_injected() {
                    worker.shared().inject(letters.task('i'), NORMAL);
                }
                letters.runs(&worker, 1)
            })
            .collect();
        assert!(['h', 'p', 'i'].iter().all(|&kind| runs.contains(kind)));
        let longest = runs.split(own).map(str::len).max();
        assert!(longest < Some(64), "{longest:?}: {runs}");
        worker.running().discard_queued();
    }
}

#[test]
fn injected_tasks_are_taken_every_61_runs_together_with_pinned_ones() {
    let [worker, _other] = two_workers();
    let mut letters = Letters(Vec::new());
    worker.running().push(busy(), NORMAL);
    assert_eq!(letters.runs(&worker, 1), ".");
    worker.shared().inject(letters.task('i'), NORMAL);
    worker.shared().inject(letters.task('p'), PINNED);
    let expected = ".".repeat(60) + "ip....";
    assert_eq!(letters.runs(&worker, 66), expected);
}

#[test]
fn an_injected_task_runs_next_after_a_long_poll() {
    let [worker, _other] = two_workers();
    let mut letters = Letters(Vec::new());
    worker.running().push(busy(), NORMAL);
    assert_eq!(letters.runs(&worker, 1), ".");
    worker.shared().inject(letters.task('i'), NORMAL);
    worker.hurry_turn();
    assert_eq!(letters.runs(&worker, 2), "i.");
}

/// Each is served at run 0.
#[test]
fn a_source_that_was_served_is_due_again_after_its_interval() {
    let [worker, _other] = two_workers();
    let (shared, turns) = (worker.shared(), &worker.queues.turns);
    let next = |source: &Cell<u64>| {
        source.set(0);
        turns.next.set(0);
        worker.running().next().is_some()
    };
    assert!(!next(&turns.driver));
    assert_eq!(turns.driver.get(), INJECTOR_INTERVAL);
    assert_eq!(turns.next.get(), INJECTOR_INTERVAL, "the first of all");
    assert!(!next(&turns.driver), "the injector is not due");
    assert_eq!(turns.driver.get(), INJECTOR_INTERVAL);
    #[cfg(feature = "io")]
    {
        // It seems that this worker has never visited the driver.
        shared.driver.hurry(NEVER, &shared.sleep, || {});
        assert!(!next(&turns.driver));
        assert_eq!([turns.driver.get(), turns.next.get()], [1, 1]);
    }
    shared.inject(task(), NORMAL);
    assert!(next(&turns.injector));
    assert_eq!(turns.injector_pause.get(), HURRIED_INTERVAL);
    shared.inject(task(), PINNED);
    assert!(worker.next_pinned().is_some());
    assert_eq!(turns.pinned_pause.get(), PINNED_INTERVAL);
}

#[test]
fn pinned_tasks_are_fetched_in_batches_and_counted() {
    let [worker, _other] = two_workers();
    for _ in 0..BATCH + 2 {
        worker.shared().inject(task(), PINNED);
    }
    assert_eq!(worker.counters().pinned.get(), 0, "not fetched yet");
    for left in (0..=BATCH as u64 + 1).rev() {
        assert!(worker.next_pinned().is_some());
        assert_eq!(worker.counters().pinned.get(), left.min(BATCH as u64 - 1));
    }
    assert!(worker.next_pinned().is_none());
}

#[test]
fn an_idle_worker_finds_a_task_pushed_to_any_of_its_queues() {
    for lane in [NORMAL, HIGH, PINNED] {
        let [worker, _other] = two_workers();
        assert!(worker.next_own().is_none());
        worker.running().push(task(), lane);
        assert!(worker.next_own().is_some());
    }
}
