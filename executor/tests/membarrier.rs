//! `membarrier` is refused after the first executor has started, by a seccomp filter that is
//! installed then: the program ends with a message that says what to do, and a new executor is not
//! built. It must not hang.
//!
//! Each case is a child, since a filter stays for good: this program again, with the case in its
//! environment.
#![cfg(target_os = "linux")]

#[path = "common/child.rs"]
mod child;

use std::{
    cell::Cell,
    env, fs, io,
    os::unix::process::ExitStatusExt,
    process::{Command, Output},
    sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed},
    thread,
};

use joint_executor::{Executor, join};

const CASE: &str = "JOINT_TEST_MEMBARRIER";
/// What a child ends with that cannot show its case.
const SKIPPED: i32 = 77;

/// Runs one test of this program again, as a child that is told so.
fn child_of(test: &str) -> Output {
    command_of(test).output().unwrap()
}

fn command_of(test: &str) -> Command {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args([test, "--exact", "--nocapture"]).env(CASE, test);
    child
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
    while count_threads() > others {
        thread::yield_now();
    }
}

fn count_threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
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
static REGISTERED: AtomicI64 = AtomicI64::new(0);

/// The calling thread.
#[cfg(target_arch = "x86_64")]
fn own_id() -> i64 {
    // SAFETY: it takes nothing.
    unsafe { libc::syscall(libc::SYS_gettid) }
}

/// Has the kernel send a signal to a thread that makes this call, and `handle` answer it.
#[cfg(target_arch = "x86_64")]
fn catch(
    command: libc::c_int,
    handle: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void),
) {
    // SAFETY: all fields may be zero.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handle as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the action is read during the call, and its function makes no call that a handler may
    // not make.
    let set = unsafe { libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()) };
    assert_eq!(set, 0);
    answer(Some(command), libc::SECCOMP_RET_TRAP);
}

/// Sets what a call that a handler answers returns.
#[cfg(target_arch = "x86_64")]
fn set_result(context: *mut libc::c_void, to: i64) {
    // SAFETY: the kernel passes the registers of the interrupted call, which are ours alone.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let result = usize::try_from(libc::REG_RAX).expect("an index");
    context.uc_mcontext.gregs[result] = to;
}

/// Refuses registrations, and notes who asks for one.
#[cfg(target_arch = "x86_64")]
fn catch_registration() {
    extern "C" fn refuse(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        REGISTERED.store(own_id(), Relaxed);
        set_result(context, -i64::from(libc::EPERM));
    }
    catch(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, refuse);
}

/// The number of calls that `hold` answers before the one that it holds.
#[cfg(target_arch = "x86_64")]
static BEFORE_HELD: AtomicI64 = AtomicI64::new(0);
#[cfg(target_arch = "x86_64")]
static IS_HELD: AtomicBool = AtomicBool::new(false);
#[cfg(target_arch = "x86_64")]
static IS_RELEASED: AtomicBool = AtomicBool::new(false);
/// The number of calls that threads other than workers have made since the one that was held.
#[cfg(target_arch = "x86_64")]
static LATER: AtomicI64 = AtomicI64::new(0);
#[cfg(target_arch = "x86_64")]
thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Has one kind of call succeed without any effect, and holds one such call, in another thread.
#[cfg(target_arch = "x86_64")]
fn hold(command: libc::c_int, before: i64) {
    extern "C" fn hold(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        if IS_WORKER.get() {
            // It searches or sleeps.
        } else if IS_RELEASED.load(Relaxed) {
            LATER.fetch_add(1, Relaxed);
        } else if BEFORE_HELD.fetch_sub(1, Relaxed) == 0 {
            IS_HELD.store(true, Relaxed);
            while !IS_RELEASED.load(Relaxed) {
                thread::yield_now();
            }
        }
        set_result(context, 0);
    }
    BEFORE_HELD.store(before, Relaxed);
    catch(command, hold);
}

/// A process forks while another of its threads finds out whether it has the call, and is held in
/// this one of its calls. The child does not wait for that thread, which it has not inherited. It
/// asks as well.
#[cfg(target_arch = "x86_64")]
fn fork_while_held(command: libc::c_int, before: i64, is_alone: bool) {
    let start = || {
        let builder = Executor::builder().workers(2);
        let builder = builder.on_thread_start(|_| IS_WORKER.set(true));
        builder.build().unwrap()
    };
    prepare_child();
    hold(command, before);
    let _executor = start();
    while !IS_HELD.load(Relaxed) {
        if count_threads() == OWN + 2 {
            return; // It has finished with fewer calls.
        }
        thread::yield_now();
    }
    child::in_child(|| {
        IS_RELEASED.store(true, Relaxed);
        let other = (!is_alone).then(|| thread::spawn(thread::park));
        let executor = start();
        wait_for_registration(3 + usize::from(other.is_some()));
        assert!(LATER.load(Relaxed) > 0, "the child has not asked");
        // The end of the child ends it.
        std::mem::forget(executor);
    });
    IS_RELEASED.store(true, Relaxed);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_child_of_a_fork_registers_if_its_parent_has_not_finished() {
    if !is_child() {
        let child = child_of("the_child_of_a_fork_registers_if_its_parent_has_not_finished");
        let Some(text) = written(&child) else { return };
        assert_eq!(child.status.code(), Some(0), "{text}");
        return;
    }
    let command = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    fork_while_held(command, 0, false);
}

/// The thread of the parent is held in its last barrier, between the two steps of the change. How
/// many it makes before that depends on how fast they are.
#[test]
#[cfg(target_arch = "x86_64")]
fn the_child_of_a_fork_takes_the_second_step_if_its_parent_has_taken_the_first() {
    const TEST: &str =
        "the_child_of_a_fork_takes_the_second_step_if_its_parent_has_taken_the_first";
    const BEFORE: &str = "JOINT_TEST_BEFORE";
    if !is_child() {
        for before in 1..=3 {
            let mut child = command_of(TEST);
            let child = child.env(BEFORE, before.to_string()).output().unwrap();
            let Some(text) = written(&child) else { return };
            assert_eq!(child.status.code(), Some(0), "{before}: {text}");
        }
        return;
    }
    let before = env::var(BEFORE).unwrap().parse().unwrap();
    fork_while_held(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED, before, true);
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
