//! The names that several of these tests use.

pub(crate) use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    env,
    future::{Future, pending},
    io::{self, ErrorKind},
    net::Shutdown,
    panic::catch_unwind,
    path::PathBuf,
    pin::{Pin, pin},
    process::Command,
    rc::Rc,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    task::{Poll, Waker},
    thread,
    time::Duration,
};

pub(crate) use futures_lite::{AsyncWriteExt, future::zip};
pub(crate) use joint::{block_on, park};
pub(crate) use joint_executor::{
    Executor, Handle, JoinSet, LocalExecutor, TaskBuilder, async_scope, spawn, spawn_blocking,
    spawn_detached, spawn_local,
    time::{interval, now, sleep, timeout},
    waiting_for, yield_now,
};
pub(crate) use joint_sim::{
    self as sim, Builder, Check, Faults, Found, Host, HostEnd, Panics, Scheduler, check,
    current_host,
    net::{self, Latency, Link},
};

pub(crate) use crate::{
    Counts, Dropped, SECOND,
    bugs::{Joint, Version},
    common::{OnDrop, each_row, in_process, panic_text},
    each_seed, executor, forever, found, join, on_host, remove_files, run_once, says,
};

/// Makes a program, as the rows of tables have it.
pub(crate) type Program = fn() -> Pin<Box<dyn Future<Output = ()>>>;

pub(crate) const MILLI: Duration = Duration::from_millis(1);

/// A path of this process for a test, where no folder is left of an earlier one.
pub(crate) fn folder(name: &str) -> PathBuf {
    let own = format!("joint-sim-{name}-{}", std::process::id());
    let folder = env::temp_dir().join(own);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

/// How an operation has failed.
pub(crate) fn kind<T>(result: io::Result<T>) -> ErrorKind {
    result.map(drop).unwrap_err().kind()
}
