//! How an argument becomes addresses: as in [`io`](joint_executor::io), but names are those of
//! hosts.

use alloc::{format, string::String, vec::Vec};
use core::{
    future::{Future, ready},
    net::SocketAddr,
};
use std::io;

use super::network::with_any;
use joint_executor::io::{ToSocketAddrs, first_of};

/// Tries the addresses in turn, and returns the first success or else the last error.
pub(super) fn first<R, F>(
    target: impl ToSocketAddrs,
    attempt: impl FnMut(SocketAddr) -> F,
) -> impl Future<Output = io::Result<R>>
where
    F: Future<Output = io::Result<R>>,
{
    first_of(target, |host, port| ready(look_up(&host, port)), attempt)
}

fn look_up(host: &String, port: u16) -> io::Result<Vec<SocketAddr>> {
    with_any(|_, network| match network.look_up(host) {
        Some(ip) => Ok(Vec::from([SocketAddr::new(ip, port)])),
        None => {
            let message = format!("there is no host named `{host}`");
            Err(io::Error::new(io::ErrorKind::NotFound, message))
        }
    })
}
