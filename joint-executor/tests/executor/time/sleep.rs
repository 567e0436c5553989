//! `sleep`, `sleep_until` and `Sleep`.

use super::past;
use crate::prelude::*;

/// Never early, and the same time for what counts from the call and what is told as an instant.
async fn wait(nanos: u64) {
    let duration = Duration::from_nanos(nanos);
    let begin = Instant::now();
    let slept = sleep(duration);
    let made = Instant::now();
    let deadline = slept.deadline().unwrap();
    assert!(nanos == 0 || (begin + duration <= deadline && deadline <= made + duration));
    slept.await;
    assert!(begin.elapsed() >= duration);
    sleep_until(begin + 2 * duration).await;
    assert!(begin.elapsed() >= 2 * duration);
}

async fn wait_for_many_durations() {
    for nanos in [0, 1, 1000, 999_999, 1_000_001, 3_141_592] {
        wait(nanos).await;
    }
}

#[test]
fn nobody_is_woken_early_wherever_the_sleep_is_awaited() {
    ends(|| {
        for workers in [1, 2] {
            let executor = executor(workers);
            let tasks = [(); 50].map(|()| executor.spawn(wait_for_many_durations()));
            tasks.into_iter().for_each(block_on);
        }
        block_on(wait_for_many_durations());
        let local = LocalExecutor::new();
        let tasks = [(); 20].map(|()| local.spawn(wait_for_many_durations()));
        block_on(local.run(async {
            for task in tasks {
                task.await;
            }
        }));
    });
}

fn assert_yields_once(mut sleep: Sleep) {
    let (wakes, waker) = counting();
    assert!(sleep.is_elapsed());
    assert_eq!(poll_with(&mut sleep, &waker), Poll::Pending);
    assert_eq!(wakes.count(), 1);
    assert_eq!(wakes.wakers(), 1, "it is not armed");
    assert_eq!(poll_with(&mut sleep, &waker), Poll::Ready(()));
    assert_eq!(poll_with(&mut sleep, &waker), Poll::Ready(()), "again");
    assert_eq!(wakes.count(), 1);
}

#[test]
fn zero_and_the_past_yield_once() {
    assert_yields_once(sleep(Duration::ZERO));
    assert_yields_once(sleep_until(past()));
    assert_yields_once(sleep_until(Instant::now()));
    let mut slept = sleep(HOUR);
    slept.reset(past());
    assert_yields_once(slept);
}

#[test]
fn a_sleep_beyond_the_clocks_range_never_ends() {
    let century = 100 * 365 * 24 * HOUR;
    let mut sleeps = vec![sleep(Duration::MAX)];
    assert_eq!(sleeps[0].deadline(), None);
    let far = Instant::now().checked_add(6 * century);
    sleeps.extend(far.map(sleep_until));
    for mut slept in sleeps {
        let (wakes, waker) = counting();
        assert!(!slept.is_elapsed());
        assert_eq!(poll_with(&mut slept, &waker), Poll::Pending);
        // A reset may still give it an end.
        assert_eq!((wakes.count(), wakes.wakers()), (0, 2));
        assert!(format!("{slept:?}").contains("Endless"));
    }
    // The farthest that is armed.
    let mut slept = sleep(5 * century);
    assert_eq!(poll_with(&mut slept, &counting().1), Poll::Pending);
    assert!(format!("{slept:?}").contains("Armed"));
}

#[test]
fn a_sleep_can_be_reset_after_it_has_ended() {
    ends(|| {
        let begin = Instant::now();
        let mut slept = sleep(MILLI);
        for expiry in 1..10 {
            block_on(&mut slept);
            assert!(begin.elapsed() >= expiry * MILLI);
            slept.reset(begin + (expiry + 1) * MILLI);
        }
    });
}

#[test]
fn a_reset_to_a_later_time_is_not_woken_at_the_earlier() {
    ends(|| {
        let (wakes, waker) = counting();
        let mut slept = sleep(10 * MILLI);
        assert_eq!(poll_with(&mut slept, &waker), Poll::Pending);
        slept.reset(Instant::now() + HOUR);
        let before = wakes.count();
        block_on(sleep(20 * MILLI));
        assert_eq!(poll_with(&mut slept, &waker), Poll::Pending);
        assert_eq!(wakes.count(), before);
        drop(slept);
        assert_eq!(wakes.wakers(), 1);
    });
}

#[test]
fn a_sleep_has_all_auto_traits_and_takes_at_most_40_bytes() {
    fn is_all<T: Send + Sync + Unpin + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    is_all::<Sleep>();
    assert!(size_of::<Sleep>() <= 40);
}
