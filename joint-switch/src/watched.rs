//! The operations of atomics under `--cfg joint_watch`: each on a word that the [`Monitor`] knows
//! is passed to it, together with the value before and after.
//!
//! One lock is around such an operation and its step of the monitor. So the monitor sees the steps
//! of each word in their order. It also sees an interleaving only, as the models see more: this is
//! about the logic, and not about orderings.
//!
//! The first illegal step ends the process. A process that ends by itself says how many steps it
//! made. Every [`LONG`] seconds, or `JOINT_WATCH_SECONDS`, the monitor also looks whether something
//! is overdue, which ends the process as well. The child of a fork is not watched.

mod completion;
mod monitor;
mod tables;
mod task;

use core::{
    cell::{Cell, RefCell},
    sync::atomic::{self, Ordering},
    time::Duration,
};
use std::{
    env, format,
    io::{Write, stderr},
    process,
    string::String,
    string::ToString,
    sync::LazyLock,
    sync::Mutex,
    sync::MutexGuard,
    sync::PoisonError,
    thread,
};

use self::monitor::{Monitor, Step};

/// How many seconds pass between two checks of what must have happened, by default.
const LONG: u64 = 10;

static MONITOR: LazyLock<Mutex<Monitor>> = LazyLock::new(|| {
    ask_system();
    watch_quiet();
    Mutex::new(Monitor::default())
});

std::thread_local! {
    /// The sites that were named since the last operation: one, or two for one that can fail.
    static SITES: Cell<[Option<&'static str>; 2]> = const { Cell::new([None; 2]) };
    /// The number of this thread. The first one has 1.
    static THREAD: Cell<u32> = const { Cell::new(0) };
    /// Held while this thread forks, so that no other thread holds it then.
    static FORKS: RefCell<Option<MutexGuard<'static, Monitor>>> = const { RefCell::new(None) };
}

/// An atomic.
pub trait Reads {
    /// Its value.
    fn read(&self) -> u64;
}

fn lock() -> MutexGuard<'static, Monitor> {
    MONITOR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of this thread, whose name the monitor learns with it.
fn this_thread(monitor: &mut Monitor) -> u32 {
    if THREAD.get() == 0 {
        let thread = thread::current();
        let name = thread.name().map_or_else(String::new, ToString::to_string);
        THREAD.set(monitor.new_thread(name));
    }
    THREAD.get()
}

/// Notes a site, whose operation comes next.
pub fn ordering(site: &'static str, order: Ordering) -> Ordering {
    SITES.set([SITES.get()[1], Some(site)]);
    order
}

pub(crate) fn asked(order: Ordering) -> Ordering {
    order
}

pub fn fence(order: Ordering) {
    SITES.take();
    atomic::fence(order);
}

/// A fence for the compiler alone. One of them is at the end of each poll.
pub fn compiler_fence(order: Ordering) {
    if SITES.take()[1] == Some("joint::task::polled::handler_marked") {
        let mut monitor = lock();
        let thread = this_thread(&mut monitor);
        monitor.poll_is_over(thread);
    }
    atomic::compiler_fence(order);
}

pub(crate) fn acted<W: Reads, R>(
    word: &W,
    succeeds: impl FnOnce(&R) -> bool,
    act: impl FnOnce() -> R,
) -> R {
    let [first, last] = SITES.take();
    let Some(site) = last.filter(|site| monitor::known(site).is_some()) else {
        return act();
    };
    let mut monitor = lock();
    let before = word.read();
    let result = act();
    let site = first.filter(|_| succeeds(&result)).unwrap_or(site);
    if let Some((is_task, name)) = monitor::known(site) {
        let by = this_thread(&mut monitor);
        let after = word.read();
        let address = core::ptr::from_ref(word).addr();
        let step = Step {
            site,
            name,
            by,
            before,
            after,
        };
        monitor.step(address, is_task, step);
    }
    result
}

/// A state word is where it stays.
pub fn placed(word: &impl Reads) {
    lock().placed(core::ptr::from_ref(word).addr(), word.read());
}

/// A place whose memory is about to be freed.
pub(crate) fn retired(address: usize) {
    let mut monitor = lock();
    let thread = this_thread(&mut monitor);
    monitor.retired(address, thread);
}

/// Asks the system to be called before and after a fork, and at the end of the process.
fn ask_system() {
    type Call = extern "C" fn();
    unsafe extern "C" {
        safe fn pthread_atfork(before: Call, parent: Call, child: Call) -> core::ffi::c_int;
        safe fn atexit(at_end: Call) -> core::ffi::c_int;
    }
    extern "C" fn at_end() {
        let Monitor { is_off, steps, .. } = *lock();
        if !is_off {
            say(&format!("joint-watch: {steps} steps, all legal\n"));
        }
    }
    extern "C" fn before_fork() {
        let monitor = lock();
        FORKS.with_borrow_mut(|held| *held = Some(monitor));
    }
    extern "C" fn in_parent() {
        FORKS.take();
    }
    extern "C" fn in_child() {
        if let Some(mut monitor) = FORKS.take() {
            monitor.is_off = true;
        }
    }
    pthread_atfork(before_fork, in_parent, in_child);
    atexit(at_end);
}

/// Starts the thread that looks at a state at rest.
fn watch_quiet() {
    let watch = || {
        let seconds = env::var("JOINT_WATCH_SECONDS").ok();
        let seconds = seconds.and_then(|seconds| seconds.parse().ok());
        let mut before = (0, 0);
        loop {
            thread::sleep(Duration::from_secs(seconds.unwrap_or(LONG)));
            let monitor = lock();
            monitor.check_rest(before.0, before.1);
            before = (monitor.steps, monitor.changes);
        }
    };
    let watcher = thread::Builder::new().name("joint-watch".to_string());
    watcher.spawn(watch).expect("a thread");
}

fn fail(report: &str) -> ! {
    say(report);
    process::abort()
}

/// Writes to the terminal. Not by a macro, whose text a test would capture.
fn say(text: &str) {
    let _ = stderr().write_all(text.as_bytes());
}
