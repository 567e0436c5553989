//! `race`.

use std::{
    cell::Cell,
    future::{pending, ready},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use joint::oneshot;
use joint_executor::{spawn, time, yield_now};
use joint_flow::{OneOf2, OneOf3, OneOf4, OneOf5, OneOf6, OneOf7, OneOf8, all, race, try_all};
use joint_sim as sim;

use crate::common::{Log, after, check, holding};

#[test]
fn the_leftmost_ready_one_wins() {
    check(|| async {
        assert_eq!(race((ready('a'), ready("b"))).await, OneOf2::A('a'));
        let third = race((pending::<()>(), after(1, 'b'), ready('c')));
        assert_eq!(third.await, OneOf3::C('c'));
        assert_eq!(race([after(2, 0), after(1, 1), after(1, 2)]).await, (1, 1));
        assert_eq!(race(vec![after(1, 'x'), after(1, 'y')]).await, (0, 'x'));
        let last = race((
            pending::<u8>(),
            pending::<u8>(),
            pending::<u8>(),
            pending::<u8>(),
            pending::<u8>(),
            pending::<u8>(),
            pending::<u8>(),
            after(3, 8),
        ));
        let last = last.await;
        assert_eq!(last, OneOf8::H(8));
        assert_eq!(last.into_inner(), 8);
    });
}

/// Both are woken before the race is polled again, the right one first.
#[test]
fn the_leftmost_wins_among_those_woken_at_once() {
    check(|| async {
        let (left, left_receiver) = oneshot::channel();
        let (right, right_receiver) = oneshot::channel();
        let sender = spawn(async move {
            right.send("right").unwrap();
            left.send("left").unwrap();
        });
        let winner = race((left_receiver, right_receiver)).await;
        sender.await;
        // The race may be polled between the two only if it runs on another worker.
        if winner == OneOf2::A(Ok("left")) {
            return;
        }
        assert_eq!(winner, OneOf2::B(Ok("right")));
    });
    let (left, left_receiver) = oneshot::channel();
    let (right, right_receiver) = oneshot::channel();
    let mut both = pin!(race([left_receiver, right_receiver]));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(both.as_mut().poll(&mut cx).is_pending());
    right.send("right").unwrap();
    left.send("left").unwrap();
    assert_eq!(both.poll(&mut cx), Poll::Ready((0, Ok("left"))));
}

#[test]
fn an_error_wins_like_a_value() {
    check(|| async {
        let (sender, receiver) = oneshot::channel::<u8>();
        drop(sender);
        let winner = race((receiver, ready(1))).await;
        assert_eq!(winner, OneOf2::A(Err(oneshot::RecvError)));
        let winner = race([after(1, Err("lost")), after(1, Ok(1))]).await;
        assert_eq!(winner, (0, Err("lost")));
    });
}

#[test]
fn losers_are_dropped_before_the_race_returns() {
    check(|| async {
        let log = Log::new();
        let loser = |name| holding::<_, ()>(log.on_drop(name));
        // The race itself is dropped after the caller has gone on.
        let mut race = pin!(race((loser("a"), loser("b"), after(1, ()), loser("c"))));
        assert!(matches!(race.as_mut().await, OneOf4::C(())));
        log.add("the caller goes on");
        let mut race = pin!(joint_flow::race((ready(()), loser("never polled"))));
        race.as_mut().await;
        log.add("the caller goes on");
        let goes_on = "the caller goes on";
        assert_eq!(log.all(), ["a", "b", "c", goes_on, "never polled", goes_on]);
    });
}

/// The race's task is woken by the winner alone, and finds the sender of the loser closed.
#[test]
fn the_loser_is_cancelled_when_the_winner_is_seen() {
    check(|| async {
        let (sender, receiver) = oneshot::channel::<()>();
        let (winner, second) = oneshot::channel();
        let task = spawn(async move { winner.send(7).unwrap() });
        assert_eq!(race((receiver, second)).await, OneOf2::B(Ok(7)));
        assert!(sender.is_closed());
        task.await;
    });
}

#[test]
fn each_place_of_each_tuple_wins() {
    macro_rules! each_wins {
        ($($OneOf:ident: $($nth:literal $Variant:ident),+;)+) => {$(
            let count = [$($nth),+].len();
            for winner in 0..count {
                let polls = |place| if place == winner { 1 } else { 2 };
                let first = race(($(after(polls($nth), $nth),)+)).await;
                let expected = [$($OneOf::$Variant($nth)),+];
                assert_eq!(first, expected[winner]);
                assert_eq!(first.into_inner(), winner);
            }
            assert_eq!(all(($(after($nth % 3, $nth),)+)).await, ($($nth,)+));
            let tried = try_all(($(after($nth % 3, Ok::<_, ()>($nth)),)+)).await;
            assert_eq!(tried, Ok(($($nth,)+)));
            let errors = try_all(($(after($nth % 3, Err::<(), _>($nth)),)+)).await;
            assert_eq!(errors, Err(0));
        )+};
    }
    check(|| async {
        each_wins! {
            OneOf2: 0 A, 1 B;
            OneOf3: 0 A, 1 B, 2 C;
            OneOf4: 0 A, 1 B, 2 C, 3 D;
            OneOf5: 0 A, 1 B, 2 C, 3 D, 4 E;
            OneOf6: 0 A, 1 B, 2 C, 3 D, 4 E, 5 F;
            OneOf7: 0 A, 1 B, 2 C, 3 D, 4 E, 5 F, 6 G;
            OneOf8: 0 A, 1 B, 2 C, 3 D, 4 E, 5 F, 6 G, 7 H;
        }
    });
}

/// A race of references may be cancelled at any point: no output is lost, and no wake-up.
#[test]
fn a_cancelled_race_of_references_loses_nothing() {
    check(|| async {
        let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..3).map(|_| oneshot::channel()).unzip();
        for (number, sender) in senders.into_iter().enumerate() {
            spawn(async move {
                for _ in 0..number {
                    yield_now().await;
                }
                sender.send(number).unwrap();
            })
            .detach();
        }
        let mut seen = Vec::new();
        let mut left: Vec<_> = receivers.iter_mut().collect();
        while !left.is_empty() {
            let race = race(left.iter_mut().collect::<Vec<_>>());
            if let Some((place, number)) = sim::may_cancel(race).await {
                seen.push(number.unwrap());
                left.remove(place);
            }
        }
        seen.sort();
        assert_eq!(seen, [0, 1, 2]);
    });
}

