//! `membarrier` is refused after the first executor has started, by a seccomp filter that is
//! installed then: the program ends with a message that says what to do, and a new executor is not
//! built. It must not hang.
//!
//! Each case is a child, since a filter stays for good: this program again, with the case in its
//! environment.
#![cfg(target_os = "linux")]

use std::{
    env, fs, io,
    os::unix::process::ExitStatusExt,
    process::{Command, Output},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

use joint::{Executor, join};

const CASE: &str = "JOINT_TEST_MEMBARRIER";
/// What a child ends with that cannot show its case.
const SKIPPED: i32 = 77;

/// Runs one test of this program again, as a child that is told so.
fn child_of(test: &str) -> Output {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args([test, "--exact", "--nocapture"]).env(CASE, test);
    child.output().unwrap()
}

fn is_child() -> bool {
    env::var_os(CASE).is_some()
}

fn skip(why: &str) -> ! {
    eprintln!("skipped: {why}");
    std::process::exit(SKIPPED)
}

/// Ends a child that hangs, and leaves no core behind.
fn prepare_child() {
    // SAFETY: it asks for nothing.
    unsafe { libc::alarm(60) };
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the limit is read during the call.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
    // SAFETY: it takes numbers alone: a query.
    if unsafe { libc::syscall(libc::SYS_membarrier, 0, 0, 0) } <= 0 {
        skip("this system has no membarrier");
    }
}

/// Has the kernel refuse `membarrier` to all threads of this process.
fn refuse_membarrier() {
    refuse(None);
    // SAFETY: it takes numbers alone: a query.
    assert_eq!(unsafe { libc::syscall(libc::SYS_membarrier, 0, 0, 0) }, -1);
}

/// Has the kernel refuse one command of `membarrier`, or all, to all threads of this process.
fn refuse(command: Option<libc::c_int>) {
    let error = u32::try_from(libc::EPERM).unwrap();
    answer(command, libc::SECCOMP_RET_ERRNO | error);
}

/// Has the kernel answer one command of `membarrier`, or all, to all threads of this process.
fn answer(command: Option<libc::c_int>, answer: u32) {
    let statement = |code: u32, jump_false, value| libc::sock_filter {
        code: u16::try_from(code).unwrap(),
        jt: 0,
        jf: jump_false,
        k: value,
    };
    let number = u32::try_from(libc::SYS_membarrier).unwrap();
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let differs = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    // The number of the call is what the data begin with.
    let mut filter = vec![statement(load, 0, 0)];
    match command {
        None => filter.push(statement(differs, 1, number)),
        Some(command) => {
            let low_half = if cfg!(target_endian = "little") {
                16
            } else {
                20
            };
            filter.push(statement(differs, 3, number));
            // The first argument.
            filter.push(statement(load, 0, low_half));
            filter.push(statement(differs, 1, u32::try_from(command).unwrap()));
        }
    }
    filter.push(statement(libc::BPF_RET | libc::BPF_K, 0, answer));
    filter.push(statement(
        libc::BPF_RET | libc::BPF_K,
        0,
        libc::SECCOMP_RET_ALLOW,
    ));
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).unwrap(),
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: it takes numbers alone.
    let unprivileged = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the program and its statements are read during the call.
    let installed = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &raw const program,
        )
    };
    if unprivileged != 0 || installed != 0 {
        let error = io::Error::last_os_error();
        skip(&format!("no seccomp filter can be installed here: {error}"));
    }
}

fn executor() -> io::Result<Executor> {
    Executor::builder().workers(2).build()
}

/// Waits until the thread that registers for the call has ended, so that only `others` are left.
fn wait_for_registration(others: usize) {
    while fs::read_dir("/proc/self/task").unwrap().count() > others {
        thread::yield_now();
    }
}

/// The threads of a child: the test's own, and the one that waits for the test.
const OWN: usize = 2;

/// What the child has written, unless it could not show its case.
fn written(child: &Output) -> Option<String> {
    let text = String::from_utf8_lossy(&child.stderr).into_owned();
    if child.status.code() == Some(SKIPPED) {
        eprint!("{text}");
        return None;
    }
    Some(text)
}

const ADVICE: &str =
    "install the filter before the first executor is started, or allow `membarrier` in it";

#[test]
fn refused_to_a_running_executor_it_ends_the_program() {
    if !is_child() {
        let child = child_of("refused_to_a_running_executor_it_ends_the_program");
        let Some(text) = written(&child) else { return };
        assert_eq!(child.status.signal(), Some(libc::SIGABRT), "{text}");
        assert!(text.contains(ADVICE), "{text}");
        assert!(text.contains("Operation not permitted"), "{text}");
        return;
    }
    prepare_child();
    let executor = executor().unwrap();
    executor.install(|| ());
    wait_for_registration(OWN + 2);
    refuse_membarrier();
    // To take a side of a join needs the barrier.
    let taken = AtomicBool::new(false);
    executor.install(|| {
        let wait = || {
            while !taken.load(Relaxed) {
                thread::yield_now();
            }
        };
        join(wait, || taken.store(true, Relaxed))
    });
}

