//! Schedule functions that are copied out of the task before they are called: nothing keeps the
//! task alive during the call, and another thread may run and free it before the call returns.

use super::{cancel, join, release, wake, world::Schedule::Copied};

macro_rules! copied {
    ($($file:ident :: $model:ident)*) => {$(
        #[test]
        fn $model() {
            $file::$model(Copied);
        }
    )*};
}

copied! {
    wake::wake_by_reference_against_run
    wake::wake_by_value_against_run
    wake::self_wake_against_wake
    release::last_waker_dropped_against_detach
    release::two_last_wakers_dropped
    release::last_waker_dropped_against_idle
    release::last_waker_woken_against_idle
    release::last_waker_woken_by_value_against_detached_completion
    cancel::drop_of_the_handle_against_run
    cancel::drop_of_the_handle_against_last_waker
    cancel::drop_of_the_handle_against_wake_by_value
    cancel::abort_against_wake
    cancel::abort_and_drop_against_run
    join::a_task_awaits_a_task
}
