//! Which workers are woken, which look again, and what it costs: by counts, with all workers on one
//! thread. The models check the races.

use alloc::{sync::Arc, vec::Vec};
use core::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

use super::{
    AWAKE, CLAIMED, CLAIMED_IN_DRIVER, Counts, MOST_WORKERS, Need, SEARCHING, SLEEPING, SLEEPS,
    SLEEPS_IN_DRIVER, Sleep, WAKING, WATCHES, WATCHES_IN_DRIVER, WATCHING, Woke,
};
use crate::{fences::Fences, wakes::Wakes};

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
    let sleep = Sleep::new(workers, Fences::among(2), || {});
    for worker in 0..watching + sleeping {
        let word = if worker < watching { WATCHES } else { SLEEPS };
        park(&sleep, worker, word);
    }
    (0..searching).for_each(|_| sleep.search());
    sleep
}

/// Parks a worker, as far as others can see.
fn park(sleep: &Sleep, worker: usize, word: usize) {
    sleep.search();
    let count = match word {
        WATCHES | WATCHES_IN_DRIVER => WATCHING,
        _ => SLEEPING,
    };
    assert!(!sleep.begin_park(worker, word, count, || false, || false));
}

/// The workers that are parked, and that nobody has claimed.
fn rest_of(sleep: &Sleep) -> Vec<usize> {
    let workers = 0..sleep.words.len();
    workers
        .filter(|&one| sleep.word(one) > CLAIMED_IN_DRIVER)
        .collect()
}

fn counts(sleep: &Sleep) -> u64 {
    sleep.counts.load(Relaxed)
}

/// How many workers were woken by an unpark.
fn ones(woke: Woke) -> usize {
    usize::from(matches!(woke, Woke::One))
}

/// The workers that `f` claims.
fn woken_by<R>(world: World, f: impl FnOnce(&Sleep) -> R) -> Vec<usize> {
    let sleep = self::world(world);
    let before = rest_of(&sleep);
    f(&sleep);
    let after = rest_of(&sleep);
    let woken = before.into_iter().filter(|one| !after.contains(one));
    let woken: Vec<_> = woken.collect();
    assert!(woken.iter().all(|&one| sleep.word(one) == CLAIMED));
    let waking = counts(&sleep) / WAKING;
    assert_eq!(waking, woken.len() as u64, "each is on its way up");
    woken
}

const NEEDS: [Need; 2] = [Need::Lookout, Need::Hands];

#[test]
fn a_push_that_needs_more_wakes_one_beside_a_searcher() {
    let worlds = [
        ([1, 1, 1, 0], [].as_slice()),
        ([0, 1, 1, 1], &[1]),
        ([0, 1, 1, 2], &[2, 1]),
    ];
    for (world, all) in worlds {
        let sleep = self::world(world);
        for &one in all {
            assert_eq!(ones(sleep.notify_from_outside(Need::More)), 1, "{world:?}");
            assert_eq!(sleep.word(one), CLAIMED);
        }
        assert_eq!(ones(sleep.notify_from_outside(Need::More)), 0, "{world:?}");
    }
}

/// The worker that a worker's push wakes, for each of these needs.
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
fn a_push_wakes_a_worker_if_a_lookout_or_hands_are_lacking() {
    for (world, expected) in PUSHES {
        for (need, expected) in NEEDS.into_iter().zip(expected) {
            let woke = expected.iter().count();
            for push in [Sleep::notify, Sleep::notify_from_outside] {
                let notify = |sleep: &Sleep| assert_eq!(ones(push(sleep, need)), woke);
                let woken = woken_by(world, notify);
                assert_eq!(woken, Vec::from_iter(expected), "{world:?}, {need:?}");
            }
        }
    }
}

#[test]
fn a_push_from_outside_wakes_one_also_if_nobody_is_active() {
    let woken = |world, need| woken_by(world, |sleep| sleep.notify_from_outside(need));
    for need in NEEDS {
        assert_eq!(woken([0, 0, 1, 0], need), [0]);
        assert_eq!(woken([0, 0, 1, 1], need), [1]);
        assert_eq!(woken([0, 0, 0, 1], need), [0]);
        assert_eq!(woken([0, 1, 1, 1], need), [0; 0]);
    }
}

#[test]
fn sleepers_are_woken_before_watchers_and_keepers_last() {
    let rings = Arc::new(AtomicUsize::new(0));
    let driver = rings.clone();
    let sleep = Sleep::new(5, Fences::among(2), move || {
        _ = driver.fetch_add(1, Relaxed)
    });
    for (worker, word) in [
        (0, WATCHES),
        (1, SLEEPS_IN_DRIVER),
        (2, SLEEPS),
        (3, WATCHES_IN_DRIVER),
    ] {
        park(&sleep, worker, word);
    }
    let next = || {
        let before = rest_of(&sleep);
        assert_eq!(ones(sleep.notify(Need::Hands)), 1);
        let after = rest_of(&sleep);
        let woken = before.into_iter().find(|one| !after.contains(one)).unwrap();
        let count = [WATCHING, SLEEPING, SLEEPING, WATCHING][woken];
        let _woken = sleep.end_park(woken, count, WAKING);
        let _nobody = sleep.found(Need::Lookout, || false);
        (woken, rings.load(Relaxed))
    };
    assert_eq!([next(), next()], [(2, 0), (1, 1)]);
    assert_eq!([next(), next()], [(0, 1), (3, 2)]);
}

