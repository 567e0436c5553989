//! The task that a worker takes next, and whether it wakes other workers, by counts of wake-ups and
//! runs.

use alloc::string::String;

use crate::{
    policy::{FEW, TURN},
    worker::{harness::*, tests::wakes_after_yield},
};
use joint::task::Id;

mod replay;

/// Whether a worker with only this task has something of its own, and something that is pinned.
fn has_alone(bring: impl FnOnce(&Worker)) -> (bool, bool) {
    let [worker, _other] = two_workers();
    bring(&worker);
    let has = (worker.queues.has_own(), worker.queues.has_pinned());
    assert_eq!(
        worker.queues.next_queued().is_some(),
        has.0,
        "a search finds it"
    );
    has
}

#[test]
fn one_task_in_any_queue_of_a_worker_is_its_own() {
    assert_eq!(has_alone(|_| {}), (false, false), "nothing");
    let queued = |lane| has_alone(|worker| worker.push(task(), lane));
    assert_eq!(queued(Lane::Normal), (true, false));
    assert_eq!(queued(Lane::High), (true, false));
    assert_eq!(queued(Lane::Pinned(0)), (true, true));
    assert_eq!(queued(Lane::Pinned(1)), (false, false), "pinned elsewhere");
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
        assert!(worker.take_next().is_none(), "nothing is queued");
    }
    own.iter().for_each(|&lane| worker.push(task(), lane));
    for &lane in injected {
        worker.shared().inject(task(), lane);
    }
    wakes_of(&worker, || assert!(worker.take_next().is_some()))
}

const NORMAL: Lane = Lane::Normal;
const HIGH: Lane = Lane::High;
const PINNED: Lane = Lane::Pinned(0);

#[test]
fn a_worker_wakes_another_for_what_it_leaves_in_its_queues() {
    for (injected, wakes) in [
        (&[NORMAL][..], 0),
        // One is brought along.
        (&[NORMAL, NORMAL], 1),
        (&[HIGH, HIGH], 1),
        // One is left in the injector, or both are brought along.
        (&[HIGH, NORMAL], 1),
    ] {
        for is_due in [true, false] {
            let woken = wakes_at_next(is_due, &[], injected);
            assert_eq!(woken, wakes, "{is_due} {injected:?}");
        }
    }
    assert_eq!(wakes_at_next(true, &[NORMAL], &[]), 0, "an empty injector");
    assert_eq!(wakes_at_next(true, &[NORMAL], &[HIGH]), 1);
}

#[test]
fn a_worker_that_runs_a_pinned_task_wakes_another_for_its_queue() {
    for (own, expected) in [(1, 1), (0, 0)] {
        let [worker, _other] = two_workers();
        let pinned = task();
        let id = pinned.id();
        worker.push(pinned, PINNED);
        worker.queues.turns.pinned.set(0);
        (0..own).for_each(|_| worker.push(task(), NORMAL));
        let mut next = None;
        let wakes = wakes_of(&worker, || next = worker.take_next());
        assert_eq!(wakes, expected, "{own}");
        assert!(next.is_some_and(|next| next.id() == id));
    }
}

#[test]
fn a_yield_is_announced_before_a_late_source_is_served() {
    let next = |worker: &Worker| {
        worker.queues.turns.rounds.set(FEW - 1);
        worker.queues.hurry_turn();
        assert!(worker.take_next().is_some());
    };
    let oldest = |worker: &Worker| {
        assert!(worker.queues.deques.push_spawned(task()).is_ok());
    };
    assert_eq!(wakes_after_yield(oldest, next), 1);
    assert_eq!(wakes_after_yield(|_| {}, next), 0, "it is alone");
}

/// Its clock is read after one run, after which the length of its polls is known.
#[test]
fn a_worker_with_short_polls_reads_the_clock_every_512_runs() {
    let [worker, _other] = two_workers();
    worker.idle.lookout.set_active(Duration::ZERO);
    worker.push(busy(), NORMAL);
    let look = || worker.queues.turns.look.get();
    let is_read = |_: &u64| {
        let before = look();
        let next = worker.take_next().expect("it is always due");
        worker.running().run(next);
        look() != before
    };
    assert_eq!((0..600).filter(is_read).collect::<Vec<_>>(), [0, 1, 513]);
    worker.queues.look_within(1);
    assert_eq!((0..600).filter(is_read).collect::<Vec<_>>(), [1, 513]);
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
            let next = worker.take_next().expect("there is a task to run");
            let id = next.id();
            worker.running().run(next);
            let own = self.0.iter().find(|(one, _)| *one == id);
            own.map_or('.', |&(_, letter)| letter)
        };
        (0..runs).map(run).collect()
    }
}

