//! Every ordering of the state word is needed: one step weaker, and the model named here fails.

use loom_tests::killed;

use crate::{cancel, itself, release, wake, world::Schedule::ZeroSized};

killed! {
    in "task::", all after
        wake::wake_by_reference_against_run(ZeroSized),
        wake::wake_by_value_against_run(ZeroSized),
        release::last_waker_woken_by_value_against_detached_completion(ZeroSized),
        release::last_waker_dropped_against_detached_completion(ZeroSized),
        cancel::abort_against_run(ZeroSized),
        itself::abort_against_a_yield(ZeroSized),
        release::last_waker_dropped_against_idle(ZeroSized),
        release::detach_against_completion(ZeroSized),
        release::last_waker_dropped_against_join(ZeroSized),
        cancel::drop_of_the_handle_against_completion(ZeroSized);
    wake: "state::wake" to Relaxed by wake::wake_by_reference_against_run(ZeroSized);
    wake_by_value: "state::wake_by_value" to Relaxed by wake::wake_by_value_against_run(ZeroSized);
    wake_free: "state::wake_free" to Relaxed by release::last_waker_woken_by_value_against_detached_completion(ZeroSized);
    drop: "state::drop" to Relaxed by release::last_waker_dropped_against_detached_completion(ZeroSized);
    drop_last: "state::drop_last" to Relaxed by release::last_waker_dropped_against_detached_completion(ZeroSized);
    run: "state::run" to Relaxed by wake::wake_by_reference_against_run(ZeroSized);
    idle: "state::idle" to Relaxed by wake::wake_by_reference_against_run(ZeroSized);
    idle_cancel: "state::idle_cancel" to Relaxed by cancel::abort_against_run(ZeroSized);
    keep_cancel: "state::keep_cancel" to Relaxed by itself::abort_against_a_yield(ZeroSized);
    idle_orphan: "state::idle_orphan" to Relaxed by release::last_waker_dropped_against_idle(ZeroSized);
    finish_look: "state::finish_look" to Relaxed by release::detach_against_completion(ZeroSized);
    finish: "state::finish" to Relaxed by release::detach_against_completion(ZeroSized);
    finish_free: "state::finish_free" to Relaxed by release::detach_against_completion(ZeroSized);
    joined_look: "state::joined_look" to Relaxed by release::last_waker_dropped_against_join(ZeroSized);
    joined: "state::joined" to Relaxed by release::last_waker_dropped_against_join(ZeroSized);
    joined_free: "state::joined_free" to Relaxed by release::last_waker_dropped_against_join(ZeroSized);
    detach: "state::detach" to Relaxed by release::detach_against_completion(ZeroSized);
    detach_last: "state::detach_last" to Relaxed by release::detach_against_completion(ZeroSized);
    cancel: "state::cancel" to Relaxed by cancel::drop_of_the_handle_against_completion(ZeroSized);
    cancel_free: "state::cancel_free" to Relaxed by cancel::drop_of_the_handle_against_completion(ZeroSized);
    abort: "state::abort" to Relaxed by cancel::abort_against_run(ZeroSized);
}
