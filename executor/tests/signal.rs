//! Wakers in signal handlers that run on the thread that waits.
#![cfg(all(target_os = "linux", not(miri)))]

mod common;

use std::{
    fs,
    future::poll_fn,
    hint,
    os::unix::thread::JoinHandleExt as _,
    path::Path,
    ptr,
    sync::{
        atomic::{
            AtomicBool, AtomicPtr,
            Ordering::{Acquire, Relaxed, Release},
        },
        mpsc,
    },
    task::{Poll, Waker},
    thread,
};

use common::ends;
use joint::block_on;
use joint_executor::LocalExecutor;

/// The waker that the handler wakes.
static WAKER: AtomicPtr<Waker> = AtomicPtr::new(ptr::null_mut());
/// Set by the handler before it wakes.
static ARRIVED: AtomicBool = AtomicBool::new(false);

extern "C" fn wake(_signal: libc::c_int) {
    ARRIVED.store(true, Relaxed);
    // SAFETY: stored before the signal is sent, and alive until the wait ends, which takes this.
    unsafe { &*WAKER.load(Acquire) }.wake_by_ref();
}

/// When the signal is sent.
#[derive(Clone, Copy)]
enum When {
    /// So many turns of a spin loop after the future has given its waker away.
    Spins(usize),
    /// Once the thread sleeps.
    Asleep,
}

/// A future's poll, with its waker.
type Poller<'a> = &'a mut dyn FnMut(&Waker) -> Poll<()>;

/// Whether the kernel has put a thread to sleep, which is given by its folder in `/proc`.
fn sleeps(thread: &Path) -> bool {
    let stat = fs::read_to_string(thread.join("stat")).unwrap();
    let (_, after_name) = stat.rsplit_once(") ").unwrap();
    after_name.starts_with('S')
}

/// Sends a signal to a thread that waits, whose handler wakes the future that it waits for.
fn signal(when: When, wait: fn(Poller)) {
    ARRIVED.store(false, Relaxed);
    let (sender, threads) = mpsc::channel();
    let waiter = thread::spawn(move || {
        let mut kept = None;
        wait(&mut |waker| {
            if kept.is_none() {
                WAKER.store(kept.insert(waker.clone()), Release);
                let this = fs::read_link("/proc/thread-self").unwrap();
                sender.send(Path::new("/proc").join(this)).unwrap();
            }
            match ARRIVED.load(Relaxed) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        });
    });
    let thread = threads.recv().unwrap();
    match when {
        When::Spins(spins) => (0..spins).for_each(|_| hint::spin_loop()),
        When::Asleep => while !sleeps(&thread) {},
    }
    // SAFETY: the thread has not been joined.
    let sent =
        unsafe { libc::pthread_kill(waiter.as_pthread_t() as libc::pthread_t, libc::SIGUSR1) };
    assert_eq!(sent, 0);
    waiter.join().unwrap();
}

#[test]
fn a_wake_up_in_a_signal_handler_of_the_waiting_thread_ends_the_wait() {
    let handler: extern "C" fn(libc::c_int) = wake;
    // SAFETY: the handler does only what a handler may: it sets a flag, and wakes a parker.
    let before = unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    assert_ne!(before, libc::SIG_ERR);
    let waits: [fn(Poller); 2] = [
        |poll| block_on(poll_fn(|cx| poll(cx.waker()))),
        |poll| LocalExecutor::new().block_on(poll_fn(|cx| poll(cx.waker()))),
    ];
    ends(move || {
        for wait in waits {
            for round in 0..200 {
                signal(When::Spins(round * 50), wait);
            }
            for _ in 0..10 {
                signal(When::Asleep, wait);
            }
        }
    });
}