/// Wherever a race is cancelled, each future is dropped once, and in order.
#[test]
fn a_race_that_is_cancelled_anywhere_drops_its_futures_in_order() {
    check(|| async {
        let log = Log::new();
        let futures = ["a", "b", "c"].map(|name| {
            let guard = log.on_drop(name);
            async move {
                let _guard = guard;
                time::sleep(Duration::from_secs(1)).await;
                pending::<()>().await;
            }
        });
        let race = race((race(futures), time::sleep(Duration::from_secs(2))));
        let cancelled = sim::may_cancel(race).await;
        assert!(cancelled.is_none_or(|winner| winner == OneOf2::B(())));
        assert_eq!(log.all(), ["a", "b", "c"]);
    });
}

#[test]
fn timers_race_in_virtual_time() {
    check(|| async {
        let timers = [30, 10, 20].map(|seconds| time::sleep(Duration::from_secs(seconds)));
        assert_eq!(race(timers).await.0, 1);
    });
}

#[test]
fn a_panic_of_one_future_is_resumed_and_the_others_are_dropped() {
    let log = Log::new();
    let other = holding::<_, ()>(log.on_drop("other"));
    let mut race = Box::pin(race((other, async { panic!("child") })));
    let mut poll = || {
        let mut cx = Context::from_waker(Waker::noop());
        catch_unwind(AssertUnwindSafe(|| race.as_mut().poll(&mut cx).is_ready()))
    };
    assert_eq!(*poll().unwrap_err().downcast::<&str>().unwrap(), "child");
    let message = poll().unwrap_err().downcast::<&str>().unwrap();
    assert!(message.contains("polled again after it was ready or had panicked"));
    drop(race);
    assert_eq!(log.all(), ["other"]);
}

#[test]
#[should_panic(expected = "polled again after it was ready")]
fn a_race_that_is_polled_after_its_end_panics() {
    let mut race = pin!(race([ready(1)]));
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(race.as_mut().poll(&mut cx), Poll::Ready((0, 1)));
    let _ = race.poll(&mut cx);
}

#[test]
fn a_race_of_none_is_never_ready() {
    let mut none = race(Vec::<Pin<Box<dyn Future<Output = ()>>>>::new());
    let polled = Pin::new(&mut none).poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending());
    joint::block_on(async {
        assert_eq!(
            race((race::<[std::future::Ready<u8>; 0]>([]), after(2, 1))).await,
            OneOf2::B(1)
        );
    });
}

/// The destructor of a loser wakes another one, and panics: nothing is dropped twice.
#[test]
fn a_loser_that_panics_when_dropped_leaves_nothing_behind() {
    struct Panics(Rc<Cell<u32>>);
    impl Drop for Panics {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            if self.0.get() == 1 {
                panic!("loser");
            }
        }
    }
    let drops = Rc::new(Cell::new(0));
    let loser = || holding::<_, ()>(Panics(drops.clone()));
    let mut race = Box::pin(race((loser(), loser(), after(0, Rc::clone(&drops)))));
    let polled = catch_unwind(AssertUnwindSafe(|| {
        race.as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_ready()
    }));
    assert_eq!(*polled.unwrap_err().downcast::<&str>().unwrap(), "loser");
    drop(race);
    assert_eq!(drops.get(), 2);
    assert_eq!(Rc::strong_count(&drops), 1);
}
