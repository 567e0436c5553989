//! What a program draws at random is decided, shrunk and replayed as everything else is.

use joint_sim::random;

use crate::prelude::*;

/// A queue is good for fewer messages than this.
const ROOM: u64 = 17;

/// Fails if one of three queues is too long. The rest is noise.
async fn too_long_a_queue() {
    let queues: Vec<_> = (0..3)
        .map(|_| {
            spawn(async {
                for _ in 0..random() % 4 {
                    yield_now().await;
                }
                random() % 10_000
            })
        })
        .collect();
    for queue in queues {
        let length = queue.await;
        assert!(length < ROOM, "a queue of {length} messages");
    }
}

/// Returns the lines of a report that say what was drawn.
fn drawn(found: &Found) -> Vec<String> {
    let report = found.to_string();
    let drawn = report.lines().filter(|line| line.contains(" drew "));
    drawn.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn a_length_that_was_drawn_is_shrunk_to_the_least_that_fails() {
    for first in 0..5 {
        let found = found(&Check::new().first_seed(first), too_long_a_queue);
        let report = found.to_string();
        says(&report, "a queue of 17 messages");
        let drawn = drawn(&found);
        let place = " drew 17 at joint-sim/tests/sim/drawn.rs:";
        assert!(drawn.iter().any(|line| line.contains(place)), "{report}");
        // Of the others, some are 1: with 0, a task that matters less would draw one more number.
        assert!(drawn.len() <= 3, "{report}");
        let replay = found.shrunk_replay().unwrap();
        let (decisions, _digests) = replay.split_once('@').unwrap();
        assert!(decisions.len() < 60, "{replay}");
        let again = crate::found(&Check::new().replay(replay), too_long_a_queue);
        assert_eq!(again.failure().to_string(), found.failure().to_string());
    }
}

#[test]
fn after_what_the_shrinker_sets_the_seed_decides() {
    // Ends only once it has drawn a number that it likes.
    let picky = |most: u64| {
        move || async move {
            let mut draws = 1;
            while random() % 16 != 9 {
                draws += 1;
            }
            assert!(draws <= most, "it took too many draws");
        }
    };
    let found = found(&Check::new(), picky(5));
    assert!(found.shrunk_replay().is_some(), "{found}");
    let all_zero = Check::new().replay("list:3:r999=0");
    let again = crate::found(&all_zero, picky(999));
    says(&again, "too many draws");
    all_zero.run(picky(10_000));
}

#[test]
fn draws_that_do_not_matter_are_0_up_to_a_number_of_them() {
    let found = found(&Check::new(), || async {
        let all: Vec<_> = (0..40).map(|_| random()).collect();
        yield_now().await;
        for _ in 0..6_000 {
            random();
        }
        assert!(all[30] % 100 < 40, "{} is too much", all[30]);
    });
    let replay = found.shrunk_replay().unwrap();
    says(&replay, ":r30=40,r4095=0/");
    assert_eq!(drawn(&found).len(), 1, "{found}");
}
