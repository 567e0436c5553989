//! `race`.

use joint_executor::{spawn, yield_now};
use joint_flow::{OneOf4, OneOf5, OneOf6, OneOf7, OneOf8};

use crate::prelude::*;

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
            if let Some((place, number)) = may_cancel(race).await {
                seen.push(number.unwrap());
                left.remove(place);
            }
        }
        seen.sort();
        assert_eq!(seen, [0, 1, 2]);
    });
}
