//! Where the system refuses io_uring, every operation returns an error that says why, and its
//! buffer. A filter of system calls refuses it here, for one thread each, before or after that
//! thread has made its ring.

use std::{
    io::{self, Write},
    sync::Arc,
    thread,
};

use crate::{refusal::CALLS, waiting};
use futures_lite::future::poll_once;
use joint_executor::{Executor, block_on};
use joint_ring::{File, Ring};

/// Returns the errors of a ring and of operations on a thread where a call is refused.
fn errors(call: libc::c_long, errno: i32) -> [io::Error; 3] {
    let refused = thread::spawn(move || {
        crate::refusal::refuse(&[call], errno).unwrap();
        let file = File::from(std::fs::File::open("Cargo.toml").unwrap());
        block_on(async {
            let (read, buffer) = file.read_at(vec![7; 9], 0).await;
            assert_eq!(buffer, [7; 9]);
            let opened = File::open("Cargo.toml").await;
            [
                Ring::new().unwrap_err(),
                read.unwrap_err(),
                opened.unwrap_err(),
            ]
        })
    });
    refused.join().unwrap()
}

/// The calls that a new ring makes before it says that there is one.
fn needed() -> &'static [libc::c_long] {
    &CALLS[..if is_here() { 3 } else { 1 }]
}

/// Also ends the program at the latest by a signal, should an end wait forever.
fn is_here() -> bool {
    // SAFETY: the call takes a number.
    unsafe { libc::alarm(600) };
    crate::is_here()
}

#[test]
fn a_policy_that_forbids_it_or_a_system_without_it_is_named() {
    let forbidden = (
        io::ErrorKind::PermissionDenied,
        "io_uring is forbidden here, by the sysctl kernel.io_uring_disabled",
    );
    let unknown = (io::ErrorKind::Unsupported, "this system has no io_uring");
    for &call in needed() {
        for (errno, (kind, begins)) in [
            (libc::EPERM, forbidden),
            (libc::EACCES, forbidden),
            (libc::ENOSYS, unknown),
        ] {
            for error in errors(call, errno) {
                let text = error.to_string();
                assert_eq!(error.kind(), kind, "{errno}: {text}");
                assert!(text.starts_with(begins), "{errno}: {text}");
            }
        }
    }
}

/// Once the filter is gone, which is on another thread, there is a ring.
#[test]
fn a_refusal_is_not_remembered_for_other_threads() {
    let before = Ring::new().is_ok();
    errors(CALLS[0], libc::EPERM);
    assert_eq!(
        thread::spawn(|| Ring::new().is_ok()).join().unwrap(),
        before
    );
}

/// Operations on a file that are all due at once, on a ring whose requests the kernel refuses with
/// this error from now on. Each returns it, with its buffer.
fn all_refused(count: usize, errno: i32) {
    // Where a call returns 0 and does nothing, the kernel is taken to have no room.
    let number = format!(
        "os error {}",
        [errno, libc::EAGAIN][usize::from(errno == 0)]
    );
    let file = Arc::new(File::from(std::fs::File::open("Cargo.toml").unwrap()));
    let mut reads: Vec<_> = (0..count).map(|_| file.read_at(vec![7; 9], 0)).collect();
    let mut reads: Vec<_> = reads.drain(..).map(Box::pin).collect();
    let polled: Vec<_> = reads
        .iter_mut()
        .map(|read| block_on(poll_once(read)))
        .collect();
    for (read, polled) in reads.into_iter().zip(polled) {
        let (read, buffer) = polled.unwrap_or_else(|| block_on(read));
        let text = read.unwrap_err().to_string();
        let is_known = text.contains(&number) || text.contains("takes no request");
        assert!(is_known, "{errno}: {text}");
        assert_eq!(buffer, [7; 9]);
    }
}

