//! The names that most of these tests use.
#![allow(
    unused_imports,
    reason = "a part of the tests is for some systems and features"
)]

pub(crate) use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashMap},
    env,
    fs::{self, File},
    future::{Future, pending, poll_fn},
    io::{self, ErrorKind, Read, Write},
    mem,
    net::SocketAddr,
    panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind},
    path::{Path, PathBuf},
    pin::{Pin, pin},
    process::Command,
    ptr,
    rc::Rc,
    sync::{
        Arc, Barrier, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

pub(crate) use joint::{
    JoinError, JoinHandle, budget, host, oneshot,
    park::{Parker, block_on_timeout, park_until},
    task::Runnable,
};
pub(crate) use joint_executor::{
    Builder, Executor, Handle, JoinSet, LocalExecutor, Priority, TaskBuilder, TaskInfo, TaskLocal,
    async_scope, block_on, current_worker,
    hosted::{self, BoundWorker, ExecutorId, Host, HostedWorker, Step},
    join, join_async, spawn, spawn_blocking, spawn_detached, spawn_local,
    time::{Interval, Sleep, Timer, interval_at, sleep, sleep_until, timeout, timeout_at},
    yield_now,
};

#[cfg(feature = "io")]
pub(crate) use joint_executor::io::AsyncFd;

pub(crate) use crate::common::*;
