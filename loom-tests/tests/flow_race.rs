//! Models of `race` on its real source: two completions against a race, and a win against the drop
//! of the race.

use joint::oneshot::{Receiver, Sender};
use joint_flow::{Kept, OneOf2, Race, race};
use loom_tests::join_all;

use crate::{
    flow::{drain, end, end_all},
    prelude::*,
};

type Two = Race<Kept<(Receiver<Value>, Receiver<Value>)>>;

fn poll(race: &mut Pin<Box<Two>>, wakes: &Arc<Wakes>) -> Poll<bool> {
    loom_tests::poll(race, wakes).map(|winner| {
        let is_left = matches!(winner, OneOf2::A(_));
        winner.into_inner().unwrap().look();
        is_left
    })
}

fn world() -> (Drops, Pin<Box<Two>>, Vec<Sender<Value>>) {
    let (left, left_receiver) = oneshot::channel();
    let (right, right_receiver) = oneshot::channel();
    let race = Box::pin(race((left_receiver, right_receiver)));
    (Drops::default(), race, vec![left, right])
}

/// Cell: race: two completions against a race.
#[test]
fn two_completions_against_a_race() {
    model_bounded(3, || {
        let (drops, race, senders) = world();
        let threads = end_all(senders, [true; 2], &drops);
        drain(async { race.await.into_inner().unwrap().look() }, threads);
        drops.assert_all_of(2);
    });
}

/// Cell: race: the leftmost ready one wins.
#[test]
fn the_left_one_wins_if_both_have_completed() {
    model_bounded(3, || {
        let (drops, mut race, senders) = world();
        let wakes = Wakes::new();
        assert!(poll(&mut race, &wakes).is_pending());
        let threads = end_all(senders, [true; 2], &drops);
        join_all(threads);
        assert!(wakes.count() > 0);
        assert_eq!(poll(&mut race, &wakes), Poll::Ready(true));
        drops.assert_all_of(2);
    });
}

/// Cell: race: losers are dropped before the caller goes on.
#[test]
fn the_losers_completion_against_its_drop() {
    model_bounded(3, || {
        let (drops, mut race, mut senders) = world();
        assert!(poll(&mut race, &Wakes::new()).is_pending());
        let loser = senders.pop().unwrap();
        let thread = end(loser, true, &drops);
        senders.pop().unwrap().send(drops.value()).unwrap();
        assert_eq!(poll(&mut race, &Wakes::new()), Poll::Ready(true));
        thread.join().unwrap();
        drop(race);
        drops.assert_all_of(2);
    });
}

/// Cell: race: cancel against win.
#[test]
fn a_win_against_the_drop_of_the_race() {
    model(|| {
        let (drops, mut race, mut senders) = world();
        let wakes = Wakes::new();
        assert!(poll(&mut race, &wakes).is_pending());
        let thread = end(senders.remove(0), true, &drops);
        drop(race);
        assert!(senders[0].is_closed());
        thread.join().unwrap();
        assert!(wakes.count() <= 1);
        assert_eq!(wakes.wakers(), 0);
        drops.assert_all_of(1);
    });
}
