//! Where tasks are interleaved, and what a program with primitives of other crates adds.

use std::sync::Arc;

use async_lock::Mutex;
use joint_executor::spawn;
use joint_sim::{Check, point};

use crate::join;

/// Two tasks take two locks in opposite orders.
async fn locks(has_points: bool) {
    let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
    let both = |first: usize| {
        let locks = locks.clone();
        spawn(async move {
            let _first = locks[first].lock().await;
            if has_points {
                point().await;
            }
            let _second = locks[1 - first].lock().await;
        })
    };
    join([both(0), both(1)]).await;
}

#[test]
fn free_locks_of_another_crate_are_interleaved_at_a_point() {
    let found = Check::new().find(|| locks(true)).unwrap_err();
    assert!(found.failure().is_deadlock(), "{found}");
}

/// As *Limits* in the documentation says.
#[test]
fn free_locks_of_another_crate_are_not_interleaved_without_a_point() {
    let checked = Check::new().find(|| locks(false));
    assert_eq!(checked.unwrap().runs, 256);
}
