//! Every combinator of futures when a destructor panics, and when it is polled again after its end.

use crate::{common::panic_text, prelude::*};

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
