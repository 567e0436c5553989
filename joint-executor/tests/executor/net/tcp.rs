//! Bytes over TCP connections, and how these end.

use futures_lite::AsyncWriteExt;
use joint_executor::io::{TcpListener, TcpStream, UdpSocket};

use super::support::{connected, end_while_waiting, everywhere, read_all, write_and_close};
use crate::prelude::*;

#[test]
fn a_closed_side_still_reads() {
    const WSAESHUTDOWN: i32 = 10058;

    everywhere(async || {
        let (mut client, server) = connected().await?;
        let server = joint_executor::spawn(async move {
            let asked = read_all(&server).await?;
            write_and_close(&server, &asked.repeat(2)).await
        });
        client.write_all(b"half").await?;
        client.close().await?;
        let error = client.write(b"more").await.unwrap_err();
        match cfg!(windows) {
            true => assert_eq!(error.raw_os_error(), Some(WSAESHUTDOWN)),
            false => assert_eq!(error.kind(), ErrorKind::BrokenPipe),
        }
        assert_eq!(read_all(&client).await?, b"halfhalf");
        client.close().await?;
        server.await
    });
}

#[test]
fn options_are_those_of_the_socket() {
    everywhere(async || {
        let (one, other) = connected().await?;
        for on in [true, false] {
            one.set_nodelay(on)?;
            assert_eq!(one.nodelay()?, on);
            assert_eq!(one.get_ref().nodelay()?, on);
        }
        one.set_ttl(17)?;
        assert_eq!(one.ttl()?, 17);
        for linger in [Some(Duration::from_secs(1)), None] {
            one.set_linger(linger)?;
            assert_eq!(one.linger()?, linger);
        }
        assert_eq!(one.peer_addr()?, other.local_addr()?);
        assert!(format!("{one:?}").starts_with("TcpStream"));
        Ok(())
    });
}

#[test]
fn sockets_convert_to_std_and_back() {
    everywhere(async || {
        let (one, other) = connected().await?;
        let mut one = one.into_std()?;
        let error = one.read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "it stays non-blocking");
        one.set_nonblocking(false)?;
        other.write_all(b"there").await?;
        let mut buffer = [0; 5];
        one.read_exact(&mut buffer)?;
        assert_eq!(&buffer, b"there");
        let one = TcpStream::try_from(one)?;
        end_while_waiting(&one, other).await?;

        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let listener = TcpListener::try_from(listener.into_std()?)?;
        assert_eq!(listener.local_addr()?, address);
        let _client = std::net::TcpStream::connect(address)?;
        listener.accept().await?;

        let socket = UdpSocket::bind("127.0.0.1:0").await?;
        let address = socket.local_addr()?;
        let socket = UdpSocket::try_from(socket.into_std()?)?;
        assert_eq!(socket.local_addr()?, address);
        #[cfg(unix)]
        {
            let (one, other) = joint_executor::io::UnixStream::pair()?;
            let one = joint_executor::io::UnixStream::try_from(one.into_std()?)?;
            end_while_waiting(one, other).await?;
        }
        Ok(())
    });
}
