//! Guards: what a wait has found, and what its user has found instead.

use std::os::unix::net::UnixStream;

use joint_executor::io::{Interest, Ready};

use crate::io::support::{on_workers, poll_once};
use crate::prelude::*;

/// A descriptor that has waited for the first byte of the other end.
async fn woken() -> io::Result<(AsyncFd<UnixStream>, UnixStream)> {
    let (one, mut other) = UnixStream::pair()?;
    let one = AsyncFd::new(one)?;
    {
        let wakes = Wakes::new();
        let mut wait = pin!(one.readable());
        assert!(poll_once(wait.as_mut(), &wakes).is_pending());
        other.write_all(b"a")?;
        assert_eq!(wait.await?.ready(), Ready::READABLE);
    }
    Ok((one, other))
}

#[test]
fn a_cleared_descriptor_waits_for_the_next_event() {
    on_workers(|| async {
        let (one, mut other) = woken().await.unwrap();
        let mut guard = one.readable().await.unwrap();
        guard.retain_ready();
        one.readable().await.unwrap().clear_ready();
        let wakes = Wakes::new();
        let mut wait = pin!(one.readable());
        assert!(poll_once(wait.as_mut(), &wakes).is_pending());
        other.write_all(b"b").unwrap();
        wait.await.unwrap();
        // This guard has found the first event, and may not forget the second.
        guard.clear_ready();
        one.readable().await.unwrap();
    });
}

#[test]
fn an_operation_that_would_block_clears_what_was_found() {
    on_workers(|| async {
        let (one, mut other) = woken().await.unwrap();
        let mut guard = one.readable().await.unwrap();
        let mut buffer = [0; 8];
        let read = guard.try_io(|fd| fd.get_ref().read(&mut buffer));
        assert_eq!(read.unwrap().unwrap(), 1);
        assert_eq!(guard.ready(), Ready::READABLE);
        assert!(guard.try_io(|fd| fd.get_ref().read(&mut [0])).is_err());
        assert_eq!(guard.ready(), Ready::EMPTY);

        other.write_all(b"b").unwrap();
        let read = one.async_io(Interest::READABLE, |mut stream| stream.read(&mut buffer));
        assert_eq!(read.await.unwrap(), 1);
        let read = || one.try_io(Interest::READABLE, |mut stream| stream.read(&mut [0]));
        assert_eq!(read().unwrap_err().kind(), ErrorKind::WouldBlock);
        drop(other);
        let read_end = one.async_io(Interest::READABLE, |mut stream| stream.read(&mut [0]));
        assert_eq!(read_end.await.unwrap(), 0);
        assert_eq!(read().unwrap(), 0);
    });
}

/// Each function in each direction, of descriptors that are registered for one of them.
#[test]
fn what_is_not_in_the_interest_is_tried_but_never_waited_for() {
    on_workers(|| async {
        for (interest, reads, writes) in [
            (Interest::READABLE, true, false),
            (Interest::WRITABLE, false, true),
            (Interest::READABLE | Interest::WRITABLE, true, true),
        ] {
            let (ours, mut peer) = UnixStream::pair().unwrap();
            let ours = AsyncFd::with_interest(ours, interest).unwrap();
            peer.write_all(b"a").unwrap();
            let count = ours.read_with(|mut stream| stream.read(&mut [0; 8])).await;
            assert_eq!(count.unwrap(), 1, "{interest:?}: it has not to wait");
            let refused = |error: Option<io::Error>| match error {
                None => true,
                Some(error) => {
                    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{interest:?}");
                    false
                }
            };
            assert_eq!(refused(ours.writable().await.err()), writes);
            let both = Interest::READABLE | Interest::WRITABLE;
            assert_eq!(refused(ours.ready(both).await.err()), reads && writes);
            let mut wait = pin!(ours.read_with(|mut stream| stream.read(&mut [0; 8])));
            let wakes = Wakes::new();
            match poll_once(wait.as_mut(), &wakes) {
                Poll::Pending => {
                    assert!(reads, "{interest:?}");
                    peer.write_all(b"b").unwrap();
                    assert_eq!(wait.await.unwrap(), 1);
                }
                Poll::Ready(read) => assert_eq!(refused(read.err()), reads),
            }
            #[cfg(target_os = "linux")]
            assert!(!refused(ours.ready(Interest::PRIORITY).await.err()));
            let again = AsyncFd::with_interest(ours.get_ref(), interest).unwrap_err();
            assert_eq!(again.kind(), ErrorKind::AlreadyExists);
        }
    });
}

#[test]
fn a_wait_for_both_directions_names_those_that_are_ready() {
    on_workers(|| async {
        let (one, mut other) = UnixStream::pair().unwrap();
        let both = Interest::READABLE | Interest::WRITABLE;
        other.write_all(b"a").unwrap();
        let one = AsyncFd::new(one).unwrap();
        let mut guard = one.ready(both).await.unwrap();
        assert_eq!(guard.ready(), Ready::READABLE | Ready::WRITABLE);
        guard.clear_ready_matching(Ready::READABLE);
        assert_eq!(guard.ready(), Ready::WRITABLE);
        guard.clear_ready_matching(Ready::WRITABLE);
        assert_eq!(guard.ready(), Ready::EMPTY);
        drop(other);
        for (interest, closed) in [
            (Interest::READABLE, Ready::READ_CLOSED),
            (Interest::WRITABLE, Ready::WRITE_CLOSED),
        ] {
            while (one.ready(interest).await.unwrap().ready() & closed).is_empty() {
                joint_executor::yield_now().await;
            }
        }
    });
}

