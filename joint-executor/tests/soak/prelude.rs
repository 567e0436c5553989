//! The names that most doors use.
#![allow(
    unused_imports,
    reason = "a part of the doors is for some systems and features"
)]

pub(crate) use std::{
    cell::{Cell, RefCell},
    future::{Future, pending, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::{Pin, pin},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicIsize, AtomicU64, AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::{Duration, Instant},
};

pub(crate) use joint::{JoinError, JoinHandle, host, oneshot};
#[cfg(all(unix, feature = "io"))]
pub(crate) use joint_executor::io;
pub(crate) use joint_executor::{
    Executor, Handle, JoinSet, LocalExecutor, Priority, TaskLocal, current_worker,
    hosted::{BoundWorker, ExecutorId, HostedWorker, ReadyTask, Step, apart as call_apart},
    time::{Interval, Sleep, Timer, interval_at, sleep, timeout, timeout_at},
    yield_now,
};

pub(crate) use crate::{
    doors::{Boxed, End, Output, body, check_call, check_result, function, perform, settle},
    owners::{LONG, SHORT, end, fresh, in_local, until_finished},
    tree::{Choice, Node},
    world::{Here, Is, Left, Token, VALUE, Who, drives, driving, fail},
};