#[test]
fn at_most_32_consecutive_runs_come_from_the_slot() {
    let [worker, _other] = two_workers();
    for _ in 0..2 {
        for _ in 0..TURN {
            assert!(worker.queues.turns.slot_is_due());
            worker.queues.slot.set(Some(task()));
            assert!(worker.take_next().is_some());
        }
        assert!(!worker.queues.turns.slot_is_due());
        worker.push(task(), NORMAL);
        assert!(worker.take_next().is_some());
    }
}

#[test]
fn at_most_32_runs_in_a_row_are_of_the_high_lane_if_others_wait() {
    let [worker, _other] = two_workers();
    let mut letters = Letters(Vec::new());
    for _ in 0..2 * TURN {
        worker.push(letters.task('h'), HIGH);
    }
    for _ in 0..2 {
        worker.push(letters.task('n'), NORMAL);
    }
    let row = "h".repeat(TURN as usize) + "n";
    assert_eq!(letters.runs(&worker, 66), row.repeat(2));
    for _ in 0..=TURN {
        worker.push(letters.task('h'), HIGH);
    }
    let all = "h".repeat(TURN as usize + 1);
    assert_eq!(letters.runs(&worker, 33), all, "there are no normal tasks");
}

/// Pushes a task for each letter: as spawned by the worker if it is in lower case, and otherwise as
/// woken.
fn push_all(worker: &Worker, letters: &mut Letters, all: &str) {
    for letter in all.chars() {
        let task = letters.task(letter);
        match letter.is_lowercase() {
            true => worker.running().push_spawned(task),
            false => worker.push(task, NORMAL),
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
fn a_woken_task_runs_after_each_32_spawned_ones() {
    let [worker, _other] = two_workers();
    let mut letters = Letters(Vec::new());
    let spawned = "s".repeat(32);
    push_all(&worker, &mut letters, &spawned.repeat(3));
    push_all(&worker, &mut letters, "WWWWW");
    let row = spawned.clone() + "W";
    assert_eq!(letters.runs(&worker, 101), row.repeat(3) + "WW");
    assert!(worker.take_next().is_none());
    // A streak begins anew after a woken task ran because nothing was spawned.
    push_all(&worker, &mut letters, &spawned[1..]);
    assert_eq!(letters.runs(&worker, 31), spawned[1..]);
    push_all(&worker, &mut letters, "W");
    assert_eq!(letters.runs(&worker, 1), "W");
    push_all(&worker, &mut letters, &[&*spawned, "sW"].concat());
    assert_eq!(letters.runs(&worker, 34), row + "s");
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
        let row = "s".repeat(TURN as usize) + "Y";
        assert_eq!(letters.runs(&worker, 66), row.repeat(2));
        worker.running().discard_queued();
    }
}

#[test]
fn the_oldest_spawned_task_runs_within_128_runs() {
    for yielding in [0, 32] {
        let [worker, _other] = two_workers();
        let mut letters = Letters(Vec::new());
        for _ in 0..yielding {
            worker.push(letters.named('Y', busy()), NORMAL);
        }
        push_all(&worker, &mut letters, "ons");
        push_all(&worker, &mut letters, &"s".repeat(1_000));
        let runs = letters.runs(&worker, 1_000);
        let interval = TURN as usize * FEW as usize;
        assert!(interval <= 128, "docs/executor.md says 128");
        let first = interval - TURN as usize;
        assert_eq!(runs.find('o'), Some(first), "{runs}");
        assert_eq!(runs.find('n'), Some(first + interval), "{runs}");
        worker.running().discard_queued();
    }
}

#[test]
fn injected_and_pinned_tasks_are_taken_every_32_runs() {
    let [worker, _other] = two_workers();
    let mut letters = Letters(Vec::new());
    worker.push(busy(), NORMAL);
    assert_eq!(letters.runs(&worker, 1), ".");
    worker.shared().inject(letters.task('i'), NORMAL);
    worker.shared().inject(letters.task('p'), PINNED);
    let expected = ".".repeat(31) + "i...p..";
    assert_eq!(letters.runs(&worker, 38), expected);
    let metrics = worker.counters().pinned.get();
    assert_eq!(metrics, 0, "no pinned task is left");
}

#[test]
fn an_injected_task_runs_next_after_a_long_poll() {
    let [worker, _other] = two_workers();
    let mut letters = Letters(Vec::new());
    worker.push(busy(), NORMAL);
    assert_eq!(letters.runs(&worker, 1), ".");
    worker.shared().inject(letters.task('i'), NORMAL);
    worker.queues.hurry_turn();
    assert_eq!(letters.runs(&worker, 2), "i.");
}
