//! The thefts of a searching worker, at times that the test sets.

use super::*;
use crate::worker::{harness::*, idle::at_hand};

const LONG: Duration = Duration::from_secs(10);

/// Changes what the first worker has seen of the second, and returns that.
fn seen(worker: &Worker, change: impl FnOnce(&mut Seen)) -> Seen {
    let cell = &worker.idle.lookout.seen[1];
    let mut seen = cell.get();
    change(&mut seen);
    cell.set(seen);
    seen
}

fn set_seen(worker: &Worker, since: Instant, polls: u64, is_busy: bool) {
    seen(worker, |seen| {
        (seen.since, seen.polls, seen.is_busy) = (since, polls, is_busy);
    });
}

/// Makes it seem that the second worker has been in one poll for [`STUCK`].
fn set_long(worker: &Worker) {
    seen(worker, |seen| seen.since = before(Instant::now(), STUCK));
}

impl Lookout {
    /// Makes it seem that this worker has been active for that time, or will be if it is 0.
    pub(in crate::worker) fn set_active(&self, time: Duration) {
        let since = match time {
            Duration::ZERO => Instant::now() + LONG,
            _ => before(Instant::now(), time),
        };
        self.began.set((since, 0));
        self.looked.set((since, 0));
    }
}

fn before(now: Instant, time: Duration) -> Instant {
    now.checked_sub(time)
        .expect("the system has been running for longer")
}

#[test]
fn a_lookout_tells_progressing_neighbours_from_stuck_ones() {
    let [worker, other] = two_workers();
    let view = || {
        let view = worker.idle.lookout.view(&worker, Instant::now());
        (view.makes_progress, view.all_stuck)
    };
    set_seen(&worker, before(Instant::now(), LONG), 0, false);
    worker.counters().polls.set(1);
    assert_eq!(view(), (false, true), "its own count does not matter");
    other.counters().polls.set(1);
    assert_eq!(view(), (true, false));
    // An interval that lasts longer than the test.
    set_seen(&worker, Instant::now() + LONG, 1, false);
    assert_eq!(view(), (false, false), "not seen for long enough");
    other.counters().polls.set(2);
    let round = || {
        let seen = worker.idle.look_round(&worker).err();
        seen.map(|seen| (seen.makes_progress, seen.is_slow))
    };
    assert_eq!(round(), Some((true, false)));
    assert_eq!(round(), Some((false, false)));
    worker.queues.push_beyond(task());
    assert_eq!(round(), None, "it does not look at the other");
    other.counters().polls.set(3);
    assert_eq!(round(), Some((false, false)), "the last look may be old");
    set_seen(&worker, Instant::now() + LONG, 3, false);
    other.queues.push_beyond(task());
    assert_eq!(round(), Some((false, true)));
}

/// A worker between two polls has the task that has yielded in its queue, and takes it right after.
#[test]
fn a_task_alone_waits_if_two_looks_of_one_poll_see_it() {
    let [worker, other] = two_workers();
    let waits = || {
        worker.idle.lookout.view(&worker, Instant::now());
        seen(&worker, |_| {}).waits
    };
    other.counters().polls.set(1);
    assert!(!waits(), "nothing is queued");
    other.queues.push_beyond(task());
    assert!(!waits(), "it may have yielded");
    assert!(waits());
    other.counters().polls.set(2);
    assert!(!waits(), "it may have run, and have yielded again");
    assert!(waits());
    assert!(other.queues.pop().is_some());
    assert!(!waits());
    for polls in 3..5 {
        other.counters().polls.set(polls);
        (0..2).for_each(|_| other.queues.push_beyond(task()));
        assert!(waits(), "there are two");
    }
}

/// How long a poll seems to take after the second worker has made 10 in 10 seconds.
fn time_seen(was_busy: bool, is_busy: bool, time: Duration) -> Duration {
    let [worker, other] = two_workers();
    if is_busy {
        other.push(task(), Lane::Normal);
    }
    set_seen(&worker, before(Instant::now(), time), 5, was_busy);
    other.counters().polls.set(15);
    let view = worker.idle.lookout.view(&worker, Instant::now());
    assert!(view.makes_progress);
    let seen = seen(&worker, |_| {});
    assert_eq!((seen.polls, seen.is_busy), (15, is_busy));
    Duration::from_nanos(worker.shared().poll_time() as u64)
}

#[test]
fn poll_time_is_measured_only_of_workers_that_stayed_busy() {
    let time = time_seen(true, true, LONG);
    assert!(time >= LONG / 10 && time < LONG / 5, "{time:?}");
    assert_eq!(time_seen(false, true, LONG), Duration::ZERO);
    assert_eq!(time_seen(true, false, LONG), Duration::ZERO);
}

