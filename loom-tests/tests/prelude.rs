//! The names that several of the models use.

pub(crate) use std::{
    cell::{Cell, RefCell},
    future::{Future, pending, poll_fn, ready},
    mem::ManuallyDrop,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::{Pin, pin},
    ptr::NonNull,
    rc::Rc,
    sync::{
        Arc,
        atomic::{
            AtomicUsize as Counter,
            Ordering::{self, Acquire, Relaxed, Release},
        },
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

pub(crate) use joint::{
    block_on,
    completion::{Ended, Registration},
    oneshot,
    task::{self, Builder, JoinResult, Runnable},
};
pub(crate) use joint_executor::{
    Executor, LocalExecutor,
    model::{Deques, Driven, Forks, Inbox, Registry, Stealer, Timers},
    spawn,
    time::sleep,
    yield_now,
};
pub(crate) use joint_switch::model::observe::set_observer;
pub(crate) use loom_tests::{
    Drops, Mark, Value, Wakes, each_step,
    event::Event,
    lab::{failure_of, thread::JoinHandle as Thread},
    model, model_bounded, model_from_both_sides, model_window, others_first, poll, rmws_of,
    second_poll, start, stopping,
};
