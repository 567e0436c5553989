//! Functions that block, where the system refuses to start threads: each runs or says why it did
//! not, and nobody hangs.
//!
//! Each test runs once more in a process of its own, whose memory is limited. The stacks there are
//! so large that the limit refuses threads, and nothing else.
#![cfg(all(target_os = "linux", not(miri)))]

use std::collections::HashSet;

use crate::prelude::*;

const CALLS: usize = 600;
const CALLERS: usize = 3;
const MIB: usize = 1 << 20;
const STACK: usize = 64 * MIB;

/// Runs a test's function in a process of its own, where it may limit the memory.
fn in_process<F: FnOnce()>(function: F) {
    let stack = |command: &mut Command| _ = command.env("RUST_MIN_STACK", STACK.to_string());
    crate::common::in_process(stack, function);
}

/// Limits the address space to what is in use and so much more.
fn leave(room: libc::rlim_t) {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: libc::rlim_t = pages.split(' ').next().unwrap().parse().unwrap();
    // SAFETY: it asks for nothing.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    set_limit(|_| pages * page as libc::rlim_t + room);
}

/// Takes the limit back.
fn leave_all() {
    set_limit(|hard| hard);
}

fn set_limit(soft: impl FnOnce(libc::rlim_t) -> libc::rlim_t) {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the limit is a place to write to.
    let got = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    assert_eq!(got, 0);
    limit.rlim_cur = soft(limit.rlim_max);
    // SAFETY: the limit is one that can be read.
    let set = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    assert_eq!(set, 0);
}

#[test]
fn the_threads_that_there_are_do_what_others_are_refused_for() {
    in_process(|| {
        leave((4 * STACK + STACK / 2) as libc::rlim_t);
        let all_called = Arc::new(Mutex::new(()));
        let calling = all_called.lock().unwrap();
        let calls: Vec<_> = (0..CALLS)
            .map(|_| {
                let all_called = all_called.clone();
                spawn_blocking(move || {
                    drop(all_called.lock().unwrap());
                    thread::current().id()
                })
            })
            .collect();
        drop(calling);
        let threads: HashSet<ThreadId> = calls.into_iter().map(block_on).collect();
        assert!((1..=4).contains(&threads.len()), "{}", threads.len());
    });
}

#[test]
fn without_any_thread_each_call_says_so_and_later_ones_run() {
    in_process(|| {
        let held = Arc::new(());
        let ran = Arc::new(AtomicUsize::new(0));
        let call = || {
            let (held, ran) = (held.clone(), ran.clone());
            let refused = spawn_blocking(move || {
                let _held = held;
                ran.fetch_add(1, Relaxed);
            });
            let Err(JoinError::Panicked(panic)) = block_on(refused.result()) else {
                panic!("a call without a thread has ended otherwise");
            };
            let message = panic.message().unwrap();
            assert!(message.contains("refuses to start"), "{message}");
        };
        // Those who call at once leave the start of a thread to one of them.
        let together = Barrier::new(CALLERS + 1);
        thread::scope(|scope| {
            let called = || {
                // So that it has all that the C library reserves for a thread.
                drop(Arc::new(String::from("not empty")));
                together.wait();
                together.wait();
                (0..CALLS / CALLERS).for_each(|_| call());
                // The memory of a thread that ends would do for another.
                together.wait();
            };
            (0..CALLERS).for_each(|_| drop(scope.spawn(called)));
            together.wait();
            leave((STACK / 2) as libc::rlim_t);
            together.wait();
            together.wait();
        });
        assert_eq!(Arc::strong_count(&held), 1, "each is dropped");
        assert_eq!(ran.load(Relaxed), 0);
        leave_all();
        assert_eq!(block_on(spawn_blocking(|| 5)), 5);
    });
}

#[test]
#[cfg(feature = "io")]
fn a_name_that_no_thread_looks_up_is_an_error() {
    in_process(|| {
        leave((STACK / 2) as libc::rlim_t);
        let connected = block_on(joint_executor::io::TcpStream::connect("localhost:1"));
        let error = connected.unwrap_err().to_string();
        assert!(error.contains("refuses to start"), "{error}");
    });
}
