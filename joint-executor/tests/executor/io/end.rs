//! The executor goes before what it serves.

use std::os::unix::net::UnixStream;

use futures_lite::{AsyncReadExt, AsyncWriteExt};

use crate::io::support::poll_once;
use crate::prelude::*;

const WAITERS: usize = 100_000;
const DESCRIPTORS: usize = 100;

/// Pairs whose first end that executor serves.
fn served_by(executor: &Executor, count: usize) -> Vec<(Arc<AsyncFd<UnixStream>>, UnixStream)> {
    block_on(executor.spawn(async move {
        let pairs = (0..count).map(|_| UnixStream::pair().unwrap());
        pairs
            .map(|(one, other)| (Arc::new(AsyncFd::new(one).unwrap()), other))
            .collect()
    }))
}

#[track_caller]
fn assert_gone(error: &io::Error) {
    assert!(error.to_string().contains("executor"), "{error}");
    assert!(error.to_string().contains("gone"), "{error}");
}

#[test]
fn the_drop_of_an_executor_wakes_100_000_foreign_waiters() {
    ends(|| {
        let executor = executor(2);
        let pairs = served_by(&executor, DESCRIPTORS);
        let wakes = Wakes::new();
        let mut waits: Vec<_> = (0..WAITERS)
            .map(|n| Box::pin(pairs[n % DESCRIPTORS].0.readable()))
            .collect();
        for wait in &mut waits {
            assert!(poll_once(wait.as_mut(), &wakes).is_pending());
        }
        assert_eq!(wakes.wakers(), WAITERS);
        drop(executor);
        assert_eq!((wakes.count(), wakes.wakers()), (WAITERS, 0));
        for wait in &mut waits {
            match poll_once(wait.as_mut(), &wakes) {
                Poll::Ready(Err(error)) => assert_gone(&error),
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn io_that_outlives_its_executor_fails_when_it_has_to_wait() {
    ends(|| {
        let executor = executor(1);
        let (stream, mut far) = served_by(&executor, 1).pop().unwrap();
        drop(executor);
        let mut buffer = [0; 2];
        assert_gone(&block_on((&*stream).read(&mut buffer)).unwrap_err());
        for _ in 0..2 {
            assert_gone(&block_on(stream.readable()).unwrap_err());
            // It has room.
            assert_gone(&block_on(stream.writable()).unwrap_err());
            let polled = poll_fn(|cx| stream.poll_write_ready(cx));
            assert_gone(&block_on(polled).unwrap_err());
            // It has something to be read.
            io::Write::write_all(&mut far, b"x").unwrap();
            assert_gone(&block_on(stream.readable()).unwrap_err());
            let polled = poll_fn(|cx| stream.poll_read_ready(cx));
            assert_gone(&block_on(polled).unwrap_err());
            block_on((&*stream).read_exact(&mut buffer[..1])).unwrap();
        }
        assert!(format!("{stream:?}").contains("is_gone: true"));
        // What does not have to wait is done.
        block_on((&*stream).write_all(b"ab")).unwrap();
        io::Read::read_exact(&mut far, &mut buffer).unwrap();
        io::Write::write_all(&mut far, &buffer).unwrap();
        let read = stream.read_with(|mut stream| io::Read::read(&mut stream, &mut buffer));
        assert_eq!(block_on(read).unwrap(), 2);
        // Taken out, it can be served by another.
        let stream = Arc::into_inner(stream).unwrap().into_inner().unwrap();
        let mut stream = AsyncFd::new(stream).unwrap();
        io::Write::write_all(&mut far, b"cd").unwrap();
        block_on(stream.read_exact(&mut buffer)).unwrap();
        assert_eq!(&buffer, b"cd");
    });
}
