//! The word's promises, and those of the waker in one word and of `block_on`, through the public
//! API.

use joint::{Abandoned, completion::Slotted};

use crate::{
    common::{each_row, poll_with},
    prelude::*,
};

#[test]
fn the_word_is_one_pointer() {
    assert_eq!(size_of::<Completion>(), size_of::<usize>());
    assert_eq!(size_of::<Option<ThinWaker>>(), size_of::<usize>());
    assert_eq!(size_of::<WakerSlot>(), 2 * size_of::<usize>());
    assert_eq!(size_of::<Slotted>(), 3 * size_of::<usize>());
}

#[test]
fn an_answer_is_given_again() {
    let mut completion = Completion::new();
    for answer in [Ok(()), Err(Abandoned)] {
        let (completer, mut waiter) = completion.split();
        assert!(!waiter.is_finished());
        if answer.is_ok() {
            completer.complete();
        } else {
            drop(completer);
        }
        assert!(waiter.is_finished());
        assert_eq!(poll_with(&mut waiter, Waker::noop()), Poll::Ready(answer));
        assert_eq!(poll_with(&mut waiter, Waker::noop()), Poll::Ready(answer));
        assert!(waiter.is_finished() && waiter.blocking_wait_timeout(Duration::ZERO));
        assert_eq!(waiter.blocking_wait(), answer);
    }
}

#[test]
fn a_wait_in_vain_leaves_the_waiter_as_it_was() {
    let mut completion = Completion::new();
    let (completer, mut waiter) = completion.split();
    assert!(!waiter.blocking_wait_timeout(Duration::ZERO));
    assert!(!waiter.blocking_wait_timeout(Duration::from_nanos(1)));
    assert!(!waiter.blocking_wait_deadline(Instant::now()));
    completer.complete();
    assert!(waiter.blocking_wait_deadline(Instant::now()));
    assert_eq!(waiter.blocking_wait(), Ok(()));
}

#[test]
fn the_last_waker_is_woken_once_and_the_others_are_dropped() {
    each_row(
        [("without a slot", false), ("with a slot", true)],
        |in_slot| {
            let (mut completion, mut slot) = (Completion::new(), WakerSlot::new());
            for polls in 1..4 {
                let wakers = [counting(), counting(), counting()];
                for leave in [false, true] {
                    let (completer, mut waiter) = match in_slot {
                        false => completion.split(),
                        true => completion.split_with(&mut slot),
                    };
                    for (_, waker) in &wakers[..polls] {
                        assert_eq!(poll_with(&mut waiter, waker), Poll::Pending);
                        assert_eq!(poll_with(&mut waiter, waker), Poll::Pending);
                    }
                    for (wakes, _) in &wakers[..polls - 1] {
                        assert_eq!(wakes.wakers(), 1, "an older waker is kept");
                    }
                    assert!(!completer.is_detached());
                    if leave {
                        drop(waiter);
                        assert!(completer.is_detached());
                        let kept = wakers.iter().map(|(wakes, _)| wakes.wakers());
                        assert_eq!(kept.max(), Some(1), "it leaves no waker");
                        completer.complete();
                        continue;
                    }
                    completer.complete();
                    assert_eq!(poll_with(&mut waiter, Waker::noop()), Poll::Ready(Ok(())));
                }
                for (i, (wakes, _)) in wakers.iter().enumerate() {
                    assert_eq!(wakes.count(), usize::from(i + 1 == polls));
                    assert_eq!(wakes.wakers(), 1);
                }
            }
        },
    );
}

#[test]
fn a_thin_waker_wakes_what_it_was_made_of() {
    let (wakes, waker) = counting();
    let thin = ThinWaker::from(&waker);
    // Miri gives the table of such wakers more than one address.
    assert!(thin.will_wake(&waker) || cfg!(miri));
    assert!(!thin.will_wake(Waker::noop()));
    // SAFETY: the word of a waker, used once.
    let thin = unsafe { ThinWaker::from_raw(thin.into_raw()) };
    thin.clone().wake();
    thin.wake_by_ref();
    Waker::from(thin).wake();
    assert_eq!(wakes.count(), 3);
    drop(waker);
    assert_eq!(Arc::strong_count(&wakes), 1);
}
