//! The other end goes, or the descriptor does.

use std::{
    fs::File,
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    os::{
        fd::{AsRawFd, IntoRawFd},
        unix::net::UnixStream,
    },
    pin::pin,
    sync::Arc,
};

use futures_lite::{AsyncReadExt, AsyncWriteExt};
use joint::block_on;
use joint_executor::{io::AsyncFd, spawn};

use crate::io::support::{Lent, Wakes, ends, on_workers, pipe, poll_once, streams, wait_until};

#[test]
fn the_other_end_closes_amid_a_message() {
    on_workers(|| async {
        let (mut one, mut other) = streams();
        let reader = spawn(async move {
            let mut buffer = [0; 10];
            other.read_exact(&mut buffer).await
        });
        one.write_all(b"half ").await.unwrap();
        drop(one);
        let error = reader.await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    });
}

#[test]
fn a_connection_that_is_reset_is_an_error_to_both_directions() {
    on_workers(|| async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        let near = Arc::new(AsyncFd::new(near).unwrap());
        let reader = spawn({
            let near = near.clone();
            async move { near.read_with(|mut stream| stream.read(&mut [0; 8])).await }
        });
        let writer = spawn({
            let near = near.clone();
            async move {
                loop {
                    let written = near
                        .write_with(|mut stream| stream.write(&[0; 65536]))
                        .await;
                    if let Err(error) = written {
                        return error;
                    }
                }
            }
        });
        // Closed with something unread, it is reset.
        drop(far);
        let error = writer.await;
        let reset = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
        assert!(reset.contains(&error.kind()), "{error}");
        // Whoever comes first is told; to the other it is the end.
        match reader.await {
            Ok(count) => assert_eq!(count, 0),
            Err(error) => assert!(reset.contains(&error.kind()), "{error}"),
        }
    });
}

#[test]
fn a_full_pipe_waits_for_its_reader() {
    on_workers(|| async {
        const BYTES: usize = 1 << 20;
        let (reader, writer) = pipe();
        let mut writer = AsyncFd::new(File::from(writer)).unwrap();
        let mut reader = AsyncFd::new(File::from(reader)).unwrap();
        let task = spawn(async move { writer.write_all(&vec![7; BYTES]).await });
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).await.unwrap();
        task.await.unwrap();
        assert_eq!(bytes.len(), BYTES);
        assert!(bytes.iter().all(|&byte| byte == 7));
    });
}

#[test]
fn a_full_pipe_without_a_reader_is_an_error() {
    ends(|| {
        let (reader, writer) = pipe();
        let writer = AsyncFd::new(File::from(writer)).unwrap();
        let wakes = Wakes::new();
        let fill = |mut writer: &File| writer.write(&[0; 4096]);
        let mut write = pin!(async {
            loop {
                if let Err(error) = writer.write_with(fill).await {
                    return error;
                }
            }
        });
        assert!(poll_once(write.as_mut(), &wakes).is_pending());
        drop(reader);
        wait_until(|| wakes.count() > 0);
        let error = block_on(write);
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    });
}

#[test]
fn a_pipe_without_a_writer_has_ended() {
    ends(|| {
        let (reader, writer) = pipe();
        let mut reader = AsyncFd::new(File::from(reader)).unwrap();
        let wakes = Wakes::new();
        let mut bytes = Vec::new();
        let mut read = pin!(reader.read_to_end(&mut bytes));
        assert!(poll_once(read.as_mut(), &wakes).is_pending());
        drop(writer);
        wait_until(|| wakes.count() > 0);
        assert_eq!(block_on(read).unwrap(), 0);
    });
}

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
    // SAFETY: there is room for so many bytes.
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
