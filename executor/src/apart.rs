//! Running code of other tasks inside a poll.

use joint::task;

use super::{guard::guarded, local, task_local};

/// Runs code of other tasks inside a poll of this worker's own task. The code sees no value and no
/// local executor that is set for that task, nor that task itself.
pub(super) fn run_apart(f: impl FnOnce()) {
    let f = || task::without_current(f);
    // A panic must not pass a join that waits further down the stack, because its frame is in use.
    guarded(|| local::without_current(|| task_local::without_values(f)));
}

#[cfg(test)]
mod tests {
    use joint::task;

    use super::run_apart;

    #[test]
    fn code_of_another_task_does_not_see_the_task_in_whose_poll_it_runs() {
        let inside = async {
            let mut seen = task::try_id();
            run_apart(|| seen = task::try_id());
            (seen, task::try_id().is_some())
        };
        let (runnable, handle) = task::spawn(inside, |_| {});
        runnable.run();
        assert_eq!(joint::block_on(handle), (None, true));
    }

    #[test]
    fn a_task_that_has_woken_itself_runs_again_although_other_code_ran_in_between() {
        let mut again = true;
        let inside = core::future::poll_fn(move |cx| {
            cx.waker().wake_by_ref();
            run_apart(|| cx.waker().wake_by_ref());
            match core::mem::take(&mut again) {
                true => core::task::Poll::Pending,
                false => core::task::Poll::Ready(()),
            }
        });
        let (runnable, _handle) = task::spawn(inside, |runnable: task::Runnable| {
            runnable.run();
        });
        assert!(runnable.run());
    }
}
