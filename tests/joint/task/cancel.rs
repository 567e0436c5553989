//! Cancelling a task that is idle or running. Every moment, and everything that becomes of the
//! handle, is in `product`; and what the code of a run may do with its own handle in `executors`.

use crate::prelude::*;

/// A cancellation counts at the end of a poll that is pending.
#[test]
fn a_task_that_aborts_itself_ends_in_that_run_or_has_its_output() {
    for is_ready in [false, true] {
        let (queue, dropped) = (Queue::new(), Count::new());
        let output = Dropped(dropped.clone());
        let place = with_its_handle(&queue, |own: Place<Dropped>| async move {
            own.lock().unwrap().as_ref().unwrap().abort();
            if !is_ready {
                pending::<()>().await;
            }
            output
        });
        assert!(!queue.pop().unwrap().run(), "not scheduled again");
        let handle = place.lock().unwrap().take().unwrap();
        match is_ready {
            true => drop(ready(handle)),
            false => assert!(is_cancelled(handle)),
        }
        assert_eq!((queue.len(), dropped.get(), queue.tasks()), (0, 1, 0));
    }
}