#[test]
fn a_wait_for_both_directions_ends_with_the_first_ready_one() {
    on_workers(|| async {
        let (one, other) = UnixStream::pair().unwrap();
        let (one, other) = (AsyncFd::new(one).unwrap(), AsyncFd::new(other).unwrap());
        let block = [7; 4096];
        let write = |mut stream: &UnixStream| stream.write(&block);
        let fill = || while one.try_io(Interest::WRITABLE, write).is_ok() {};
        fill();
        for byte in [false, true] {
            let wakes = Wakes::new();
            let mut wait = pin!(one.ready(Interest::READABLE | Interest::WRITABLE));
            assert!(poll_once(wait.as_mut(), &wakes).is_pending());
            match byte {
                true => assert_eq!(other.get_ref().write(b"a").unwrap(), 1),
                false => while other.get_ref().read(&mut [0; 4096]).is_ok() {},
            }
            let found = wait.await.unwrap().ready();
            assert_eq!((found.is_readable(), found.is_writable()), (byte, !byte));
            fill();
        }
    });
}

#[cfg(target_os = "linux")]
mod exceptions {
    use std::{net, os::fd::AsRawFd};

    use super::*;

    fn connected() -> io::Result<(AsyncFd<net::TcpStream>, net::TcpStream)> {
        let listener = net::TcpListener::bind("127.0.0.1:0")?;
        let one = AsyncFd::new(net::TcpStream::connect(listener.local_addr()?)?)?;
        Ok((one, listener.accept()?.0))
    }

    fn send_urgent(stream: &net::TcpStream) {
        let (fd, urgent) = (stream.as_raw_fd(), b"!".as_ptr().cast());
        // SAFETY: the descriptor is open, and the byte is there.
        assert_eq!(unsafe { libc::send(fd, urgent, 1, libc::MSG_OOB) }, 1);
    }

    #[test]
    fn urgent_data_ends_a_wait_and_plain_data_does_not() {
        on_workers(|| async {
            let (one, mut other) = connected().unwrap();
            let wakes = Wakes::new();
            let mut wait = pin!(one.ready(Interest::PRIORITY));
            assert!(poll_once(wait.as_mut(), &wakes).is_pending());
            other.write_all(b"plain").unwrap();
            assert_eq!(one.readable().await.unwrap().ready(), Ready::READABLE);
            assert!(poll_once(wait.as_mut(), &wakes).is_pending());
            // The wait for urgent data has not used up the event of the plain data.
            let mut buffer = [0; 8];
            let read = one.read_with(|mut stream| stream.read(&mut buffer));
            assert_eq!(read.await.unwrap(), 5);
            send_urgent(&other);
            assert_eq!(wait.await.unwrap().ready(), Ready::PRIORITY);
        });
    }

    #[test]
    fn urgent_data_that_was_there_before_the_first_wait_is_found() {
        on_workers(|| async {
            let (one, other) = connected().unwrap();
            send_urgent(&other);
            let found = one.ready(Interest::PRIORITY).await.unwrap();
            assert!(found.ready().is_priority());
        });
    }

    #[test]
    fn an_error_and_a_hang_up_end_the_waits_for_them() {
        on_workers(|| async {
            let (reader, writer) = crate::io::support::pipe();
            let writer = AsyncFd::new(writer).unwrap();
            let wakes = Wakes::new();
            let mut wait = pin!(writer.ready(Interest::ERROR));
            assert!(poll_once(wait.as_mut(), &wakes).is_pending());
            drop(reader);
            assert_eq!(wait.await.unwrap().ready(), Ready::ERROR);

            let (one, other) = connected().unwrap();
            let mut wait = pin!(one.ready(Interest::PRIORITY));
            assert!(poll_once(wait.as_mut(), &wakes).is_pending());
            one.get_ref().shutdown(net::Shutdown::Write).unwrap();
            drop(other);
            assert_eq!(wait.await.unwrap().ready(), Ready::READ_CLOSED);
        });
    }

    #[test]
    fn the_end_of_the_executor_is_an_error_of_waits_for_exceptions() {
        ends(|| {
            let executor = executor(1);
            let (one, _other) = block_on(executor.spawn(async { connected().unwrap() }));
            let wakes = Wakes::new();
            let mut wait = pin!(one.ready(Interest::PRIORITY));
            assert!(poll_once(wait.as_mut(), &wakes).is_pending());
            drop(executor);
            assert_eq!(wakes.count(), 1);
            assert_eq!(block_on(wait).unwrap_err().kind(), ErrorKind::Other);
            // Nobody has waited for exceptions of this one before.
            let (two, _other) = {
                let executor = self::executor(1);
                block_on(executor.spawn(async { connected().unwrap() }))
            };
            let error = block_on(two.ready(Interest::ERROR)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Other);
        });
    }
}
