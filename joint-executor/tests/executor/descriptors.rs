//! How many descriptors an executor holds for itself.
//!
//! A program of its own with one test, so that nothing else opens or closes any.
#![cfg(all(target_os = "linux", feature = "io"))]

use std::{collections::BTreeMap, net::UdpSocket};

use crate::prelude::*;

/// All that this process has open, without the directory that is being read for it: how many there
/// are of each kind.
fn open() -> BTreeMap<String, usize> {
    let mut open = BTreeMap::new();
    for fd in fs::read_dir("/proc/self/fd").unwrap() {
        let target = fs::read_link(fd.unwrap().path()).unwrap();
        let target = target.to_str().unwrap();
        // Sockets and pipes have numbers.
        let kind = target.replace(|char: char| char.is_ascii_digit(), "");
        if !target.starts_with("/proc/") {
            *open.entry(kind).or_default() += 1;
        }
    }
    open
}

/// One to wait, one to interrupt the wait, and one to end it at a deadline.
#[test]
fn an_executor_with_descriptors_holds_three_of_its_own() {
    crate::common::alone(|| {
        let before = open();
        let executor = Executor::builder().workers(2).build().unwrap();
        block_on(executor.spawn(joint_executor::time::sleep(Duration::from_millis(1))));
        assert_eq!(open(), before, "none for tasks and timers alone");

        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut expected = open();
        let socket = block_on(executor.spawn(async { AsyncFd::new(socket) })).unwrap();
        for kind in ["[eventpoll]", "[eventfd]", "[timerfd]"] {
            *expected.entry(format!("anon_inode:{kind}")).or_default() += 1;
        }
        assert_eq!(open(), expected);

        drop(socket);
        drop(executor);
        assert_eq!(open(), before, "the executor has closed its own");
    });
}
