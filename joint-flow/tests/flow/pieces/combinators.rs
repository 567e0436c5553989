//! What all combinators of futures have in common: how they end when they are dropped, and when one
//! of their futures panics.

use std::{
    future::pending,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Waker},
};

use joint::budget;
use joint_flow::{all, any, choice::choose, quorum, race, try_all};

use crate::common::{Log, check, holding};

type Boxed = Pin<Box<dyn Future<Output = ()>>>;

fn boxed(future: impl Future + 'static) -> Boxed {
    Box::pin(async {
        future.await;
    })
}

/// Combinators of three futures.
fn combinators<F>(three: impl Fn() -> [F; 3]) -> [(&'static str, Boxed); 8]
where
    F: Future<Output = Result<(), ()>> + 'static,
{
    let [a, b, c] = three();
    let choice = choose::<()>()
        .when(|| a, |_| ())
        .when(|| b, |_| ())
        .when(|| c, |_| ());
    let tuple = <(F, F, F)>::from(three());
    [
        ("race", boxed(race(three()))),
        ("race of a tuple", boxed(race(tuple))),
        ("choose", boxed(choice)),
        ("all", boxed(all(three()))),
        ("try_all", boxed(try_all(Vec::from(three())))),
        ("quorum", boxed(quorum(2, three()))),
        ("strict", boxed(quorum(2, Vec::from(three())).strict())),
        ("any", boxed(any(three()))),
    ]
}

#[test]
fn a_combinator_that_is_dropped_drops_its_futures_in_order() {
    check(|| async {
        let log = Log::new();
        let three = || ["1", "2", "3"].map(|name| holding(log.on_drop(name)));
        for (name, mut combinator) in combinators(three) {
            let before = log.all().len();
            // With a small budget, not all futures would begin.
            budget::refill();
            let polled = combinator
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending(), "{name}");
            drop(combinator);
            assert_eq!(log.all()[before..], ["1", "2", "3"], "{name}");
        }
    });
}

#[test]
fn a_panic_of_one_future_is_resumed_and_the_others_are_dropped() {
    let log = Log::new();
    let future = |panics| {
        let held = log.on_drop("dropped");
        async move {
            let _held = held;
            if panics {
                panic!("child");
            }
            pending().await
        }
    };
    for (name, combinator) in combinators(|| [false, true, false].map(future)) {
        let before = log.all().len();
        let ended = catch_unwind(AssertUnwindSafe(|| joint::block_on(combinator)));
        let payload = ended.expect_err(name);
        assert_eq!(payload.downcast_ref(), Some(&"child"), "{name}");
        assert_eq!(log.all()[before..], ["dropped"; 3], "{name}");
    }
}
