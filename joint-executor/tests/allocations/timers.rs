//! The heap memory of timers: room in their worker's queue, and nothing that stays.

use std::{
    future::{Future, pending},
    pin::Pin,
    sync::atomic::Ordering::Relaxed,
    task::{Context, Poll, Waker},
    time::Duration,
};

use crate::common::executor;
use crate::counting::{BYTES, COUNT, alone};
use joint::block_on;
use joint_executor::{
    spawn,
    time::{Timer, interval, sleep, timeout},
};

const MILLI: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

/// One of each kind.
async fn wait_in_each_way(timer: &mut Timer, ticks: &mut joint_executor::time::Interval) {
    sleep(MILLI).await;
    sleep(Duration::ZERO).await;
    (&mut *timer).await;
    ticks.tick().await;
    let late = timeout(MILLI, pending::<()>()).await;
    assert!(late.is_err());
}

#[test]
fn only_the_first_wait_allocates() {
    let _alone = alone();
    let allocated = block_on(executor(1).spawn(async {
        let (mut timer, mut ticks) = (Timer::new(MILLI), interval(MILLI));
        wait_in_each_way(&mut timer, &mut ticks).await;
        let before = COUNT.get().allocated;
        for _ in 0..10 {
            wait_in_each_way(&mut timer, &mut ticks).await;
        }
        COUNT.get().allocated - before
    }));
    assert_eq!(allocated, 0);
}

const MANY: usize = 1_000_000;

#[test]
fn a_million_take_less_than_48_bytes_each_and_give_them_back() {
    let _alone = alone();
    block_on(executor(1).spawn(async {
        sleep(MILLI).await;
        let mut sleeps = Vec::with_capacity(MANY);
        sleeps.extend(
            (0..MANY).map(|n| sleep(HOUR + u32::try_from(n % 1000).unwrap() * 7919 % 1000 * MILLI)),
        );
        let before = BYTES.load(Relaxed);
        let mut cx = Context::from_waker(Waker::noop());
        for slept in &mut sleeps {
            assert_eq!(Pin::new(slept).poll(&mut cx), Poll::Pending);
        }
        let taken = BYTES.load(Relaxed) - before;
        assert!(taken < 48 * MANY as isize, "{taken} bytes");
        sleeps.clear();
        let left = BYTES.load(Relaxed) - before;
        assert!(left < 64 * 1024, "{left} bytes are left");
    }));
}

#[test]
fn executors_that_end_with_timers_leave_no_memory_behind() {
    let _alone = alone();
    let live = |executors: usize| {
        for _ in 0..executors {
            let executor = executor(2);
            block_on(executor.spawn(async {
                for n in 0..200 {
                    spawn(sleep(HOUR + n * MILLI)).detach();
                }
                sleep(MILLI).await;
            }));
        }
        BYTES.load(Relaxed)
    };
    // What is made once stays. That is also the global executor: a task whose poll has begun when
    // its executor is closed waits for that executor's timers.
    block_on(spawn(sleep(MILLI)));
    let before = live(100);
    // Workers of the last executor may still be about to end.
    let is_back = |after: &isize| *after <= before + 32 * 1024;
    let mut after = Vec::new();
    while after.len() < 10 && !after.last().is_some_and(is_back) {
        after.push(live(100));
    }
    assert!(
        after.last().is_some_and(is_back),
        "{before} bytes became {after:?} in 100 executors each"
    );
}