#[test]
fn a_long_poll_loses_one_task_and_a_stuck_one_half_its_queue() {
    let [worker, other] = two_workers();
    let now = Instant::now() + LONG;
    // How many of 8 tasks are taken from a worker that has been in a poll for `stuck_for`.
    let stolen = |stuck_for| {
        while other.queues.lengths()[0] < 8 {
            other.queues.push_beyond(task());
        }
        let view = View {
            now,
            makes_progress: false,
            is_slow: false,
            all_stuck: false,
        };
        seen(&worker, |seen| seen.since = now - stuck_for);
        let first = worker.idle.lookout.steal_patiently(&worker.queues, &view);
        let more = worker.queues.lengths()[0];
        while worker.queues.pop().is_some() {}
        let taken = usize::from(first.is_some()) + more;
        assert_eq!(other.queues.lengths()[0], 8 - taken);
        taken
    };
    let short = Duration::from_nanos(1);
    let patience = || seen(&worker, |_| {}).patience;
    assert_eq!(stolen(SOON - short), 0);
    assert_eq!((stolen(SOON), patience()), (1, 2 * SOON));
    assert_eq!(stolen(2 * SOON - short), 0);
    assert_eq!((stolen(2 * SOON), patience()), (1, 4 * SOON));
    assert_eq!(stolen(STUCK), 4);
    worker.shared().set_poll_time(WORTH_A_STEAL - 1);
    assert_eq!(stolen(SOON), 0);
    worker.shared().set_poll_time(2 * WORTH_A_STEAL);
    assert_eq!(stolen(short), 0, "none is seen to wait");
    seen(&worker, |seen| seen.waits = true);
    assert_eq!(stolen(short), 4);
    assert_eq!(worker.counters().steals.get(), 4);
}

/// Lets a worker look at the others, as one whose polls are long or not.
fn look(worker: &Worker, is_long: bool) {
    let lookout = &worker.idle.lookout;
    lookout.even_out(&worker.running(), &lookout.view(worker, now()), is_long);
}

/// Makes it seem that the first worker has made 32 runs in the last poll of the second one.
fn set_stuck(worker: &Worker) {
    let runs = &worker.queues.runs;
    runs.set(runs.get() + u64::from(TURN));
    set_long(worker);
}

#[test]
fn a_theft_from_a_stuck_worker_wakes_another_and_calls_the_hook() {
    let (sender, steals) = mpsc::channel();
    let mut hooks = Hooks::default();
    hooks.on_steal = Some(Box::new(move |steal| sender.send(*steal).expect("kept")));
    let [worker, other] = two_workers_with(hooks);
    let wakes = || {
        set_stuck(&worker);
        wakes_of(&worker, || look(&worker, false))
    };
    assert_eq!(wakes(), 0, "its queue is empty");
    (0..4).for_each(|_| other.queues.push_beyond(task()));
    assert_eq!(wakes(), 1);
    let steal = StealInfo {
        thief: 0,
        victim: 1,
        tasks: 4,
    };
    assert_eq!(steals.try_iter().collect::<Vec<_>>(), [steal]);
}

#[test]
fn a_busy_worker_looks_at_the_others_once_in_a_millisecond() {
    // After how many runs it reads the clock next, and whether it looks now.
    let looks = |time, runs| {
        let [worker, other] = two_workers();
        other.queues.push_beyond(task());
        set_stuck(&worker);
        worker.idle.lookout.set_active(time);
        worker.queues.runs.set(runs);
        let next = worker.idle.lookout.look_around(&worker.running());
        let has_looked = worker.counters().steals.get() == 1;
        let looked = worker.idle.lookout.looked.get();
        assert_eq!(looked.1, if has_looked { runs } else { 0 });
        (next, has_looked)
    };
    assert_eq!(looks(LONG, 0), (1, false), "nothing is measured yet");
    assert_eq!(looks(LONG, 32), (1, true));
    assert_eq!(looks(Duration::ZERO, 32), (MANY as u64, false));
}

/// Workers that are always in polls of the same length, except for the one that looks.
struct Polls(Vec<(Worker, Cell<Option<Runnable>>)>);

impl Polls {
    fn new<const N: usize>(queued: [usize; N], lane: Lane) -> Self {
        let workers = workers_with(N, Hooks::default()).into_iter();
        let polls = Self(workers.map(|worker| (worker, Cell::default())).collect());
        (0..N).for_each(|i| polls.push(i, queued[i], lane));
        polls
    }

    fn push(&self, worker: usize, tasks: usize, lane: Lane) {
        for task in (0..tasks).map(|_| busy()) {
            task.metadata().set_lane(lane);
            self.0[worker].0.push(task, lane);
        }
    }

    /// Ends a poll of the worker, which then looks at the others, and begins the next one.
    fn poll(&self, worker: usize, is_long: bool) {
        let (worker, task) = &self.0[worker];
        task.take()
            .into_iter()
            .for_each(|task| worker.running().run(task));
        look(worker, is_long);
        task.set(worker.queues.next_pinned().or_else(|| worker.queues.pop()));
    }

    /// Ends that many polls of each worker. Returns the numbers of their tasks that are not pinned.
    fn after<const N: usize>(&self, polls: usize, is_long: bool) -> [usize; N] {
        (0..polls).for_each(|_| (0..N).for_each(|i| self.poll(i, is_long)));
        array::from_fn(|i| {
            let (worker, polled) = &self.0[i];
            let task = polled.take();
            let is_pinned = |task: &Runnable| matches!(task.metadata().lane(), Lane::Pinned(_));
            let polls = task.as_ref().is_some_and(|task| !is_pinned(task));
            polled.set(task);
            worker.shared().stealers[i].len() + usize::from(polls)
        })
    }

