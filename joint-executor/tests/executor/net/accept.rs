//! Listeners: who accepts, and what happens when none can.

use futures_lite::future;
use joint_executor::io::{TcpListener, TcpStream};

use super::support::{everywhere, waits};
use crate::prelude::*;

#[test]
fn an_accept_that_is_dropped_takes_nothing() {
    everywhere(async || {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let client = {
            let mut accept = pin!(listener.accept());
            waits(&mut accept).await;
            TcpStream::connect(listener.local_addr()?).await?
        };
        let (server, _) = listener.accept().await?;
        assert_eq!(server.peer_addr()?, client.local_addr()?);
        Ok(())
    });
}

#[test]
fn several_tasks_accept_from_one_listener() {
    const EACH: usize = 20;
    everywhere(async || {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let accept = async || {
            for _ in 0..EACH {
                listener.accept().await?;
            }
            io::Result::Ok(())
        };
        let connect = async {
            for _ in 0..2 * EACH {
                TcpStream::connect(address).await?;
            }
            Ok(())
        };
        future::try_zip(future::try_zip(accept(), accept()), connect).await?;
        Ok(())
    });
}

/// In a process of its own, which all the others' descriptors do not come out of.
#[test]
#[cfg(target_os = "linux")]
fn accept_fails_without_a_free_descriptor_and_works_again_later() {
    crate::common::alone(|| everywhere(few_descriptors));
}

#[cfg(target_os = "linux")]
async fn few_descriptors() -> io::Result<()> {
    let limit = libc::rlimit {
        rlim_cur: 100,
        rlim_max: 100,
    };
    // SAFETY: the limit lives until the call returns.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    let mut taken = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        taken.push(file);
    }
    for _ in 0..3 {
        let error = listener.accept().await.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
    }
    let error = TcpStream::connect(listener.local_addr()?)
        .await
        .unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
    drop(taken.pop());
    let (server, _) = listener.accept().await?;
    assert_eq!(server.peer_addr()?, client.local_addr()?);
    Ok(())
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
