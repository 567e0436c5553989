//! Unix sockets, at paths that are removed.

use std::process;

use futures_lite::future;
use joint_executor::io::{UnixDatagram, UnixListener, UnixStream};

use super::support::{bytes, end_while_waiting, everywhere, read_all, waits, write_and_close};
use crate::prelude::*;

/// A path at which there is nothing, before and after.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("joint-net-{}-{}", process::id(), NEXT.fetch_add(1, Relaxed));
        Self(env::temp_dir().join(name))
    }
}

impl AsRef<Path> for Place {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn streams_are_connected_at_a_path() {
    everywhere(async || {
        let place = Place::new();
        let listener = UnixListener::bind(&place)?;
        assert_eq!(listener.local_addr()?.as_pathname(), Some(place.as_ref()));
        let mut accept = pin!(listener.accept());
        waits(&mut accept).await;
        let client = UnixStream::connect(&place).await?;
        let (server, peer) = accept.await?;
        assert!(peer.is_unnamed());
        assert_eq!(client.peer_addr()?.as_pathname(), Some(place.as_ref()));

        let sent = bytes(1 << 20);
        let both = future::try_zip(write_and_close(&client, &sent), read_all(&server));
        assert!(both.await?.1 == sent);
        Ok(())
    });
}

/// A name in no folder, which is gone with its last socket.
#[test]
#[cfg(target_os = "linux")]
fn a_name_that_begins_with_a_zero_byte_is_abstract() {
    use std::os::linux::net::SocketAddrExt;

    everywhere(async || {
        let place = Place::new();
        let file = place.0.file_name().unwrap().to_str().unwrap();
        for name in [file.to_owned(), format!("{file}\0with another")] {
            let path = format!("\0{name}");
            let error = UnixStream::connect(&path).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            let listener = UnixListener::bind(&path)?;
            let address = listener.local_addr()?;
            assert_eq!(address.as_abstract_name(), Some(name.as_bytes()));
            let error = UnixListener::bind(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AddrInUse);
            let client = UnixStream::connect(&path).await?;
            let (server, _) = listener.accept().await?;
            client.write_all(b"abstract").await?;
            drop(client);
            assert_eq!(read_all(server).await?, b"abstract");
            drop(listener);

            let receiver = UnixDatagram::bind(&path)?;
            let sender = UnixDatagram::unbound()?;
            sender.send_to(b"one", &path).await?;
            sender.connect(&path)?;
            sender.send(b"three").await?;
            let mut buffer = [0; 16];
            assert_eq!(receiver.recv(&mut buffer).await?, 3);
            assert_eq!(receiver.recv(&mut buffer).await?, 5);
        }
        Ok(())
    });
}

#[test]
fn a_path_with_a_zero_byte_inside_is_an_error() {
    everywhere(async || {
        let path = "/tmp/joint\0inside";
        let sender = UnixDatagram::unbound()?;
        let errors = [
            UnixListener::bind(path).err(),
            UnixStream::connect(path).await.err(),
            UnixDatagram::bind(path).err(),
            sender.connect(path).err(),
            sender.send_to(b"lost", path).await.err(),
        ];
        for error in errors {
            assert_eq!(error.unwrap().kind(), ErrorKind::InvalidInput);
        }
        Ok(())
    });
}

#[test]
#[cfg(target_os = "linux")]
fn a_listener_without_room_says_so() {
    use socket2::{Domain, SockAddr, Socket, Type};

    everywhere(async || {
        let place = Place::new();
        let listener = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        listener.bind(&SockAddr::unix(&place)?)?;
        listener.listen(0)?;
        let listener = UnixListener::try_from(std::os::unix::net::UnixListener::from(
            std::os::fd::OwnedFd::from(listener),
        ))?;
        let mut clients = Vec::new();
        let error = loop {
            match UnixStream::connect(&place).await {
                Ok(client) => clients.push(client),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        listener.accept().await?;
        UnixStream::connect(&place).await?;
        Ok(())
    });
}

#[test]
fn datagrams_go_to_a_path() {
    everywhere(async || {
        let (place, back) = (Place::new(), Place::new());
        let receiver = UnixDatagram::bind(&place)?;
        let mut buffer = [0; 16];
        {
            let mut receive = pin!(receiver.recv_from(&mut buffer));
            waits(&mut receive).await;
            let sender = UnixDatagram::bind(&back)?;
            sender.send_to(b"named", &place).await?;
            let (length, from) = receive.await?;
            assert_eq!((length, from.as_pathname()), (5, Some(back.as_ref())));
        }
        let sender = UnixDatagram::unbound()?;
        sender.connect(&place)?;
        sender.send(b"unnamed").await?;
        let (length, from) = receiver.recv_from(&mut buffer).await?;
        assert!(length == 7 && from.is_unnamed());
        drop(receiver);
        let error = sender.send(b"lost").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        Ok(())
    });
}

/// The one who waits has nothing in the queue itself, and the system calls its socket writable.
#[test]
#[cfg(target_os = "linux")]
fn a_datagram_to_a_path_waits_until_others_make_room() {
    everywhere(async || {
        let place = Place::new();
        let receiver = UnixDatagram::bind(&place)?;
        let filler = UnixDatagram::unbound()?;
        let mut sent = 0;
        while let Some(length) = future::poll_once(pin!(filler.send_to(b"filler", &place))).await {
            assert_eq!(length?, 6);
            sent += 1;
        }
        let polls = Arc::new(AtomicUsize::new(0));
        let send = joint_executor::spawn(late(place.0.clone(), polls.clone()));
        for _ in 0..100 {
            let (one, other) = UnixStream::pair()?;
            end_while_waiting(one, other).await?;
        }
        assert!(polls.load(Relaxed) < 20, "it spins");
        let mut buffer = [0; 16];
        for _ in 0..sent {
            assert_eq!(receiver.recv(&mut buffer).await?, 6);
        }
        assert_eq!(send.await?, 4);
        assert_eq!(receiver.recv(&mut buffer).await?, 4);
        Ok(())
    });
}

/// Sends to a path, and counts how often it is polled.
#[cfg(target_os = "linux")]
async fn late(path: PathBuf, polls: Arc<AtomicUsize>) -> io::Result<usize> {
    let sender = UnixDatagram::unbound()?;
    let mut send = pin!(sender.send_to(b"late", path));
    poll_fn(|cx| {
        polls.fetch_add(1, Relaxed);
        send.as_mut().poll(cx)
    })
    .await
}

/// A read of bytes that came with a descriptor stops short behind them.
#[test]
#[cfg(target_os = "linux")]
fn bytes_behind_a_descriptor_are_read() {
    everywhere(async || {
        let (one, other) = UnixStream::pair()?;
        let mut buffer = [0; 64];
        {
            let mut read = pin!(one.read(&mut buffer));
            waits(&mut read).await;
            pass_a_descriptor(&other, b"with");
            other.write_all(b"behind").await?;
            assert_eq!(read.await?, 4);
        }
        assert_eq!(one.read(&mut buffer).await?, 6);
        assert_eq!(&buffer[..6], b"behind");
        Ok(())
    });
}

/// Sends bytes together with the descriptor of the socket itself.
#[cfg(target_os = "linux")]
fn pass_a_descriptor(socket: &UnixStream, bytes: &[u8]) {
    use std::{io::IoSlice, mem, os::fd::AsFd};

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

    let mut space = [mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [socket.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
    let slices = [IoSlice::new(bytes)];
    let sent = sendmsg(socket, &slices, &mut control, SendFlags::empty()).unwrap();
    assert_eq!(sent, bytes.len());
}
