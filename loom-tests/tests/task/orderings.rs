//! Every ordering of the state word is needed: one step weaker, and the model named here fails.

use std::sync::atomic::Ordering::Relaxed;

use joint_switch::model::sites_seen;
use loom_tests::assert_killed;

use crate::{cancel, itself, release, wake, world::Schedule::ZeroSized};

macro_rules! killed {
    ($($site:ident by $file:ident :: $model:ident ($how:ident);)*) => {$(
        #[test]
        fn $site() {
            let site = concat!("task::state::", stringify!($site));
            assert_killed(site, Relaxed, || $file::$model($how));
        }
    )*

        /// Each site that a model reaches either asks for `Relaxed` or is in the list.
        #[test]
        fn no_site_is_left_out() {
            let killed = [$(concat!("task::state::", stringify!($site))),*];
            $($file::$model($how);)*
            for (site, asked) in sites_seen() {
                let listed = asked == Relaxed || killed.contains(&&*site);
                assert!(listed || !site.starts_with("task::"), "no model kills `{site}`");
            }
        }
    };
}

killed! {
    wake by wake::wake_by_reference_against_run(ZeroSized);
    wake_by_value by wake::wake_by_value_against_run(ZeroSized);
    wake_free by release::last_waker_woken_by_value_against_detached_completion(ZeroSized);
    drop by release::last_waker_dropped_against_detached_completion(ZeroSized);
    drop_last by release::last_waker_dropped_against_detached_completion(ZeroSized);
    run by wake::wake_by_reference_against_run(ZeroSized);
    idle by wake::wake_by_reference_against_run(ZeroSized);
    idle_cancel by cancel::abort_against_run(ZeroSized);
    keep_cancel by itself::abort_against_a_yield(ZeroSized);
    idle_orphan by release::last_waker_dropped_against_idle(ZeroSized);
    finish_look by release::detach_against_completion(ZeroSized);
    finish by release::detach_against_completion(ZeroSized);
    finish_free by release::detach_against_completion(ZeroSized);
    joined_look by release::last_waker_dropped_against_join(ZeroSized);
    joined by release::last_waker_dropped_against_join(ZeroSized);
    joined_free by release::last_waker_dropped_against_join(ZeroSized);
    detach by release::detach_against_completion(ZeroSized);
    detach_last by release::detach_against_completion(ZeroSized);
    cancel by cancel::drop_of_the_handle_against_completion(ZeroSized);
    cancel_free by cancel::drop_of_the_handle_against_completion(ZeroSized);
    abort by cancel::abort_against_run(ZeroSized);
}
