//! The types and texts that are taken for an address.

use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use futures_lite::future;
use joint_executor::io::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};

use super::support::everywhere;
use crate::prelude::*;

#[test]
fn all_forms_mean_the_same() {
    everywhere(async || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let port = address.port();
        let v4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
        let text = format!("127.0.0.1:{port}");
        reaches(address, address).await?;
        reaches(v4, address).await?;
        reaches((IpAddr::from(Ipv4Addr::LOCALHOST), port), address).await?;
        reaches(&text[..], address).await?;
        reaches(&text, address).await?;
        reaches(text, address).await?;
        reaches(("127.0.0.1", port), address).await?;
        reaches(("127.0.0.1".to_owned(), port), address).await?;
        reaches(&[address][..], address).await
    });
}

async fn reaches(target: impl ToSocketAddrs, address: SocketAddr) -> io::Result<()> {
    let stream = TcpStream::connect(target).await?;
    assert_eq!(stream.peer_addr()?, address);
    Ok(())
}

/// A name that may be looked up waits, and an address does not.
async fn is_bound_at_once(address: impl ToSocketAddrs) -> bool {
    let mut bind = pin!(UdpSocket::bind(address));
    future::poll_once(&mut bind)
        .await
        .is_some_and(|bound| bound.is_ok())
}

#[test]
fn a_numeric_address_needs_no_lookup() {
    everywhere(async || {
        assert!(is_bound_at_once("127.0.0.1:0").await);
        assert!(is_bound_at_once(("127.0.0.1", 0)).await);
        assert!(is_bound_at_once(String::from("127.0.0.1:0")).await);
        assert!(is_bound_at_once((Ipv4Addr::LOCALHOST, 0)).await);
        Ok(())
    });
}

#[test]
fn a_name_is_looked_up() {
    everywhere(async || {
        let listener = TcpListener::bind("localhost:0").await?;
        let address = listener.local_addr()?;
        assert!(address.ip().is_loopback());
        reaches(("localhost", address.port()), address).await?;
        reaches(format!("localhost:{}", address.port()), address).await
    });
}

#[test]
fn a_name_that_cannot_be_one_is_an_error() {
    let error = block_on(TcpStream::connect(("no\0name", 80))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn text_without_a_port_is_an_error_that_says_what_to_write() {
    for text in [
        "",
        "localhost",
        ":80",
        "localhost:",
        "localhost:http",
        "127.0.0.1:65536",
    ] {
        let error = block_on(TcpStream::connect(text)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text}");
        assert!(error.to_string().contains("localhost:80"), "{error}");
    }
}