    fn steals(&self) -> u64 {
        self.0
            .iter()
            .map(|(worker, _)| worker.counters().steals.get())
            .sum()
    }
}

#[test]
fn each_worker_takes_its_share_of_tasks_with_long_polls() {
    for lane in [Lane::Normal, Lane::High] {
        let two = Polls::new([1, 63], lane);
        assert_eq!((two.after(1, true), two.steals()), ([32, 32], 1));
        assert_eq!((two.after(100, true), two.steals()), ([32, 32], 1));
        for is_pinned in [false, true] {
            let eight = match is_pinned {
                false => Polls::new([1, 1, 57, 1, 1, 1, 1, 1], lane),
                true => Polls::new([0, 0, 64, 0, 0, 0, 0, 0], lane),
            };
            // Each worker always has a pinned task.
            (0..8).for_each(|i| eight.push(i, usize::from(is_pinned), Lane::Pinned(i)));
            // After so many more polls, the fewest and the most tasks of a worker, and all thefts.
            for (polls, [least, most], steals) in [
                (1, [1, 32], 7),
                (1, [2, 13], 14),
                (2, [4, 11], 23),
                (100, [6, 9], 30),
                (1000, [6, 9], 30),
            ] {
                let (tasks, stolen) = (eight.after::<8>(polls, true), eight.steals());
                let is_even = tasks.iter().all(|tasks| (least..=most).contains(tasks));
                assert!(is_even && stolen <= steals, "{tasks:?}, {stolen}");
            }
        }
    }
}

#[test]
fn two_tasks_that_share_a_worker_are_not_always_the_same() {
    let three = Polls::new([1, 1, 2], Lane::Normal);
    let row = || three.after::<3>(TURN as usize, true);
    assert_eq!([(); 3].map(|()| row()), [[1, 2, 1], [2, 1, 1], [1, 2, 1]]);
    assert_eq!(three.steals(), 4);
}

#[test]
fn a_share_is_in_proportion_to_the_pace_of_polls() {
    let polls = Polls::new([10, 10], Lane::Normal);
    let steals = [(); 2].map(|()| {
        for _ in 0..400 {
            (0..4).for_each(|_| polls.poll(0, true));
            polls.poll(1, true);
        }
        assert_eq!(polls.after(0, true), [16, 4]);
        polls.steals()
    });
    assert_eq!(steals[0], steals[1], "{steals:?}");
}

#[test]
fn a_worker_that_runs_tasks_of_high_priority_loses_the_others() {
    let polls = Polls::new([10, 10], Lane::Normal);
    polls.push(0, 1, Lane::High);
    assert_eq!(polls.after(200, true), [1, 20], "that one and all others");
}

#[test]
fn tasks_with_short_polls_move_if_they_wait_for_a_row_of_looks() {
    let row = TURN as usize;
    let polls = Polls::new([1, 1, 2, 60], Lane::Normal);
    let before = polls.after(row - 1, false);
    assert_eq!((before, polls.steals()), ([1, 1, 2, 60], 0));
    assert_eq!(
        (polls.after(1, false), polls.steals()),
        ([30, 15, 9, 10], 3)
    );
    let after = polls.after::<4>(100 * row, false);
    assert!(
        after.iter().all(|tasks| (14..=18).contains(tasks)),
        "{after:?}"
    );
    // A queue that was short in any look of the row counts as short.
    let [worker, other] = two_workers();
    for look_at in 0..2 * TURN {
        while look_at % TURN == 9 && other.queues.pop().is_some() {}
        while look_at % TURN != 9 && other.queues.lengths()[0] < 60 {
            other.queues.push_beyond(busy());
        }
        look(&worker, false);
    }
    assert_eq!(worker.counters().steals.get(), 0);
}

#[test]
fn a_lookout_leaves_injected_tasks_to_workers_with_short_polls() {
    // How many of two tasks are taken.
    let taken = |poll_time, all_stuck, is_quiet| {
        let [worker, _other] = two_workers();
        let shared = worker.shared();
        shared.set_poll_time(poll_time);
        if is_quiet {
            (0..2).for_each(|_| shared.sleep.search());
        }
        (0..2).for_each(|_| shared.inject(task(), Lane::Normal));
        let view = View {
            now: Instant::now(),
            makes_progress: false,
            is_slow: false,
            all_stuck,
        };
        let found = at_hand(&worker).or_else(|| worker.idle.look_at_others(&worker, &view));
        found.map_or(0, |_| 1 + worker.queues.lengths()[0])
    };
    assert_eq!(taken(WORTH_A_STEAL - 1, false, false), 0);
    assert_eq!(taken(WORTH_A_STEAL, false, false), 1);
    assert_eq!(taken(0, true, false), 2);
    assert_eq!(taken(0, false, true), 2);
}
