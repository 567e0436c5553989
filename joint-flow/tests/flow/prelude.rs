//! The names that several of these tests use.

pub(crate) use std::{
    cell::{Cell, RefCell},
    future::{Future, Ready, pending, poll_fn, ready},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::{Pin, pin},
    rc::Rc,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::Duration,
};

pub(crate) use joint::{block_on, budget, oneshot};
pub(crate) use joint_executor::{Executor, LocalExecutor, point};
pub(crate) use joint_flow::{
    OneOf2, OneOf3, Task, TaskError, all, all_ready, any,
    choice::choose,
    lock::FlowLock,
    promise::{self, never},
    quorum, race, shared,
    task::spawn_local,
    time::delay,
    try_all, uncancellable,
    variable::AsyncVar,
};
pub(crate) use joint_sim::{Check, Faults, may_cancel};

pub(crate) use crate::common::{
    Log, PanicsInDrop, after, check, counted, counting, holding, in_process, join, on_drop,
    one_worker, poll_with, settled, waker_that,
};
