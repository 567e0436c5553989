//! What all combinators of futures have in common: how they end when they are dropped, when they
//! are ready, when one of their futures panics, and when they are polled after that.

use crate::{common::panic_text, prelude::*};

type Boxed = Pin<Box<dyn Future<Output = ()>>>;
type Try = Result<(), ()>;

/// Adds a line when the future is ready, and drops the future after that.
fn boxed<F: Future + 'static>(log: &Log, future: F) -> Boxed {
    let log = log.clone();
    Box::pin(async move {
        let mut future = pin!(future);
        future.as_mut().await;
        log.add("the caller goes on");
    })
}

/// Combinators of three futures, of which one success is enough, or one failure, or neither.
fn combinators<F>(log: &Log, three: impl Fn() -> [F; 3]) -> [(&'static str, Boxed); 10]
where
    F: Future<Output = Try> + 'static,
{
    let [a, b, c] = three();
    let choice = choose::<()>()
        .when(|| a, |_| ())
        .when(|| b, |_| ())
        .when(|| c, |_| ());
    let tuple = <(F, F, F)>::from(three());
    [
        ("race", boxed(log, race(three()))),
        ("race of a tuple", boxed(log, race(tuple))),
        ("choose", boxed(log, choice)),
        ("quorum", boxed(log, quorum(1, three()))),
        ("any", boxed(log, any(three()))),
        ("try_all", boxed(log, try_all(Vec::from(three())))),
        ("strict", boxed(log, quorum(1, Vec::from(three())).strict())),
        ("missed quorum", boxed(log, quorum(3, three()))),
        ("all", boxed(log, all(three()))),
        ("quorum of all", boxed(log, quorum(3, Vec::from(three())))),
    ]
}

#[test]
fn a_combinator_that_is_dropped_drops_its_futures_in_order() {
    check(|| async {
        let log = Log::new();
        let three = || ["1", "2", "3"].map(|name| holding(log.on_drop(name)));
        for (name, mut combinator) in combinators(&log, three) {
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
fn losers_are_dropped_in_order_before_the_caller_goes_on() {
    check(|| async {
        for (ends, decided) in [(Ok(()), 0..5), (Err(()), 5..8)] {
            let log = Log::new();
            let three = || {
                ["a", "ended", "b"].map(|name| {
                    let held = log.on_drop(name);
                    async move {
                        let _held = held;
                        match name {
                            "ended" => after(1, ends).await,
                            _ => pending().await,
                        }
                    }
                })
            };
            for (name, combinator) in Vec::from(combinators(&log, three)).drain(decided) {
                let before = log.all().len();
                combinator.await;
                let expected = ["ended", "a", "b", "the caller goes on"];
                assert_eq!(log.all()[before..], expected, "{name}");
            }
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
    for (name, combinator) in combinators(&log, || [false, true, false].map(future)) {
        let before = log.all().len();
        let ended = catch_unwind(AssertUnwindSafe(|| joint::block_on(combinator)));
        let payload = ended.expect_err(name);
        assert_eq!(payload.downcast_ref(), Some(&"child"), "{name}");
        assert_eq!(log.all()[before..], ["dropped"; 3], "{name}");
    }
}

/// Polls again after the end, and returns the message of the panic.
fn again(future: impl Future) -> String {
    let mut future = pin!(future);
    let mut poll = || {
        let mut cx = Context::from_waker(Waker::noop());
        future.as_mut().poll(&mut cx).is_ready()
    };
    assert!(catch_unwind(AssertUnwindSafe(&mut poll)).unwrap_or(true));
    panic_text(poll)
}

#[test]
fn polling_after_the_end_panics() {
    let ok = || [ready(Ok::<_, ()>(1))];
    let none = Vec::<Ready<Result<u8, ()>>>::new;
    let failed = [ready(Err::<(), _>(1))];
    let panics = async { panic!("child") };
    for (name, message) in [
        ("race", again(race([ready(1)]))),
        ("race of a tuple", again(race((ready(1), ready(2))))),
        ("race of a panic", again(race((pending::<()>(), panics)))),
        ("choose", again(choose().when(|| ready(1), |n| n))),
        ("all", again(all(ok()))),
        ("all of a tuple", again(all((ready(1), ready(2))))),
        ("all of none", again(all(none()))),
        ("try_all", again(try_all(ok()))),
        ("failed", again(try_all(failed))),
        ("all_ready", again(all_ready(ok()))),
        ("quorum", again(quorum(1, ok()))),
        ("quorum of 0", again(quorum(0, ok()))),
        ("missed quorum", again(quorum(2, ok()))),
        ("strict", again(quorum(1, ok()).strict())),
        ("keep_losers", again(quorum(1, ok()).keep_losers())),
        ("any", again(any(ok()))),
        ("any of none", again(any(none()))),
    ] {
        let expected = "polled again after it was ready";
        assert!(message.contains(expected), "{name}: {message}");
    }
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
    let mut cx = Context::from_waker(Waker::noop());
    let message = panic_text(|| race.as_mut().poll(&mut cx).is_ready());
    assert_eq!(message, "loser");
    drop(race);
    assert_eq!(drops.get(), 2);
    assert_eq!(Rc::strong_count(&drops), 1);
}
