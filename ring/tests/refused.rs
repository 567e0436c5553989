//! Where the system refuses io_uring, every operation returns an error that says why, and its
//! buffer. A filter of system calls refuses it here, for one thread each.
#![cfg(target_os = "linux")]

mod refusal;

use std::{io, thread};

use joint_executor::block_on;
use joint_ring::{File, Ring};

/// Returns the errors of a ring and of operations on a thread where io_uring is refused.
fn errors(errno: i32) -> [io::Error; 3] {
    let refused = thread::spawn(move || {
        refusal::refuse(errno).unwrap();
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

#[test]
fn a_policy_that_forbids_it_is_named() {
    for error in errors(libc::EPERM) {
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        let text = error.to_string();
        assert!(text.starts_with("io_uring is forbidden here"), "{text}");
        assert!(text.contains("kernel.io_uring_disabled"), "{text}");
    }
}

#[test]
fn a_system_without_it_is_named() {
    for error in errors(libc::ENOSYS) {
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        let text = error.to_string();
        assert!(text.starts_with("this system has no io_uring"), "{text}");
    }
}

/// Once the filter is gone, which is on another thread, there is a ring.
#[test]
fn a_refusal_is_not_remembered_for_other_threads() {
    let before = Ring::new().is_ok();
    errors(libc::EPERM);
    assert_eq!(
        thread::spawn(|| Ring::new().is_ok()).join().unwrap(),
        before
    );
}
