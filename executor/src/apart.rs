//! Running code of other tasks inside a poll.

use super::{guard::guarded, local, task_local};

/// Runs code of other tasks inside a poll of this worker's own task. The code sees no value and no
/// local executor that is set for that task.
pub(super) fn run_apart(f: impl FnOnce()) {
    // A panic must not pass a join that waits further down the stack, because its frame is in use.
    guarded(|| local::without_current(|| task_local::without_values(f)));
}
