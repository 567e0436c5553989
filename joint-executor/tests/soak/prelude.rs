//! The names that most doors use.
#![allow(
    unused_imports,
    reason = "a part of the doors is for some systems and features"
)]

pub(crate) use std::{
    cell::Cell,
    future::{Future, pending, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::{Pin, pin},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        mpsc,
    },
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

pub(crate) use joint::{JoinError, JoinHandle, host, oneshot};
#[cfg(all(unix, feature = "io"))]
pub(crate) use joint_executor::io;
pub(crate) use joint_executor::{
    Executor, Handle, JoinSet, LocalExecutor, Priority, TaskLocal, current_worker,
    hosted::{BoundWorker, ExecutorId, Step, apart as call_apart},
    time::sleep,
    yield_now,
};

pub(crate) use crate::{
    doors::{Boxed, End, Output, body, check_call, check_result, function, perform, settle},
    owners::{end, fresh, until_finished},
    tree::{Choice, Node},
    wakes::waker_that,
    world::{Here, Is, Left, Token, VALUE, Who, drives, driving, fail},
};
