//! Wakers in signal handlers that run on the thread that waits.
#![cfg(all(target_os = "linux", not(miri)))]

use std::{
    hint,
    os::unix::thread::JoinHandleExt as _,
    sync::atomic::{
        AtomicPtr,
        Ordering::{Acquire, Release},
    },
};

use crate::prelude::*;

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
fn a_wake_up_in_a_signal_handler_ends_its_threads_wait() {
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

/// Wake-ups of a task in a handler that runs after each instruction at the end of its poll, or of a
/// poll inside of that. The handler forks the process: the child wakes the task there and goes on,
/// and its parent goes on to the next instruction.
#[cfg(target_arch = "x86_64")]
mod stepped {
    use std::{
        arch::asm,
        ffi::{c_int, c_void},
        ptr::NonNull,
        sync::atomic::{
            AtomicPtr,
            Ordering::{Acquire, Release},
        },
    };

    use joint::task::{self, Runnable};

    use super::WAKER;
    use crate::prelude::*;

    /// Whether this process is a child, which has woken the task.
    static WOKEN: AtomicBool = AtomicBool::new(false);
    /// The number of instructions after which a child has woken the task.
    static CHILDREN: AtomicUsize = AtomicUsize::new(0);
    /// The number of children that have lost their wake-up.
    static LOST: AtomicUsize = AtomicUsize::new(0);
    static QUEUED: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

    /// Has the processor trap after each instruction.
    const TRAP: u64 = 0x100;

    fn schedule(runnable: Runnable) {
        let before = QUEUED.swap(runnable.into_raw().as_ptr(), Release);
        assert!(before.is_null(), "two runnables");
    }

    extern "C" fn trapped(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: this thread goes on in the child. The process's other thread waits for it.
        let child = unsafe { libc::syscall(libc::SYS_fork) } as libc::pid_t;
        assert!(child >= 0, "the system refuses to fork");
        if child > 0 {
            let mut status = 0;
            // SAFETY: there is room for the status of a child of this process.
            let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
            CHILDREN.fetch_add(1, Relaxed);
            LOST.fetch_add(usize::from((waited, status) != (child, 0)), Relaxed);
            return;
        }
        WOKEN.store(true, Relaxed);
        // SAFETY: alive until the run is over.
        unsafe { &*WAKER.load(Acquire) }.wake_by_ref();
        // SAFETY: the kernel gives the handler its context.
        let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
        context.uc_mcontext.gregs[libc::REG_EFL as usize] &= !(TRAP as i64);
    }

    fn steps(on: bool) {
        // SAFETY: the flag alone changes. There is a handler for the traps.
        let set = || unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
        // SAFETY: as above.
        let clear = || unsafe { asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq") };
        if on { set() } else { clear() }
    }

    fn pending() -> Poll<()> {
        steps(true);
        Poll::Pending
    }

    /// Runs a task that does `inside` in its poll, which starts the traps, and then looks for the
    /// wake-up. They end with the run. A child ends with it, too, and its status says whether its
    /// wake-up was lost.
    fn run(inside: fn()) {
        let is_lost = Cell::new(true);
        // Also if something has panicked.
        let _ends = OnDrop(|| {
            if WOKEN.load(Relaxed) {
                // SAFETY: nothing of the child is used after this.
                unsafe { libc::_exit(i32::from(is_lost.get())) };
            }
        });
        let mut has_seen = false;
        let future = poll_fn(|_| {
            inside();
            has_seen = WOKEN.load(Relaxed);
            Poll::<()>::Pending
        });
        // SAFETY: the task is run and dropped on this thread, before what it borrows.
        let (runnable, handle) = unsafe { task::spawn_unchecked(future, schedule) };
        let mut waker = runnable.waker();
        WAKER.store(&raw mut waker, Release);
        runnable.run();
        steps(false);
        let queued = NonNull::new(QUEUED.swap(ptr::null_mut(), Acquire));
        let has_queued = queued.is_some();
        // SAFETY: `schedule` has put it there.
        drop(queued.map(|raw| unsafe { Runnable::<()>::from_raw(raw) }));
        drop((handle, waker));
        // The handle has cancelled the task, if nobody else has.
        let left = NonNull::new(QUEUED.swap(ptr::null_mut(), Acquire));
        // SAFETY: as above.
        drop(left.map(|raw| unsafe { Runnable::<()>::from_raw(raw) }));
        is_lost.set(!has_seen && !has_queued);
    }

    #[test]
    fn no_wake_up_of_the_polled_task_in_a_handler_is_lost() {
        alone(|| {
            // SAFETY: the memory is valid with zeroes.
            let mut action: libc::sigaction = unsafe { mem::zeroed() };
            action.sa_sigaction = trapped as extern "C" fn(_, _, _) as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO;
            // SAFETY: the handler forks, sets flags, and wakes a task whose schedule function sets
            // one, too.
            let set = unsafe { libc::sigaction(libc::SIGTRAP, &raw const action, ptr::null_mut()) };
            assert_eq!(set, 0);
            let at_the_end: [fn(); 3] = [
                || _ = pending(),
                || {
                    let (runnable, _handle) = task::spawn(poll_fn(|_| pending()), |_| ());
                    runnable.run();
                    steps(false);
                },
                || {
                    task::without_current(|| steps(true));
                    steps(false);
                },
            ];
            for inside in at_the_end {
                run(inside);
                assert!(CHILDREN.swap(0, Relaxed) > 10);
                assert_eq!(LOST.load(Relaxed), 0, "wake-ups are lost");
            }
        });
    }
}
