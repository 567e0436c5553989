//! Running code of other tasks inside a poll.

use super::{guard::guarded, local, span::without_spans, task_local};

/// Runs code of other tasks inside a poll of this worker's own task. The code sees nothing that is
/// set for that task.
pub(super) fn run_apart(f: impl FnOnce()) {
    // The calls for the spans are user code. A panic there must not pass a join that waits further
    // down the stack, because its frame is in use. If a fork was not begun, it goes back to its
    // owner.
    guarded(|| {
        without_spans(|| local::without_current(|| task_local::without_values(f)));
    });
}
