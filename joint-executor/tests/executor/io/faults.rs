//! A descriptor that is closed, or cannot be served. How ends go is tested by type (`net`).

use std::{
    fs::File,
    os::{
        fd::{AsRawFd, IntoRawFd},
        unix::net::UnixStream,
    },
};

use crate::io::support::{Lent, poll_once};
use crate::prelude::*;

/// The waiter is left alone, and can go; its number belongs to who gets it next.
#[test]
fn a_descriptor_is_closed_under_its_waiter() {
    ends(|| {
        for _ in 0..10 {
            let (one, other) = UnixStream::pair().unwrap();
            let number = other.into_raw_fd();
            let lent = AsyncFd::new(Lent(number)).unwrap();
            let wakes = Wakes::new();
            let mut wait = Box::pin(lent.readable());
            assert!(poll_once(wait.as_mut(), &wakes).is_pending());
            // Another takes the number, and the first stream's end is closed by that.
            let (mut far, near) = UnixStream::pair().unwrap();
            // SAFETY: both are open, and `number` is nobody's but the test's.
            assert_eq!(unsafe { libc::dup2(near.as_raw_fd(), number) }, number);
            drop((one, near));
            let again = AsyncFd::new(Lent(number)).unwrap();
            drop(wait);
            assert_eq!(wakes.wakers(), 0);
            drop(lent);
            let mut read = Box::pin(again.read_with(|lent| read_raw(lent.0)));
            assert!(poll_once(read.as_mut(), &wakes).is_pending());
            far.write_all(b"x").unwrap();
            assert_eq!(block_on(read).unwrap(), 1);
            drop(again);
            // SAFETY: nobody else has it any more.
            assert_eq!(unsafe { libc::close(number) }, 0);
        }
    });
}

fn read_raw(number: i32) -> io::Result<usize> {
    let mut buffer = [0u8; 8];
    // SAFETY: the pointer and the length are the buffer's.
    let count = unsafe { libc::read(number, buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

#[cfg(target_os = "linux")]
#[test]
fn a_regular_file_is_refused_with_advice() {
    ends(|| {
        let file = File::open("Cargo.toml").unwrap();
        let error = AsyncFd::new(file).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert!(error.to_string().contains("spawn_blocking"), "{error}");
    });
}
