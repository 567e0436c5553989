//! `Timer`, and `interval` and `interval_at`. What each choice for missed ticks gives is tested
//! beside it, without a clock.

use joint_executor::time::interval;

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

/// One poll that is to take a tick.
fn take(interval: &mut Interval) -> Instant {
    let (wakes, waker) = counting();
    let polled = interval.poll_tick(&mut Context::from_waker(&waker));
    assert_eq!((wakes.count(), wakes.wakers()), (0, 1));
    match polled {
        Poll::Ready(due) => due,
        Poll::Pending => panic!("a tick that is due makes wait"),
    }
}

fn assert_waits(interval: &mut Interval) {
    let (_, waker) = counting();
    let polled = interval.poll_tick(&mut Context::from_waker(&waker));
    assert_eq!(polled, Poll::Pending);
}

#[test]
fn the_first_tick_is_at_once() {
    let begin = Instant::now();
    let mut hourly = interval(HOUR);
    let due = take(&mut hourly);
    assert!(begin <= due && due <= Instant::now());
    assert_eq!(hourly.period(), HOUR);
    assert_waits(&mut hourly);
}

/// After each reset one tick is due, or none before an hour, and the next one is a period later.
#[test]
fn a_reset_says_when_the_next_tick_is_due() {
    type Reset = fn(&mut Interval, Instant);
    const PAST: Duration = Duration::from_secs(1);
    let rows: [(Reset, Option<Duration>); 8] = [
        (|ticks, _| ticks.reset(), None),
        (|ticks, _| ticks.reset_immediately(), Some(Duration::ZERO)),
        (
            |ticks, _| ticks.reset_after(Duration::ZERO),
            Some(Duration::ZERO),
        ),
        (|ticks, _| ticks.reset_after(HOUR), None),
        (|ticks, _| ticks.reset_after(Duration::MAX), None),
        (|ticks, now| ticks.reset_at(now), Some(Duration::ZERO)),
        (|ticks, now| ticks.reset_at(now - PAST), Some(PAST)),
        (|ticks, now| ticks.reset_at(now + HOUR), None),
    ];
    for (row, (reset, is_due)) in rows.into_iter().enumerate() {
        // Before its first tick, and after it.
        for taken in 0..2 {
            let begin = Instant::now();
            let mut ticks = interval_at(begin, HOUR);
            (0..taken).for_each(|_| _ = take(&mut ticks));
            reset(&mut ticks, begin);
            if let Some(age) = is_due {
                let due = take(&mut ticks) + age;
                assert!(begin <= due && due <= Instant::now(), "row {row}");
            }
            assert_waits(&mut ticks);
        }
    }
    let mut ticks = interval(HOUR);
    assert!(block_on(ticks.next()).is_some());
    assert_waits(&mut ticks);
}

#[test]
fn no_tick_is_lost_when_one_is_given_up() {
    ends(|| {
        let start = Instant::now() + 10 * MILLI;
        let mut ticks = interval_at(start, HOUR);
        block_on(async {
            while timeout(MILLI, ticks.tick()).await.is_err() {}
            sleep(MILLI).await;
        });
        assert_waits(&mut ticks);
        let start = Instant::now() + 5 * MILLI;
        let mut ticks = interval_at(start, 5 * MILLI);
        block_on(async {
            assert!(timeout(Duration::ZERO, ticks.tick()).await.is_err());
            // Due meanwhile, and nobody there.
            sleep(11 * MILLI).await;
            assert_eq!(ticks.tick().await, start);
            assert_eq!(ticks.tick().await, start + 5 * MILLI);
        });
    });
}

#[test]
fn a_period_that_is_too_long_ticks_once() {
    let mut once = interval(Duration::MAX);
    take(&mut once);
    let (wakes, waker) = counting();
    let polled = once.poll_tick(&mut Context::from_waker(&waker));
    assert_eq!(polled, Poll::Pending);
    assert_eq!(wakes.wakers(), 1, "it is not armed");
    once.reset();
    assert_waits(&mut once);
}

#[test]
fn a_period_of_zero_is_refused() {
    let message = panic_text(|| interval(Duration::ZERO));
    assert!(message.contains("joint_executor::yield_now"), "{message}");
}

#[cfg(feature = "futures-core")]
#[test]
fn as_a_stream_it_gives_the_instants_of_its_ticks() {
    use futures_lite::StreamExt;

    let start = Instant::now();
    let ticks = interval_at(start, MILLI).take(3).collect::<Vec<_>>();
    assert_eq!(block_on(ticks), [start, start + MILLI, start + 2 * MILLI]);
}
