//! UDP messages.

use joint_executor::io::UdpSocket;

use super::support::{everywhere, waits};
use crate::prelude::*;

async fn two() -> io::Result<(UdpSocket, UdpSocket)> {
    let one = UdpSocket::bind("127.0.0.1:0").await?;
    let other = UdpSocket::bind("127.0.0.1:0").await?;
    Ok((one, other))
}

#[test]
fn messages_go_between_sockets_that_are_not_connected() {
    everywhere(async || {
        let (one, other) = two().await?;
        let mut buffer = [0; 16];
        let received = {
            let mut receive = pin!(other.recv_from(&mut buffer));
            waits(&mut receive).await;
            assert_eq!(one.send_to(b"ping", other.local_addr()?).await?, 4);
            receive.await?
        };
        assert_eq!(received, (4, one.local_addr()?));
        assert_eq!(&buffer[..4], b"ping");
        let error = other.peer_addr().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotConnected);
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
        let (one, other) = two().await?;
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
        assert_eq!(other.recv(&mut buffer).await?, 4);
        assert_eq!(&buffer, b"next");
        Ok(())
    });
}
