//! Executors with `Builder::asymmetric_fences`: what depends on the fences works, and a system that
//! refuses the call later is an error of the next executor, and the end of a running one.
#![cfg(all(target_os = "linux", not(miri)))]

use std::{
    env,
    future::pending,
    io,
    os::unix::process::ExitStatusExt,
    process::Command,
    sync::{Arc, Barrier},
};

use joint::block_on;
use joint_executor::{Executor, join, spawn, yield_now};

fn executor(workers: usize) -> io::Result<Executor> {
    let builder = Executor::builder().workers(workers);
    builder.asymmetric_fences(true).build()
}

async fn number(number: u64) -> u64 {
    yield_now().await;
    number
}

/// Workers run dry and sleep between the rounds, and steal the tasks of a round from each other.
#[test]
fn every_task_is_joined_and_a_shutdown_drops_those_that_wait() {
    for workers in [1, 2, 4] {
        let (executor, futures) = (executor(workers).unwrap(), Arc::new(()));
        for round in 0..500 {
            let future = futures.clone();
            executor.spawn_detached(async move {
                pending::<()>().await;
                drop(future);
            });
            let handle = executor.spawn(async move {
                let tasks: Vec<_> = (0..20).map(|task| spawn(number(task))).collect();
                let mut sum = round;
                for task in tasks {
                    sum += task.await;
                }
                sum
            });
            assert_eq!(block_on(handle), 190 + round);
        }
        drop(executor);
        assert_eq!(Arc::strong_count(&futures), 1);
    }
}

#[test]
fn a_side_of_a_join_and_a_task_behind_a_blocked_poll_are_stolen() {
    let executor = executor(2).unwrap();
    for _ in 0..100 {
        let meet = Barrier::new(2);
        let (one, other) = executor.install(|| join(|| meet.wait(), || meet.wait()));
        assert_ne!(one.is_leader(), other.is_leader());
        let meet = Arc::new(Barrier::new(2));
        block_on(executor.spawn(async move {
            let other = meet.clone();
            let stolen = spawn(async move { other.wait().is_leader() });
            assert_ne!(meet.wait().is_leader(), stolen.await);
        }));
    }
}

/// Installs a seccomp filter in all threads of this process, by which `membarrier` fails.
fn refuse_membarrier() {
    let (call, error) = (libc::SYS_membarrier as u32, libc::EPERM as u32);
    let mut filter = [
        (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, call),
        (libc::BPF_RET, 0, libc::SECCOMP_RET_ERRNO | error),
        (libc::BPF_RET, 0, libc::SECCOMP_RET_ALLOW),
    ]
    .map(|(code, jf, k)| {
        let (code, jt) = (code as u16, 0);
        libc::sock_filter { code, jt, jf, k }
    });
    let program = libc::sock_fprog {
        len: 4,
        filter: filter.as_mut_ptr(),
    };
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    let all = libc::SECCOMP_FILTER_FLAG_TSYNC;
    // SAFETY: it takes numbers alone.
    let prepared = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the program and its statements are read during the call.
    let installed = unsafe { libc::syscall(libc::SYS_seccomp, mode, all, &raw const program) };
    assert_eq!((prepared, installed), (0, 0));
}

#[test]
fn a_call_that_is_refused_later_is_an_error_of_build_and_aborts_a_running_executor() {
    const CHILD: &str = "JOINT_TEST_ASYMMETRIC_FENCES";
    const TEST: &str =
        "a_call_that_is_refused_later_is_an_error_of_build_and_aborts_a_running_executor";
    if env::var_os(CHILD).is_none() {
        // In a process of its own, because a filter stays. `ulimit`: no core is left behind.
        let mut child = Command::new("sh");
        let child = child
            .args(["-c", "ulimit -c 0; exec \"$@\"", "sh"])
            .env(CHILD, "");
        let child = child.arg(env::current_exe().unwrap());
        let child = child
            .args([TEST, "--exact", "--nocapture"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&child.stderr);
        assert_eq!(child.status.signal(), Some(libc::SIGABRT), "{text}");
        assert!(
            text.contains("is refused now (Operation not permitted"),
            "{text}"
        );
        return;
    }
    let running = executor(2).unwrap();
    refuse_membarrier();
    let error = executor(2).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    assert!(
        error.to_string().contains("Operation not permitted"),
        "{error}"
    );
    assert!(Executor::builder().workers(2).build().is_ok());
    // The second side is stolen, which needs the call.
    let meet = Barrier::new(2);
    running.install(|| join(|| meet.wait(), || meet.wait()));
}
