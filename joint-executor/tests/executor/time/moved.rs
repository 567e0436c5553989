//! Timers that are moved: between threads, between executors, and away from one that has gone.

use futures_lite::future;

use super::{past, poll_on};
use crate::prelude::*;

/// Waits for a timer that is moved after it was polled: by that poll, by code of nobody, or by a
/// worker of another executor.
fn wait_for_move<T: Send + 'static>(
    timer: fn(Duration) -> T,
    poll: fn(&mut T, &mut Context<'_>) -> Poll<()>,
    move_to: fn(&mut T, Instant),
) {
    ends(move || {
        let executor = executor(1);
        let (_other, other) = bound();
        for (round, wait) in (0..6).zip([HOUR, Duration::MAX].into_iter().cycle()) {
            let shared = Arc::new(Mutex::new(timer(wait)));
            let (armed, is_armed) = mpsc::channel();
            let mut polls = 0;
            let waits = {
                let shared = shared.clone();
                poll_fn(move |cx| {
                    polls += 1;
                    // One more if it had no end before.
                    assert!(polls <= 3, "{polls}");
                    let mut timer = shared.lock().unwrap();
                    let polled = poll(&mut timer, cx);
                    if polls == 1 && round < 2 {
                        move_to(&mut timer, Instant::now() + MILLI);
                    }
                    armed.send(()).unwrap();
                    polled
                })
            };
            if round < 2 {
                block_on(waits);
                continue;
            }
            let waiter = executor.spawn(waits);
            is_armed.recv().unwrap();
            let due = Instant::now() + MILLI;
            let moves = || move_to(&mut shared.lock().unwrap(), due);
            match round / 2 {
                1 => moves(),
                _ => other.enter(moves),
            }
            futures_lite::future::block_on(waiter);
        }
    });
}

/// Of a timer that was due, and of one that would never have been.
#[test]
fn a_reset_wakes_the_task_or_the_thread_that_waits() {
    /// Within the range of `Instant`, and not within that of the timers.
    const FAR: Duration = Duration::from_secs(600 * 9000 * 3600);
    let sleeps: [fn(&mut Sleep, Instant); 3] = [
        Sleep::reset,
        |slept, _| slept.reset(past()),
        |slept, due| {
            slept.reset(Instant::now() + FAR);
            slept.reset(due);
        },
    ];
    for reset in sleeps {
        wait_for_move(sleep, |slept, cx| Pin::new(slept).poll(cx), reset);
    }
    let poll = |timer: &mut Timer, cx: &mut Context<'_>| Pin::new(timer).poll(cx);
    wait_for_move(Timer::new, poll, Timer::arm_at);
    let ticks: [fn(&mut Interval, Instant); 5] = [
        |ticks, _| ticks.reset(),
        |ticks, _| ticks.reset_immediately(),
        |ticks, _| ticks.reset_after(MILLI),
        |ticks, _| ticks.reset_at(past()),
        Interval::reset_at,
    ];
    for reset in ticks {
        let timer = |wait: Duration| interval_at(Instant::now() + wait.min(FAR), MILLI);
        wait_for_move(timer, |ticks, cx| ticks.poll_tick(cx).map(drop), reset);
    }
}

/// Also those that were due when they were polled there.
#[test]
fn every_kind_of_timer_survives_the_drop_of_its_executor() {
    for wait in [Duration::ZERO, 3 * MILLI] {
        ends(move || every_kind_of_timer_survives_the_drop_after(wait));
    }
}

fn every_kind_of_timer_survives_the_drop_after(wait: Duration) {
    let gone = executor(1);
    let start = Instant::now() + wait;
    let kinds = gone.spawn(async move {
        let mut timer = Timer::new(wait);
        let mut ticks = interval_at(start, MILLI);
        let mut late = timeout(wait, pending::<()>());
        let timer_has_fired = future::poll_once(&mut timer).await.is_some();
        let tick = future::poll_once(ticks.tick()).await;
        let is_late = future::poll_once(&mut late).await;
        (timer, timer_has_fired, ticks, tick, late, is_late)
    });
    let (mut timer, timer_has_fired, mut ticks, tick, late, is_late) = block_on(kinds);
    drop(gone);
    block_on(async {
        if !timer_has_fired {
            (&mut timer).await;
        }
        // What came in the first poll is not to come again.
        let tick = match tick {
            Some(tick) => tick,
            None => ticks.tick().await,
        };
        assert_eq!(tick, start);
        assert_eq!(ticks.tick().await, start + MILLI);
        let outcome = match is_late {
            Some(outcome) => outcome,
            None => late.await,
        };
        assert!(outcome.is_err());
    });
}

#[test]
fn a_waker_that_panics_stops_no_other_timer() {
    ends(|| {
        let executor = executor(1);
        let (sender, told) = mpsc::channel();
        // Late enough that all are armed by then, on a busy machine too.
        let due = Instant::now() + 1_000 * MILLI;
        let armed: Vec<Sleep> = (0..100)
            .map(|n| {
                let sender = sender.clone();
                let waker = match n % 2 {
                    0 => waker_that(|| resume_unwind(Box::new("a waker panics"))),
                    _ => waker_that(move || sender.send(()).unwrap()),
                };
                poll_on(&executor, sleep_until(due + n * MILLI / 10), &waker).0
            })
            .collect();
        let own = executor.spawn(sleep_until(due + 20 * MILLI));
        block_on(own);
        for _ in (0..100).filter(|n| n % 2 == 1) {
            told.recv().unwrap();
        }
        drop(armed);
        block_on(executor.spawn(async {}));
    });
}
