//! Which workers are woken, which look again, and what it costs: by counts, with all workers on one
//! thread. The models check the races.

use alloc::{sync::Arc, vec::Vec};
use core::{
    cell::Cell,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

use super::{
    AfterPark, Away, Counts, MOST_WORKERS, Need, Parking, SEARCHING, SLEEPING, Sleep, Slept,
    WATCHING, Watched, Woke, lock,
};
use crate::fences::{Fences, HEAVY_FENCES};

std::thread_local! {
    /// How often this thread has locked a list.
    pub(super) static LOCKS: Cell<usize> = const { Cell::new(0) };
}

fn locks_of(f: impl FnOnce()) -> usize {
    let before = LOCKS.get();
    f();
    LOCKS.get() - before
}

#[test]
fn a_worker_that_does_not_rest_is_woken_without_the_list_though_others_rest() {
    let sleep = Sleep::new(2, Fences::ordinary(), || {});
    sleep.search();
    sleep.rest(1, SLEEPING, &Parking::Thread);
    assert_eq!(locks_of(|| sleep.wake_worker(0)), 0, "active");
    assert_eq!(locks_of(|| sleep.wake_worker(1)), 1, "resting");
    assert_eq!(locks_of(|| sleep.wake_worker(1)), 0, "woken already");
}

#[test]
fn the_counts_have_room_for_all_workers() {
    let most = MOST_WORKERS as u64;
    let counts = Counts(most * SEARCHING + most * WATCHING + most * SLEEPING);
    let read = [counts.searching(), counts.watching(), counts.sleeping()];
    assert_eq!(read, [most; 3]);
}

/// How many workers are active, search, watch and sleep. Those that rest have the lowest numbers.
type World = [usize; 4];

fn world([active, searching, watching, sleeping]: World) -> Sleep {
    let workers = active + searching + watching + sleeping;
    let sleep = Sleep::new(workers, Fences::ordinary(), || {});
    for worker in 0..watching + sleeping {
        let how = if worker < watching {
            WATCHING
        } else {
            SLEEPING
        };
        sleep.search();
        sleep.rest(worker, how, &Parking::Thread);
    }
    (0..searching).for_each(|_| sleep.search());
    sleep
}

fn rest_of(sleep: &Sleep) -> Vec<usize> {
    lock(&sleep.resting).iter().map(|one| one.worker).collect()
}

/// The workers that `f` wakes.
fn woken_by(world: World, f: impl FnOnce(&Sleep)) -> Vec<usize> {
    let sleep = self::world(world);
    let before = rest_of(&sleep);
    f(&sleep);
    let after = rest_of(&sleep);
    let searching = Counts(sleep.counts.load(Relaxed)).searching();
    let woken = before.into_iter().filter(|one| !after.contains(one));
    let woken: Vec<_> = woken.collect();
    let expected = world[1] + woken.len();
    assert_eq!(searching, expected as u64, "every woken worker searches");
    woken
}

const NEEDS: [Need; 2] = [Need::Lookout, Need::Hands];

/// The worker that a worker's push wakes, for each of the needs.
const PUSHES: [(World, [Option<usize>; 2]); 8] = [
    ([1, 0, 0, 0], [None, None]),
    ([1, 1, 0, 1], [None, None]),
    ([1, 1, 1, 0], [None, None]),
    ([1, 1, 1, 1], [None, None]),
    ([1, 0, 0, 1], [Some(0), Some(0)]),
    ([1, 0, 0, 2], [Some(1), Some(1)]),
    ([1, 0, 1, 0], [None, Some(0)]),
    ([1, 0, 1, 1], [None, Some(1)]),
];

#[test]
fn a_push_of_a_worker_wakes_another_if_it_lacks_a_lookout_or_asks_for_help() {
    for (world, expected) in PUSHES {
        for (need, expected) in NEEDS.into_iter().zip(expected) {
            let woke = expected.map_or(Woke::Nobody, |_| Woke::One);
            let notify = |sleep: &Sleep| assert_eq!(sleep.notify(need), woke);
            let woken = woken_by(world, notify);
            assert_eq!(woken, Vec::from_iter(expected), "{world:?}, {need:?}");
        }
    }
}

#[test]
fn a_push_from_outside_wakes_one_also_if_nobody_is_active() {
    let woken = |world, need| woken_by(world, |sleep| sleep.notify_from_outside(need));
    for (world, expected) in PUSHES {
        for (need, expected) in NEEDS.into_iter().zip(expected) {
            assert_eq!(
                woken(world, need),
                Vec::from_iter(expected),
                "{world:?}, {need:?}"
            );
        }
    }
    for need in NEEDS {
        assert_eq!(woken([0, 0, 1, 0], need), [0]);
        assert_eq!(woken([0, 0, 1, 1], need), [1]);
        assert_eq!(woken([0, 0, 0, 1], need), [0]);
        assert_eq!(woken([0, 1, 1, 1], need), [0; 0]);
    }
}

#[test]
fn sleepers_are_woken_before_watchers_and_each_kinds_keeper_last() {
    let rings = Arc::new(AtomicUsize::new(0));
    let ring = rings.clone();
    let ring = move || _ = ring.fetch_add(1, Relaxed);
    let sleep = Sleep::new(5, Fences::ordinary(), ring);
    let mut never = |_| unreachable!("no worker parks");
    for (worker, how, is_keeper) in [
        (0, WATCHING, false),
        (1, SLEEPING, true),
        (2, SLEEPING, false),
        (3, WATCHING, true),
    ] {
        sleep.search();
        let parking = match is_keeper {
            true => Parking::Driver(&mut never),
            false => Parking::Thread,
        };
        sleep.rest(worker, how, &parking);
    }
    let next = || {
        let before = rest_of(&sleep);
        assert_eq!(sleep.notify(Need::Hands), Woke::One);
        sleep.found(|| false);
        let after = rest_of(&sleep);
        let woken = before.into_iter().find(|one| !after.contains(one));
        (woken.unwrap(), rings.load(Relaxed))
    };
    assert_eq!([next(), next()], [(2, 0), (1, 1)]);
    assert_eq!([next(), next()], [(0, 1), (3, 2)]);
}

/// A worker that is away is woken by its function, once, and is a searcher when it comes back.
#[test]
fn a_worker_that_is_away_is_woken_once_and_comes_back_as_a_searcher() {
    std::thread_local! {
        static WOKEN: Cell<usize> = const { Cell::new(0) };
    }
    struct Woken;
    impl std::task::Wake for Woken {
        fn wake(self: alloc::sync::Arc<Self>) {
            WOKEN.set(WOKEN.get() + 1);
        }
    }
    let away = || Away::new(alloc::sync::Arc::new(Woken).into());
    let sleep = Sleep::new(2, Fences::ordinary(), || {});
    sleep.search();
    assert_eq!(sleep.go_away(0, away(), || true, || false), Slept::NotAtAll);
    assert_eq!(sleep.go_away(0, away(), || false, || true), Slept::NotAtAll);
    for pushes in [1, 2] {
        assert_eq!(sleep.go_away(0, away(), || false, || false), Slept::AWhile);
        assert_eq!(rest_of(&sleep), [0]);
        let before = WOKEN.get();
        let woke = [(); 2].map(|()| sleep.notify(Need::Lookout));
        assert_eq!(woke, [Woke::One, Woke::Nobody], "then it searches");
        assert_eq!((WOKEN.get() - before, rest_of(&sleep)), (1, vec![]));
        sleep.come_back(0);
        assert_eq!(WOKEN.get(), pushes);
    }
    // It comes back by itself.
    sleep.go_away(0, away(), || false, || false);
    sleep.come_back(0);
    assert_eq!((rest_of(&sleep), WOKEN.get()), (vec![], 2));
    sleep.found(|| false);
    assert!(!sleep.is_anybody_idle());
}

#[test]
fn the_keeper_alone_is_woken_for_the_driver() {
    let sleep = world([1, 0, 1, 1]);
    let mut never = |_| unreachable!("no worker parks");
    sleep.search();
    sleep.rest(2, SLEEPING, &Parking::Driver(&mut never));
    #[cfg(feature = "io")]
    {
        sleep.wake_keeper();
        assert_eq!(rest_of(&sleep), [0, 1]);
        sleep.wake_keeper();
    }
    sleep.wake_worker(1);
    sleep.wake_worker(2);
    assert!(!rest_of(&sleep).contains(&1) && rest_of(&sleep).contains(&0));
}

#[test]
fn a_need_that_is_met_by_then_wakes_nobody() {
    for (world, lookout, hands) in [
        ([1, 0, 0, 1], Woke::One, Woke::One),
        ([1, 0, 1, 1], Woke::Nobody, Woke::One),
        ([1, 1, 0, 1], Woke::Nobody, Woke::Nobody),
    ] {
        let wakes = |need| self::world(world).wake_one(need);
        assert_eq!(wakes(Need::Lookout), lookout, "{world:?}");
        assert_eq!(wakes(Need::Hands), hands, "{world:?}");
    }
}

#[test]
fn all_are_woken_at_the_end() {
    let sleep = world([0, 1, 2, 2]);
    sleep.wake_all();
    assert_eq!(rest_of(&sleep), [0; 0]);
    assert_eq!(sleep.counts.load(Relaxed), 5 * SEARCHING);
}

#[test]
fn the_counts_tell_whether_workers_are_quiet_idle_or_lack_a_watcher() {
    for (world, is_quiet, wants_watcher, is_anybody_idle) in [
        ([1, 0, 0, 0], false, false, false),
        ([1, 1, 0, 0], false, true, true),
        ([2, 1, 0, 1], false, true, true),
        ([1, 2, 0, 0], false, false, true),
        ([1, 1, 1, 0], false, false, true),
        ([1, 0, 0, 1], false, false, true),
        ([0, 1, 0, 1], true, false, true),
        ([0, 2, 0, 0], true, false, true),
    ] {
        let sleep = self::world(world);
        assert_eq!(sleep.is_quiet(), is_quiet, "{world:?}");
        assert_eq!(sleep.wants_watcher(), wants_watcher, "{world:?}");
        assert_eq!(sleep.is_anybody_idle(), is_anybody_idle, "{world:?}");
    }
}

/// What a look of the last lookout costs: the number of heavy fences, and the number of looks.
type Cost = [usize; 2];

fn cost_of(has_work: bool, f: impl FnOnce(&dyn Fn() -> bool)) -> Cost {
    let looks = Cell::new(0);
    let before = HEAVY_FENCES.get();
    f(&|| {
        looks.set(looks.get() + 1);
        has_work
    });
    [HEAVY_FENCES.get() - before, looks.get()]
}

#[test]
fn the_last_finder_rechecks_with_a_heavy_fence_if_others_are_active() {
    for (world, expected) in [
        ([1, 1, 0, 0], [0, 0]),
        ([1, 2, 0, 1], [0, 0]),
        ([1, 1, 1, 1], [0, 0]),
        ([0, 1, 0, 1], [0, 1]),
        ([1, 1, 0, 1], [1, 1]),
        ([2, 1, 0, 1], [1, 1]),
    ] {
        for has_work in [false, true] {
            let sleep = self::world(world);
            let cost = cost_of(has_work, |look| sleep.found(look));
            assert_eq!(cost, expected, "{world:?}");
            let is_woken = rest_of(&sleep).len() < world[2] + world[3];
            assert_eq!(is_woken, has_work && cost[1] > 0, "{world:?}");
        }
    }
}

#[test]
fn the_last_lookout_to_sleep_rechecks_with_a_heavy_fence_if_others_are_active() {
    for (world, expected) in [
        ([0, 1, 0, 0], [0, 1]),
        ([0, 1, 0, 1], [0, 1]),
        ([1, 1, 0, 0], [1, 1]),
        ([2, 1, 0, 1], [1, 1]),
        ([1, 2, 0, 0], [0, 0]),
        ([0, 2, 0, 0], [0, 0]),
        ([1, 1, 1, 0], [0, 0]),
    ] {
        for has_work in [false, true] {
            let sleep = self::world(world);
            let worker = world[2] + world[3];
            let mut slept = Slept::NotAtAll;
            let cost = cost_of(has_work, |look| {
                let mut park = |_| AfterPark::Rise;
                slept = sleep.sleep(worker, || false, look, Parking::Reserve(&mut park));
            });
            assert_eq!(cost, expected, "{world:?}");
            let stays_awake = has_work && cost[1] > 0;
            assert_eq!(slept == Slept::NotAtAll, stays_awake, "{world:?}");
            assert!(!rest_of(&sleep).contains(&worker));
        }
    }
}

#[test]
fn a_worker_with_urgent_work_does_not_park() {
    let mut never = |_| unreachable!("something urgent keeps it from parking");
    let sleep = world([1, 1, 0, 0]);
    let slept = sleep.sleep(0, || true, || false, Parking::Reserve(&mut never));
    assert_eq!(slept, Slept::NotAtAll);
    let limit = Duration::from_secs(1);
    let watched = sleep.watch(0, limit, || true, Parking::Reserve(&mut never));
    assert!(watched == Watched::Over);
}

#[test]
fn a_sleeper_parks_again_after_a_spurious_wake_up() {
    let sleep = world([1, 1, 0, 0]);
    let mut times = 0;
    let mut park = |limit| {
        assert_eq!(limit, None);
        times += 1;
        match times {
            3 => AfterPark::Rise,
            _ => AfterPark::Wait,
        }
    };
    let slept = sleep.sleep(0, || false, || false, Parking::Driver(&mut park));
    assert_eq!(slept, Slept::AWhile);
    assert_eq!(times, 3);
}

#[test]
fn a_watcher_parks_once_and_learns_whether_it_was_woken() {
    for (need, woke) in NEEDS.into_iter().zip([Woke::Nobody, Woke::One]) {
        let sleep = world([1, 1, 0, 0]);
        let limit = Duration::from_secs(1);
        let mut times = 0;
        let mut park = |given| {
            assert_eq!(given, Some(limit));
            times += 1;
            assert_eq!(sleep.notify(need), woke);
            AfterPark::Wait
        };
        let watched = sleep.watch(0, limit, || false, Parking::Reserve(&mut park));
        assert_eq!(watched == Watched::Woken, woke == Woke::One);
        assert_eq!(times, 1);
        assert_eq!(sleep.counts.load(Relaxed), SEARCHING);
    }
}

#[test]
fn rouse_wakes_every_worker_that_has_begun() {
    let sleep = Sleep::new(2, Fences::ordinary(), || {});
    std::thread::scope(|s| {
        let parked: Vec<_> = (0..2)
            .map(|_| {
                let (sleep, (begun, has_begun)) = (&sleep, std::sync::mpsc::channel());
                s.spawn(move || {
                    sleep.begin();
                    begun.send(()).unwrap();
                    std::thread::park();
                });
                has_begun
            })
            .collect();
        parked.iter().for_each(|begun| begun.recv().unwrap());
        // Otherwise none of them ends.
        sleep.rouse();
    });
}
