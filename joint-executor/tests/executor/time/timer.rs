//! `Timer`.

use joint_executor::time::Timer;

use super::past;
use crate::prelude::*;

async fn five_expiries() {
    let begin = Instant::now();
    let mut timer = Timer::new(2 * MILLI);
    for expiry in 1..=5 {
        assert!(!timer.is_armed());
        (&mut timer).await;
        assert!(begin.elapsed() >= 2 * expiry * MILLI);
    }
}

#[test]
fn each_await_arms_it_anew() {
    ends(|| {
        block_on(five_expiries());
        block_on(executor(2).spawn(five_expiries()));
    });
}

#[test]
fn the_duration_counts_from_the_first_poll() {
    ends(|| {
        let mut timer = Timer::new(5 * MILLI);
        block_on(joint_executor::time::sleep(10 * MILLI));
        let begin = Instant::now();
        block_on(&mut timer);
        assert!(begin.elapsed() >= 5 * MILLI);
    });
}

#[test]
fn another_duration_is_for_the_next_time() {
    ends(|| {
        let (wakes, waker) = counting();
        let mut timer = Timer::new(HOUR);
        assert_eq!(poll_with(&mut timer, &waker), Poll::Pending);
        timer.set_duration(MILLI);
        assert_eq!(timer.duration(), MILLI);
        assert_eq!(poll_with(&mut timer, &waker), Poll::Pending);
        assert!(timer.is_armed());
        timer.disarm();
        assert!(!timer.is_armed());
        assert_eq!((wakes.count(), wakes.wakers()), (0, 1));
        let begin = Instant::now();
        block_on(&mut timer);
        assert!(begin.elapsed() >= MILLI);
    });
}

#[test]
fn zero_yields_once_each_time() {
    let (wakes, waker) = counting();
    let mut timer = Timer::new(Duration::ZERO);
    for round in 1..4 {
        assert_eq!(poll_with(&mut timer, &waker), Poll::Pending);
        assert_eq!(wakes.count(), round);
        assert_eq!(poll_with(&mut timer, &waker), Poll::Ready(()));
    }
    assert_eq!(wakes.wakers(), 1);
}

#[test]
fn an_await_that_is_given_up_is_gone_on_with() {
    ends(|| {
        let begin = Instant::now();
        let mut timer = Timer::new(20 * MILLI);
        block_on(async {
            let _given_up = timeout(MILLI, &mut timer).await;
            assert!(timer.is_armed() || begin.elapsed() >= 20 * MILLI);
            (&mut timer).await;
        });
        assert!(begin.elapsed() >= 20 * MILLI);
        assert!(!timer.is_armed());
    });
}

#[test]
fn arm_at_fires_once_at_the_given_instant() {
    ends(|| {
        let begin = Instant::now();
        let mut timer = Timer::new(HOUR);
        timer.arm_at(begin + 3 * MILLI);
        assert!(timer.is_armed());
        block_on(&mut timer);
        assert!(begin.elapsed() >= 3 * MILLI);
        let (wakes, waker) = counting();
        assert_eq!(poll_with(&mut timer, &waker), Poll::Pending);
        timer.arm_at(past());
        assert_eq!(wakes.count(), 1, "who waits is woken");
        assert_eq!(poll_with(&mut timer, &waker), Poll::Ready(()));
    });
}
