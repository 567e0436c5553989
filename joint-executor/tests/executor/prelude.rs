//! The names that most of these tests use.
#![allow(
    unused_imports,
    reason = "a part of the tests is for some systems and features"
)]

pub(crate) use std::{
    cell::{Cell, RefCell},
    env, fs,
    future::{Future, pending, poll_fn},
    io::{self, ErrorKind, Read, Write},
    mem,
    panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind},
    pin::{Pin, pin},
    rc::Rc,
    sync::{
        Arc, Barrier, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::{Duration, Instant},
};

pub(crate) use joint::{JoinError, JoinHandle, block_on, oneshot};
pub(crate) use joint_executor::{
    Builder, Executor, Handle, JoinSet, LocalExecutor, Priority, TaskBuilder, TaskInfo,
    async_scope, current_worker,
    hosted::{BoundWorker, HostedWorker, Step},
    join, join_async, spawn, spawn_blocking, spawn_detached, spawn_local,
    time::{sleep, sleep_until, timeout},
    yield_now,
};

#[cfg(feature = "io")]
pub(crate) use joint_executor::io::AsyncFd;

pub(crate) use crate::common::*;
