//! The heap memory of timers: room in their worker's queue, and nothing that stays.

use std::{
    future::{Future, pending},
    pin::Pin,
    sync::atomic::Ordering::Relaxed,
    task::{Context, Poll, Waker},
    time::Duration,
};

use crate::common::{HOUR, MILLI, executor};
use crate::counting::{BYTES, COUNT, alone};
use joint::block_on;
use joint_executor::time::{Timer, interval, sleep, timeout};

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
