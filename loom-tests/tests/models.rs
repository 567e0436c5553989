//! All models, as one program. Each module has those of one piece.
#![cfg(joint_loom)]

#[macro_use(models, models_of)]
extern crate loom_tests;

mod blocked;
mod completion;
mod deques;
mod driver;
mod executor;
mod flow;
mod flow_cancel;
mod flow_choice;
mod flow_collection;
mod flow_lock;
mod flow_quorum;
mod flow_race;
mod flow_stream;
mod flow_variable;
mod flow_woken;
mod fork_join;
mod gate;
#[path = "guide/main.rs"]
mod guide;
mod inbox;
#[cfg(target_os = "linux")]
mod io_uring;
mod join_set;
mod leaving;
mod local_executor;
mod oneshot;
mod parker;
mod prelude;
mod readiness;
mod registry;
mod shared;
mod sleep;
mod sleep_queues;
mod task;
mod timers;
mod two_workers;
