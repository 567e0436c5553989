//! Attempts to connect and to accept, and how they end.

use joint_executor::io::{TcpListener, TcpStream};

use super::support::{everywhere, waits};
use crate::prelude::*;

#[cfg(target_os = "linux")]
use futures_lite::future;

#[cfg(target_os = "linux")]
use socket2::{Domain, Socket, Type};

/// An address at which nobody listens: that of a listener that has gone.
async fn nobody() -> io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0").await?.local_addr()
}

#[test]
fn connecting_without_a_listener_or_an_address_is_an_error() {
    everywhere(async || {
        let error = TcpStream::connect(nobody().await?).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let error = TcpStream::connect(&[][..]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        Ok(())
    });
}

#[test]
fn the_first_address_that_answers_is_taken() {
    everywhere(async || {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let addresses = [nobody().await?, nobody().await?, address, nobody().await?];
        let stream = TcpStream::connect(&addresses[..]).await?;
        assert_eq!(stream.peer_addr()?, address);
        Ok(())
    });
}

#[test]
fn connecting_to_several_dead_addresses_returns_the_last_error() {
    everywhere(async || {
        // A port without a listener is refused, and a broadcast address is no peer of TCP.
        let nobody = nobody().await?;
        let broadcast = SocketAddr::from(([255, 255, 255, 255], 1));
        for (addresses, is_refused) in [([broadcast, nobody], true), ([nobody, broadcast], false)] {
            let error = TcpStream::connect(&addresses[..]).await.unwrap_err();
            assert_eq!(
                error.kind() == ErrorKind::ConnectionRefused,
                is_refused,
                "{addresses:?}"
            );
        }
        Ok(())
    });
}

/// The next has to wait until the first is accepted, and the system asks again.
#[test]
#[cfg(target_os = "linux")]
fn one_for_which_there_is_no_room_waits() {
    ends(|| {
        let waits_for_room = async {
            let listener = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())?;
            listener.listen(0)?;
            let listener = TcpListener::try_from(std::net::TcpListener::from(listener))?;
            let address = listener.local_addr()?;
            let _first = std::net::TcpStream::connect(address)?;
            let mut next = pin!(TcpStream::connect(address));
            waits(&mut next).await;
            listener.accept().await?;
            let (next, (_, peer)) = future::try_zip(next, listener.accept()).await?;
            assert_eq!(next.local_addr()?, peer);
            io::Result::Ok(())
        };
        block_on(executor(1).spawn(waits_for_room)).unwrap();
    });
}

#[cfg(feature = "futures-core")]
#[test]
fn a_listener_is_a_stream_of_connections() {
    use futures_lite::StreamExt;

    everywhere(async || {
        let mut listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let clients = [
            TcpStream::connect(address).await?,
            TcpStream::connect(address).await?,
        ];
        for client in clients {
            let (server, peer) = listener.next().await.unwrap()?;
            assert_eq!(peer, client.local_addr()?);
            assert_eq!(server.peer_addr()?, peer);
        }
        Ok(())
    });
}