#[test]
fn a_worker_that_is_woken_stands_for_a_lookout_until_it_is_up() {
    for (word, count) in [(SLEEPS, SLEEPING), (WATCHES, WATCHING)] {
        let sleep = Sleep::new(3, Fences::among(2), || {});
        (0..2).for_each(|worker| park(&sleep, worker, word));
        let wakes = || {
            let woke = [
                sleep.notify(Need::Hands),
                sleep.notify_from_outside(Need::Hands),
            ];
            woke.map(ones)
        };
        assert_eq!((wakes(), rest_of(&sleep)), ([1, 0], vec![0]));
        assert_eq!(counts(&sleep), 2 * count + WAKING);
        assert!(sleep.end_park(1, count, WAKING));
        assert_eq!(counts(&sleep), count + SEARCHING);
        assert_eq!(wakes(), [0, 0], "it searches");
        let _nobody = sleep.found(Need::Lookout, || false);
        assert_eq!(wakes(), [1, 0]);
    }
}

/// A worker that is away is woken by its waker, once, and is a searcher when it comes back.
#[test]
fn a_worker_that_is_away_is_woken_once_and_then_searches() {
    let owner = Wakes::new();
    let away = || owner.waker();
    let sleep = Sleep::new(2, Fences::among(2), || {});
    sleep.search();
    for is_urgent in [true, false] {
        let stays = sleep.go_away(0, away(), || is_urgent, || !is_urgent);
        assert!(matches!(stays, Err(Some(_))));
    }
    for pushes in [1, 2] {
        assert!(sleep.go_away(0, away(), || false, || false).is_ok());
        assert_eq!(rest_of(&sleep), [0]);
        match sleep.notify(Need::Lookout) {
            Woke::Away(waker) => waker.wake(),
            other => panic!("{other:?}"),
        }
        assert_eq!(sleep.word(0), CLAIMED);
        assert_eq!(counts(&sleep), SLEEPING, "not on its way up");
        assert!(matches!(sleep.notify(Need::Lookout), Woke::Nobody));
        assert!(sleep.come_back(0).is_none(), "its waker is used up");
        assert_eq!((sleep.word(0), counts(&sleep)), (AWAKE, SEARCHING));
        assert_eq!(owner.count(), pushes);
    }
    // It comes back by itself, and gets the waker to drop.
    assert!(sleep.go_away(0, away(), || false, || false).is_ok());
    let waker = sleep.come_back(0).expect("nobody has woken it");
    assert_eq!(owner.wakers(), 1);
    drop(waker);
    assert_eq!((owner.wakers(), owner.count()), (0, 2));
    let _nobody = sleep.found(Need::Lookout, || false);
    assert!(!sleep.is_anybody_idle());
}

#[test]
fn the_keeper_alone_is_woken_for_the_driver() {
    let sleep = world([1, 0, 1, 1]);
    park(&sleep, 2, SLEEPS_IN_DRIVER);
    for _ in 0..2 {
        sleep.wake_keeper();
        assert_eq!(rest_of(&sleep), [0, 1]);
    }
    let _woke = sleep.wake_worker(1);
    let _woke = sleep.wake_worker(2);
    assert_eq!(rest_of(&sleep), [0]);
}

#[test]
fn the_counts_tell_who_is_quiet_and_idle_and_who_looks_out() {
    for (world, is_quiet, lookouts, is_anybody_idle) in [
        ([1, 0, 0, 0], false, 0, false),
        ([1, 1, 0, 0], false, 1, true),
        ([2, 1, 0, 1], false, 1, true),
        ([1, 2, 0, 0], false, 2, true),
        ([1, 1, 1, 0], false, 2, true),
        ([1, 0, 0, 1], false, 0, true),
        ([0, 1, 0, 1], true, 1, true),
        ([0, 2, 0, 0], true, 2, true),
    ] {
        let sleep = self::world(world);
        assert_eq!(sleep.is_quiet(), is_quiet, "{world:?}");
        assert_eq!(sleep.lookouts(), lookouts, "{world:?}");
        assert_eq!(sleep.is_anybody_idle(), is_anybody_idle, "{world:?}");
    }
}

#[test]
fn a_worker_that_rises_before_it_counts_as_waking_is_not_idle() {
    let sleep = world([1, 0, 0, 0]);
    sleep.counts.fetch_sub(WAKING, Relaxed);
    assert!(!sleep.is_anybody_idle() && !sleep.counts().lack(Need::Hands));
}

#[test]
fn a_worker_that_has_moved_is_unparked_on_its_new_thread() {
    for (worker, moves) in [(0, 1), (1, 2)] {
        let sleep = &Sleep::new(2, Fences::among(2), || {});
        for _ in 0..moves {
            std::thread::scope(|s| _ = s.spawn(|| sleep.begin(worker)).join());
        }
        // A token of this thread would keep it from waiting.
        std::thread::park_timeout(Duration::ZERO);
        sleep.begin(worker);
        sleep.unpark_all();
        // Otherwise this does not end.
        std::thread::park();
    }
}
