//! Workers change their timer slack. Tasks, and what they start, never see that.

use std::net::UdpSocket;

use crate::prelude::*;

/// The timer slack of this thread, in nanoseconds.
fn own() -> i32 {
    // SAFETY: it asks for nothing.
    unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) }
}

fn set_own(nanos: u32) {
    // SAFETY: it asks for nothing.
    let result = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, libc::c_ulong::from(nanos)) };
    assert_eq!(result, 0);
}

/// That of this thread, of one that it starts, and of a program that it starts.
fn all() -> [i32; 3] {
    let started = thread::spawn(own).join().unwrap();
    let program = Command::new("cat")
        .arg("/proc/self/timerslack_ns")
        .output()
        .unwrap();
    let program = String::from_utf8(program.stdout).unwrap();
    [own(), started, program.trim().parse().unwrap()]
}

#[test]
fn threads_and_programs_of_a_task_have_the_slack_of_main() {
    ends(|| {
        if !fs::exists("/proc/self/timerslack_ns").unwrap() {
            return;
        }
        let expected = all();
        for workers in [1, 2] {
            for has_descriptor in [false, true] {
                let executor = executor(workers);
                let slacks = executor.spawn(async move {
                    let socket = has_descriptor.then(|| UdpSocket::bind("127.0.0.1:0").unwrap());
                    let _socket = socket.map(|socket| AsyncFd::new(socket).unwrap());
                    // A worker with nothing else to do rests until the deadline.
                    for _ in 0..10 {
                        sleep(MILLI).await;
                    }
                    all()
                });
                assert_eq!(block_on(slacks), expected);
            }
        }
    });
}

/// Waits until a thread that sleeps has as little slack as there is. The system may refuse to tell.
fn wait_until_punctual(thread: i32) {
    let path = format!("/proc/{thread}/timerslack_ns");
    while fs::read_to_string(&path).is_ok_and(|slack| slack.trim() != "1") {
        thread::yield_now();
    }
}

#[test]
fn a_worker_that_sleeps_until_a_deadline_is_punctual() {
    ends(|| {
        let executor = executor(1);
        let worker = block_on(executor.spawn(async {
            // SAFETY: it asks for nothing.
            unsafe { libc::gettid() }
        }));
        let pending = executor.spawn(sleep(HOUR));
        wait_until_punctual(worker);
        drop(pending);
    });
}

#[test]
fn the_slack_that_a_task_has_set_stays() {
    ends(|| {
        for nanos in [20_000, 1, 70_000] {
            let executor = executor(1);
            let slack = executor.spawn(async move {
                set_own(nanos);
                for _ in 0..10 {
                    sleep(MILLI).await;
                }
                own()
            });
            assert_eq!(block_on(slack), nanos as i32);
        }
    });
}
