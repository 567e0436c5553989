//! Timeouts and delays, where `joint_flow::time` promises more than `joint_executor::time`.

use joint_executor::{spawn, time::sleep_until};
use joint_flow::time::{now, timeout_at, yield_now};

use crate::prelude::*;

const MS: Duration = Duration::from_millis(1);

#[test]
fn an_operation_that_waits_for_the_deadline_itself_wins() {
    Check::new().faults(Faults::none()).run(|| async {
        let deadline = now() + MS;
        let tasks = [0, 1].map(|n| {
            spawn(async move {
                let operation = async {
                    sleep_until(deadline).await;
                    n
                };
                assert_eq!(timeout_at(deadline, operation).await, Ok(n));
            })
        });
        join(tasks).await;
    });
}

#[test]
fn a_tie_with_another_task_is_won_by_either() {
    let (wins, losses) = (Cell::new(0), Cell::new(0));
    Check::new().faults(Faults::none()).run(|| async {
        let deadline = now() + MS;
        let other = spawn(sleep_until(deadline));
        yield_now().await;
        let count = match timeout_at(deadline, other).await {
            Ok(()) => &wins,
            Err(_) => &losses,
        };
        count.set(count.get() + 1);
    });
    assert!(wins.get() > 0 && losses.get() > 0, "{wins:?}, {losses:?}");
}

#[test]
fn a_delay_takes_at_least_one_trip_through_the_queue() {
    check(|| async {
        for duration in [Duration::ZERO, Duration::from_nanos(1)] {
            let mut delay = pin!(delay(duration));
            let mut polls = 0;
            poll_fn(|cx| {
                polls += 1;
                delay.as_mut().poll(cx)
            })
            .await;
            assert!(polls >= 2, "{polls}");
        }
        // Nor if its time has passed before it is first polled.
        let mut late = pin!(delay(MS));
        delay(3 * MS).await;
        let mut cx = Context::from_waker(Waker::noop());
        assert!(late.as_mut().poll(&mut cx).is_pending());
        late.await;
    });
}
