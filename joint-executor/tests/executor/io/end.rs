//! What fails: the executor goes before what it serves, a descriptor is closed or cannot be served,
//! and none is left. How ends go is tested by type (`net`).

use std::os::unix::net::UnixStream;

use crate::{child::in_child, io::support::poll_once, prelude::*};

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
        assert_gone(&block_on((*stream).read(&mut buffer)).unwrap_err());
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
            block_on((*stream).read_exact(&mut buffer[..1])).unwrap();
        }
        assert!(format!("{stream:?}").contains("is_gone: true"));
        // What does not have to wait is done.
        block_on((*stream).write_all(b"ab")).unwrap();
        io::Read::read_exact(&mut far, &mut buffer).unwrap();
        io::Write::write_all(&mut far, &buffer).unwrap();
        let read = stream.read_with(|mut stream| io::Read::read(&mut stream, &mut buffer));
        assert_eq!(block_on(read).unwrap(), 2);
        // Taken out, it can be served by another.
        let stream = Arc::into_inner(stream).unwrap().into_inner().unwrap();
        let stream = AsyncFd::new(stream).unwrap();
        io::Write::write_all(&mut far, b"cd").unwrap();
        block_on(stream.read_exact(&mut buffer)).unwrap();
        assert_eq!(&buffer, b"cd");
    });
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

fn set_descriptor_limit(limit: libc::rlim_t) {
    let limits = libc::rlimit {
        rlim_cur: limit,
        rlim_max: 1024,
    };
    // SAFETY: the limits are there to be read.
    let set = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limits) };
    assert_eq!(set, 0);
}

#[test]
fn without_descriptors_left_nothing_is_made_but_an_error() {
    alone(|| {
        ends(|| {
            let executor = executor(2);
            let (mut far, near) = UnixStream::pair().unwrap();
            let taken: Vec<_> = (0..20).map(|_| near.try_clone().unwrap()).collect();
            // Fewer than what waits for descriptors takes, by one more each time.
            let mut stream = Some(near.try_clone().unwrap());
            let mut refusals = 0;
            drop(taken);
            for limit in 5.. {
                set_descriptor_limit(limit);
                let own = near.try_clone();
                let Ok(own) = own else { continue };
                let made = block_on(executor.spawn(async move { AsyncFd::new(own) }));
                match made {
                    Ok(made) => {
                        stream = Some(made.into_inner().unwrap());
                        break;
                    }
                    Err(error) => {
                        assert_eq!(error.raw_os_error(), Some(libc::EMFILE), "{error}");
                        refusals += 1;
                    }
                }
            }
            assert!(refusals > 0, "the limit was never too low");
            set_descriptor_limit(1024);
            // Later on it works, and nothing is left over from before.
            let stream = stream.unwrap();
            let read = executor.spawn(async move {
                let mut buffer = [0; 3];
                AsyncFd::new(stream)?.read_exact(&mut buffer).await?;
                io::Result::Ok(buffer)
            });
            far.write_all(b"abc").unwrap();
            assert_eq!(block_on(read).unwrap(), *b"abc");
        });
    });
}

/// The child of a fork drops the descriptors that it inherits, and its parent is served as before.
#[test]
fn a_child_that_drops_what_it_inherits_takes_nothing_away() {
    alone(|| {
        ends(|| {
            let executor = executor(2);
            let (mut far, near) = UnixStream::pair().unwrap();
            let stream = block_on(executor.spawn(async move { AsyncFd::new(near).unwrap() }));
            let mut stream = Some(stream);
            for _ in 0..10 {
                in_child(|| drop(stream.take()));
                let parents = stream.take().unwrap();
                let read = executor.spawn(async move {
                    let mut buffer = [0; 3];
                    parents.read_exact(&mut buffer).await.unwrap();
                    (parents, buffer)
                });
                far.write_all(b"abc").unwrap();
                let (parents, buffer) = block_on(read);
                assert_eq!(&buffer, b"abc");
                stream = Some(parents);
            }
        });
    });
}