/// To register takes milliseconds in a program of several threads. Until it is done, executors do
/// without.
#[test]
fn refused_while_the_program_registers_it_is_done_without() {
    if !is_child() {
        let child = child_of("refused_while_the_program_registers_it_is_done_without");
        let Some(text) = written(&child) else { return };
        assert_eq!(child.status.code(), Some(0), "{text}");
        return;
    }
    prepare_child();
    refuse(Some(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED));
    for _ in 0..2 {
        let executor = executor().unwrap();
        let meet = std::sync::Barrier::new(2);
        let both = executor.install(|| join(|| meet.wait(), || meet.wait()));
        assert_ne!(both.0.is_leader(), both.1.is_leader());
        wait_for_registration(OWN + 2);
    }
}

/// The thread that has registered, or 0.
#[cfg(target_arch = "x86_64")]
static REGISTERED: std::sync::atomic::AtomicI64 = std::sync::atomic::AtomicI64::new(0);

/// The calling thread.
#[cfg(target_arch = "x86_64")]
fn own_id() -> i64 {
    // SAFETY: it takes nothing.
    unsafe { libc::syscall(libc::SYS_gettid) }
}

/// Has the kernel send a signal to the thread that registers, whose handler refuses.
#[cfg(target_arch = "x86_64")]
fn catch_registration() {
    extern "C" fn refuse(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        REGISTERED.store(own_id(), Relaxed);
        // SAFETY: the kernel passes the registers of the interrupted call, which are ours alone.
        let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
        let result = usize::try_from(libc::REG_RAX).expect("an index");
        context.uc_mcontext.gregs[result] = -i64::from(libc::EPERM);
    }
    let refuse: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = refuse;
    // SAFETY: all fields may be zero.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = refuse as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the action is read during the call, and its function makes no call that a handler may
    // not make.
    let set = unsafe { libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()) };
    assert_eq!(set, 0);
    let register = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    answer(Some(register), libc::SECCOMP_RET_TRAP);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_thread_that_starts_the_first_executor_does_not_wait_for_the_registration() {
    const TEST: &str =
        "the_thread_that_starts_the_first_executor_does_not_wait_for_the_registration";
    if !is_child() {
        let child = child_of(TEST);
        let Some(text) = written(&child) else { return };
        assert_eq!(child.status.code(), Some(0), "{text}");
        return;
    }
    prepare_child();
    catch_registration();
    let _executor = executor().unwrap();
    wait_for_registration(OWN + 2);
    let registered = REGISTERED.load(Relaxed);
    assert!(registered != 0 && registered != own_id(), "{registered}");
}

#[test]
fn refused_before_another_executor_that_one_is_not_built() {
    if !is_child() {
        let child = child_of("refused_before_another_executor_that_one_is_not_built");
        let Some(text) = written(&child) else { return };
        assert_eq!(child.status.code(), Some(0), "{text}");
        return;
    }
    prepare_child();
    drop(executor().unwrap());
    wait_for_registration(OWN);
    refuse_membarrier();
    let error = executor().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    assert!(error.to_string().contains(ADVICE), "{error}");
}

#[test]
fn refused_from_the_start_it_is_done_without() {
    if !is_child() {
        let child = child_of("refused_from_the_start_it_is_done_without");
        let Some(text) = written(&child) else { return };
        assert_eq!(child.status.code(), Some(0), "{text}");
        return;
    }
    prepare_child();
    refuse_membarrier();
    let executor = executor().unwrap();
    let meet = std::sync::Barrier::new(2);
    let both = executor.install(|| join(|| meet.wait(), || meet.wait()));
    assert_ne!(both.0.is_leader(), both.1.is_leader());
}

/// The query and the registration say that the barrier is there. Only the call itself shows that it
/// is not.
#[test]
fn if_the_barrier_alone_is_refused_from_the_start_it_is_done_without() {
    if !is_child() {
        let child = child_of("if_the_barrier_alone_is_refused_from_the_start_it_is_done_without");
        let Some(text) = written(&child) else { return };
        assert_eq!(child.status.code(), Some(0), "{text}");
        return;
    }
    prepare_child();
    refuse(Some(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED));
    let executor = executor().unwrap();
    let meet = std::sync::Barrier::new(2);
    let both = executor.install(|| join(|| meet.wait(), || meet.wait()));
    assert_ne!(both.0.is_leader(), both.1.is_leader());
}