/// What is beside a refusal, in each combination: the error, the calls that are refused, how many
/// requests the kernel has, and how many it refuses before the thread ends.
#[test]
fn a_kernel_that_refuses_later_gives_back_what_it_did_not_take() {
    if !is_here() {
        return;
    }
    let errors = [
        libc::EPERM,
        libc::EACCES,
        libc::ENOSYS,
        libc::EBADF,
        libc::EAGAIN,
        libc::EBUSY,
        libc::EINTR,
        libc::EFAULT,
        libc::ENOMEM,
        0,
    ];
    for errno in errors {
        // Nothing tells a call that returns 0 from one that has cancelled something.
        let least = [1, 3][usize::from(errno == 0)];
        for calls in [&CALLS[1..2], &CALLS[1..], &CALLS]
            .into_iter()
            .step_by(least)
        {
            for (taken, refused) in [(1, 1), (1, 0), (20, 1), (20, 9), (20, 300)] {
                let ends = thread::spawn(move || {
                    let (reads, peer) = block_on(waiting(taken));
                    crate::refusal::refuse(calls, errno).unwrap();
                    all_refused(refused, errno);
                    (reads, peer)
                });
                let (reads, mut peer) = ends.join().unwrap();
                // What the kernel has ends with the thread, or goes on if it cannot be cancelled.
                peer.write_all(&vec![8; taken]).unwrap();
                for read in reads {
                    match block_on(read) {
                        (Ok(count), buffer) => assert_eq!((count, &*buffer), (1, &[8][..])),
                        (Err(error), buffer) => {
                            assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
                            assert_eq!(buffer, [7]);
                        }
                    }
                }
            }
        }
    }
}

/// The executor that watches the ring ends where the kernel refuses. Another one watches what the
/// kernel has, if that cannot be cancelled.
#[test]
fn an_executor_ends_although_the_kernel_refuses() {
    if !is_here() {
        return;
    }
    for calls in [&CALLS[1..2], &CALLS[1..], &CALLS] {
        let ended = thread::spawn(move || {
            // Its worker is this thread, which the filter is for.
            let mut executor = Executor::builder().build_current_thread().unwrap();
            let (reads, peer) = executor.1.block_on(waiting(3));
            crate::refusal::refuse(calls, libc::EPERM).unwrap();
            drop(executor);
            (reads, peer)
        });
        let (reads, mut peer) = ended.join().unwrap();
        peer.write_all(&[8; 3]).unwrap();
        for read in reads {
            let read = block_on(read).0.map_err(|error| error.raw_os_error());
            assert!(
                [Ok(1), Err(Some(libc::ECANCELED))].contains(&read),
                "{read:?}"
            );
        }
    }
}

/// The kernel refuses a request on the thread to which its task has moved.
#[test]
fn a_request_that_another_thread_may_not_submit_is_given_back() {
    if !is_here() {
        return;
    }
    let (reads, mut peer) = block_on(waiting(20));
    let file = Arc::new(File::from(std::fs::File::open("Cargo.toml").unwrap()));
    let (forgotten, moved) = (file.clone(), file.clone());
    let mut forgotten = Box::pin(async move { forgotten.read_at(vec![7; 9], 0).await });
    let mut moved = Box::pin(async move { moved.read_at(vec![7; 9], 0).await });
    assert!(
        block_on(poll_once(&mut forgotten)).is_none(),
        "it is queued"
    );
    assert!(block_on(poll_once(&mut moved)).is_none(), "it is queued");
    let refused = thread::spawn(move || {
        crate::refusal::refuse(&CALLS[1..2], libc::EPERM).unwrap();
        block_on(moved)
    });
    for (read, buffer) in [refused.join().unwrap(), block_on(forgotten)] {
        assert_eq!(read.unwrap_err().raw_os_error(), Some(libc::EPERM));
        assert_eq!(buffer, [7; 9]);
    }
    let (read, _) = block_on(file.read_at(vec![7; 9], 0));
    assert_eq!(read.unwrap(), 9, "a new ring");
    peer.write_all(&[8; 20]).unwrap();
    for read in reads {
        assert_eq!(block_on(read).0.unwrap(), 1);
    }
}
