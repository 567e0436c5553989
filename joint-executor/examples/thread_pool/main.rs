//! An executor on the threads of a pool that it does not own: Windows' thread pool. Elsewhere a
//! thread is started for each call.
//!
//! Each worker is a work item. It is submitted to the pool when its waker is woken, and by the
//! pool's timer at the time that its last step has said. A call runs some tasks and returns, so the
//! pool's threads are free for others in between.
//!
//! ```text
//! cargo run --example thread_pool
//! ```

#[path = "../options/mod.rs"]
mod options;

use std::{
    io,
    process::ExitCode,
    sync::{
        Arc, Mutex,
        mpsc::{Sender, channel},
    },
    task::{Wake, Waker},
    thread,
    time::Duration,
};

use joint_executor::{
    Executor, block_on,
    hosted::{HostedWorker, Step},
    time::sleep,
};

const HELP: &str = "\
Computes squares on the threads of a pool that is not its own.

Usage: thread_pool

  -h, --help     print this
  -V, --version  print the version
";

/// A worker that the pool calls.
struct Item {
    /// `None` once it has ended.
    worker: Mutex<Option<HostedWorker>>,
    ended: Sender<()>,
}

impl Wake for Item {
    fn wake(self: Arc<Self>) {
        pool::submit(self);
    }
}

/// Runs up to 64 tasks of a worker. The pool calls it.
fn run(item: Arc<Item>) {
    // Locked during the step, so a second call, such as the timer's, waits for the first one.
    let mut place = item.worker.lock().unwrap();
    let Some(worker) = place.take() else {
        return;
    };
    let mut worker = worker.bind();
    let step = worker.step(64, &Waker::from(item.clone()));
    if step == Step::Ended {
        drop(worker);
        return item.ended.send(()).unwrap();
    }
    // The next call may be on another thread.
    let worker = worker.unbind().ok();
    *place = Some(worker.expect("there are no tasks of `spawn_local`"));
    drop(place);
    match step {
        Step::Ready => pool::submit(item),
        Step::Until(time) => pool::submit_at(item, time),
        Step::Idle | Step::Ended => {}
    }
}

fn main() -> ExitCode {
    options::run("thread_pool", HELP, |options| {
        options.end()?;
        Ok(compute()?)
    })
}

fn compute() -> io::Result<()> {
    let (executor, workers) = Executor::builder().workers(2).build_hosted()?;
    let (ended, all_ended) = channel();
    for worker in workers {
        let worker = Mutex::new(Some(worker));
        let ended = ended.clone();
        pool::submit(Arc::new(Item { worker, ended }));
    }
    drop(ended);

    let main = thread::current().id();
    let square = |n: u64| async move {
        sleep(Duration::from_millis(n)).await;
        assert_ne!(thread::current().id(), main);
        n * n
    };
    let squares: Vec<_> = (1..=10).map(|n| executor.spawn(square(n))).collect();
    let sum: u64 = squares.into_iter().map(block_on).sum();
    println!("the pool has computed {sum}");

    // The workers have to end before the program does: each by one more call.
    drop(executor);
    println!("{} workers have ended", all_ended.iter().count());
    Ok(())
}

#[cfg(not(windows))]
mod pool {
    use std::{sync::Arc, thread, time::Instant};

    use super::{Item, run};

    pub(crate) fn submit(item: Arc<Item>) {
        thread::spawn(|| run(item));
    }

    pub(crate) fn submit_at(item: Arc<Item>, time: Instant) {
        thread::spawn(move || {
            thread::sleep(time.saturating_duration_since(Instant::now()));
            run(item);
        });
    }
}

#[cfg(windows)]
mod pool {
    use std::{ffi::c_void, io, ptr, sync::Arc, time::Instant};

    use super::{Item, run};

    /// The pool's objects, and its default environment, which is null.
    type Handle = *mut c_void;
    type Call = unsafe extern "system" fn(Handle, *mut c_void);
    type TimerCall = unsafe extern "system" fn(Handle, *mut c_void, Handle);

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn TrySubmitThreadpoolCallback(call: Call, context: *mut c_void, pool: Handle) -> i32;
        fn CreateThreadpoolTimer(call: TimerCall, context: *mut c_void, pool: Handle) -> Handle;
        fn SetThreadpoolTimer(timer: Handle, due: *const i64, period: u32, window: u32);
        fn CloseThreadpoolTimer(timer: Handle);
    }

    pub(crate) fn submit(item: Arc<Item>) {
        let context = Arc::into_raw(item).cast_mut().cast();
        // SAFETY: the pool calls `called` once with the context, which is the item's.
        let is_queued = unsafe { TrySubmitThreadpoolCallback(called, context, ptr::null_mut()) };
        assert!(is_queued != 0, "{}", io::Error::last_os_error());
    }

    unsafe extern "system" fn called(_: Handle, context: *mut c_void) {
        // SAFETY: `submit` has made it, for this one call.
        run(unsafe { Arc::from_raw(context.cast()) });
    }

    pub(crate) fn submit_at(item: Arc<Item>, time: Instant) {
        let context = Arc::into_raw(item).cast_mut().cast();
        // SAFETY: the pool calls `timed` with the context once, because the timer has no period.
        let timer = unsafe { CreateThreadpoolTimer(timed, context, ptr::null_mut()) };
        assert!(!timer.is_null(), "{}", io::Error::last_os_error());
        // In units of 100 ns, and negative because it counts from now.
        let delay = time.saturating_duration_since(Instant::now()).as_nanos();
        let due = -i64::try_from(delay.div_ceil(100)).unwrap_or(i64::MAX);
        // SAFETY: the timer was just created. A `FILETIME` is eight bytes.
        unsafe { SetThreadpoolTimer(timer, &due, 0, 0) };
    }

    unsafe extern "system" fn timed(_: Handle, context: *mut c_void, timer: Handle) {
        // SAFETY: `submit_at` has created it for this one call, in which it may be closed.
        unsafe { CloseThreadpoolTimer(timer) };
        // SAFETY: `submit_at` has made it, for this one call.
        run(unsafe { Arc::from_raw(context.cast()) });
    }
}
