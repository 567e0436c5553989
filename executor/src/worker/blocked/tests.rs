//! How long a blocked worker may sleep.

use crate::worker::harness::two_workers;

use super::BLOCKED_LOOK;

#[test]
fn a_blocked_worker_looks_again_only_where_nobody_gives_a_sign() {
    let [worker, _other] = two_workers();
    assert_eq!(
        worker.running().attend_blocked(),
        None,
        "the first use of the driver wakes it"
    );
    worker.shared().close();
    assert_eq!(worker.running().attend_blocked(), Some(BLOCKED_LOOK));
}
