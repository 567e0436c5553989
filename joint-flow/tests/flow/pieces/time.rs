//! Timeouts, where `joint_flow::time` promises more than `joint_executor::time`.

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
