//! Tests that change the whole process: each runs the test program again, for itself alone.

use std::os::unix::net::UnixStream;

use futures_lite::AsyncReadExt;

use crate::child::in_child;
use crate::prelude::*;

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
                let mut parents = stream.take().unwrap();
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
