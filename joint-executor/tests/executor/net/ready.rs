//! Readiness, operations that do not wait, halves, and messages.

use std::io::{IoSlice, IoSliceMut};

use futures_lite::{AsyncRead, AsyncReadExt, AsyncWriteExt, future};
use joint_executor::io::{TcpListener, TcpStream, UdpSocket};

use super::support::{bytes, connected, everywhere, waits, write_and_close};
use crate::prelude::*;

fn would_block<T: std::fmt::Debug>(result: io::Result<T>) {
    assert_eq!(result.unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_stream_is_readable_until_a_read_finds_nothing() {
    everywhere(async || {
        let (client, server) = connected().await?;
        // Nothing has been tried yet.
        server.readable().await?;
        would_block(server.try_read(&mut [0; 8]));
        let mut wait = pin!(server.readable());
        waits(&mut wait).await;
        assert_eq!(client.try_write(b"ping")?, 4);
        wait.await?;
        poll_fn(|cx| server.poll_read_ready(cx)).await?;
        let (mut head, mut tail) = ([0; 1], [0; 8]);
        let mut parts = [IoSliceMut::new(&mut head), IoSliceMut::new(&mut tail)];
        assert_eq!(server.try_read_vectored(&mut parts)?, 4);
        assert_eq!((&head, &tail[..3]), (b"p", &b"ing"[..]));
        would_block(server.try_read(&mut [0; 8]));
        waits(&mut poll_fn(|cx| server.poll_read_ready(cx))).await;
        drop(client);
        server.readable().await?;
        assert_eq!(server.try_read(&mut [0; 8])?, 0);
        assert_eq!(server.peek(&mut [0; 8]).await?, 0);
        Ok(())
    });
}

#[test]
fn a_stream_is_writable_until_a_write_finds_no_room() {
    everywhere(async || {
        let (one, other) = connected().await?;
        let (mut sent, block) = (0, bytes(10_000));
        loop {
            one.writable().await?;
            let (first, second) = block.split_at(5000);
            match one.try_write_vectored(&[IoSlice::new(first), IoSlice::new(second)]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let mut wait = pin!(one.writable());
        waits(&mut wait).await;
        waits(&mut poll_fn(|cx| one.poll_write_ready(cx))).await;
        let mut received = 0;
        while received < sent {
            other.readable().await?;
            match other.try_read(&mut [0; 4096]) {
                Ok(count) => received += count,
                Err(error) => would_block(io::Result::<()>::Err(error)),
            }
        }
        wait.await
    });
}

#[test]
fn messages_are_sent_and_received_without_waiting() {
    everywhere(async || {
        let one = UdpSocket::bind("127.0.0.1:0").await?;
        let other = UdpSocket::bind("127.0.0.1:0").await?;
        let (at_one, at_other) = (one.local_addr()?, other.local_addr()?);
        let mut buffer = [0; 16];
        would_block(other.try_recv(&mut buffer));
        let mut wait = pin!(other.readable());
        waits(&mut wait).await;
        assert_eq!(one.try_send_to(b"first", at_other)?, 5);
        wait.await?;
        assert_eq!(other.peek_sender().await?, at_one);
        assert_eq!(other.peek(&mut buffer).await?, 5);
        assert_eq!(other.peek_from(&mut buffer).await?, (5, at_one));
        assert_eq!(other.try_recv_from(&mut buffer)?, (5, at_one));
        would_block(other.try_recv_from(&mut buffer));
        waits(&mut poll_fn(|cx| other.poll_recv_ready(cx))).await;

        one.connect(at_other).await?;
        one.writable().await?;
        poll_fn(|cx| one.poll_send_ready(cx)).await?;
        assert_eq!(one.try_send(b"second")?, 6);
        assert_eq!(poll_fn(|cx| one.poll_send(cx, b"third")).await?, 5);
        assert_eq!(poll_fn(|cx| one.poll_send_to(cx, b"4", at_other)).await?, 1);
        assert_eq!(poll_fn(|cx| other.poll_recv(cx, &mut buffer)).await?, 6);
        let received = poll_fn(|cx| other.poll_recv_from(cx, &mut buffer)).await?;
        assert_eq!(received, (5, at_one));
        other.readable().await?;
        assert_eq!(other.try_recv(&mut buffer)?, 1);
        Ok(())
    });
}

#[cfg(unix)]
#[test]
fn unix_sockets_and_pipes_have_the_same() {
    use joint_executor::io::{UnixDatagram, UnixStream, pipe};

    everywhere(async || {
        let (one, other) = UnixStream::pair()?;
        would_block(other.try_read(&mut [0; 8]));
        assert_eq!(one.try_write(b"ab")?, 2);
        other.readable().await?;
        assert_eq!(other.try_read(&mut [0; 8])?, 2);

        let (one, other) = UnixDatagram::pair()?;
        would_block(other.try_recv(&mut [0; 8]));
        assert_eq!(one.try_send(b"abc")?, 3);
        other.readable().await?;
        assert_eq!(other.try_recv(&mut [0; 8])?, 3);
        let path = std::env::temp_dir().join(format!("joint-nobody-{}", std::process::id()));
        let missing = one.try_send_to(b"abc", path);
        assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);

        let (reader, writer) = pipe()?;
        would_block(reader.try_read(&mut [0; 8]));
        writer.writable().await?;
        assert_eq!(writer.try_write(b"abcd")?, 4);
        poll_fn(|cx| reader.poll_read_ready(cx)).await?;
        assert_eq!(reader.try_read(&mut [0; 8])?, 4);
        while writer.try_write(&[0; 4096]).is_ok() {}
        waits(&mut poll_fn(|cx| writer.poll_write_ready(cx))).await;
        Ok(())
    });
}

async fn ends(mut reader: impl AsyncRead + Unpin) -> io::Result<()> {
    assert_eq!(reader.read(&mut [0; 8]).await?, 0);
    Ok(())
}

#[test]
fn the_drop_of_the_writing_half_ends_one_direction_alone() {
    everywhere(async || {
        let (one, mut other) = connected().await?;
        let (mut reader, mut writer) = one.into_split();
        writer.write_all(b"a").await?;
        let writes = joint_executor::spawn(async move { drop(writer) });
        let mut buffer = [0; 1];
        other.read_exact(&mut buffer).await?;
        ends(&mut other).await?;
        writes.await;
        other.write_all(b"bc").await?;
        reader.read_exact(&mut buffer).await?;
        assert_eq!(&buffer, b"b");
        assert_eq!(reader.peer_addr()?, other.local_addr()?);
        drop(reader);
        Ok(())
    });
}

#[test]
fn halves_of_one_stream_make_it_again_and_others_come_back() {
    everywhere(async || {
        let ((one, other), (third, fourth)) = future::try_zip(connected(), connected()).await?;
        let ((reader, writer), (foreign, last)) = (one.into_split(), third.into_split());
        let error = reader.reunite(last).unwrap_err();
        assert_eq!(error.to_string(), "these halves are of different streams");
        let (reader, last) = (error.0, error.1);
        let one = writer.reunite(reader).unwrap();
        // Nothing has been shut down by the reunion, nor by forgetting.
        write_and_close(&one, b"whole").await?;
        let mut buffer = [0; 5];
        other.read_exact(&mut buffer).await?;
        last.forget();
        foreign.write_all(b"still").await?;
        fourth.read_exact(&mut buffer).await?;
        Ok(())
    });
}

#[test]
fn a_prepared_socket_is_connected_from_its_address() {
    use socket2::{Domain, Socket, Type};

    everywhere(async || {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into())?;
        let bound = socket.local_addr()?.as_socket();
        let client = TcpStream::connect_std(socket.into(), listener.local_addr()?).await?;
        let (server, peer) = listener.accept().await?;
        assert_eq!(Some(peer), bound);
        write_and_close(client, b"a").await?;
        server.read_exact(&mut [0]).await?;

        let nobody = listener.local_addr()?;
        drop(listener);
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        let refused = TcpStream::connect_std(socket.into(), nobody).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        Ok(())
    });
}

/// Windows says so by an error.
fn assert_did_not_fit(received: io::Result<usize>) {
    const WSAEMSGSIZE: i32 = 10040;

    match received {
        Err(error) if cfg!(windows) => assert_eq!(error.raw_os_error(), Some(WSAEMSGSIZE)),
        received => assert_eq!((received.unwrap(), cfg!(windows)), (4, false)),
    }
}

#[test]
fn the_part_of_a_message_beyond_the_buffer_is_lost() {
    everywhere(async || {
        let one = UdpSocket::bind("127.0.0.1:0").await?;
        let other = UdpSocket::bind("127.0.0.1:0").await?;
        let to = other.local_addr()?;
        one.send_to(b"too long", to).await?;
        one.send_to(b"next", to).await?;
        let mut buffer = [0; 4];
        assert_did_not_fit(other.peek(&mut buffer).await);
        assert_eq!(&buffer, b"too ");
        let mut again = [0; 16];
        assert_eq!(other.peek(&mut again).await?, 8);
        buffer.fill(0);
        assert_did_not_fit(other.recv(&mut buffer).await);
        assert_eq!(&buffer, b"too ");
        let received = other.recv_from(&mut buffer).await?;
        assert_eq!(received, (4, one.local_addr()?));
        assert_eq!(&buffer, b"next");
        Ok(())
    });
}
