//! [`ToSocketAddrs`]: the arguments that stand for addresses. Names are looked up on a thread that
//! may block.

use alloc::{
    format,
    string::String,
    vec::{self, Vec},
};
use core::{future::Future, iter::Chain, option};
use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6},
};

use self::sealed::Target;
use crate::hosted;

/// An argument that says where to bind or connect a socket: an address, several addresses, or a
/// host name and a port.
///
/// | form | example |
/// |---|---|
/// | an address | `SocketAddr`, `SocketAddrV4`, `SocketAddrV6` |
/// | an address and a port | `(IpAddr, u16)`, `(Ipv4Addr, u16)`, `(Ipv6Addr, u16)` |
/// | text | `"127.0.0.1:80"`, `"[::1]:80"`, `"localhost:80"` (`str`, `String`) |
/// | text and a port | `("127.0.0.1", 80)`, `("localhost", 80)` (`(&str, u16)`, `(String, u16)`) |
/// | several, tried in turn | `[SocketAddr]` |
///
/// References to all of these are accepted too. The trait is sealed, so there are no other forms.
///
/// Text that is an address is used as it is, without blocking. Any other text is a host name, which
/// the system looks up on a thread of [`spawn_blocking`](crate::spawn_blocking), or the thread's
/// [`Host`](crate::hosted::Host) in its own network.
///
/// # Example
/// ```
/// use joint_executor::io::TcpListener;
///
/// joint_executor::block_on(async {
///     let listener = TcpListener::bind("127.0.0.1:0").await?;
///     let same = TcpListener::bind(("127.0.0.1", 0)).await?;
///     assert_ne!(listener.local_addr()?, same.local_addr()?);
///     # Ok::<(), std::io::Error>(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait ToSocketAddrs: sealed::Form {}

mod sealed {
    //! The private trait that seals `ToSocketAddrs`.

    use alloc::{string::String, vec::Vec};
    use std::{io, net::SocketAddr};

    #[derive(Debug)]
    pub enum Target {
        One(SocketAddr),
        Several(Vec<SocketAddr>),
        Host(String, u16),
    }

    pub trait Form {
        fn target(&self) -> io::Result<Target>;
    }
}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {}
impl<T: sealed::Form + ?Sized> sealed::Form for &T {
    fn target(&self) -> io::Result<Target> {
        (**self).target()
    }
}

/// Implements the trait for each form, by an expression that gives its target.
macro_rules! forms {
    ($($form:ty, |$of:ident| $target:expr;)*) => {$(
        impl ToSocketAddrs for $form {}
        impl sealed::Form for $form {
            #[inline]
            fn target(&self) -> io::Result<Target> {
                let $of = self;
                $target
            }
        }
    )*};
}

forms! {
    SocketAddr, |address| Ok(Target::One(*address));
    SocketAddrV4, |address| Ok(Target::One((*address).into()));
    SocketAddrV6, |address| Ok(Target::One((*address).into()));
    (IpAddr, u16), |address| Ok(Target::One((*address).into()));
    (Ipv4Addr, u16), |address| Ok(Target::One((*address).into()));
    (Ipv6Addr, u16), |address| Ok(Target::One((*address).into()));
    [SocketAddr], |addresses| Ok(Target::Several(addresses.to_vec()));
    str, |text| of_text(text);
    String, |text| of_text(text);
    (&str, u16), |pair| Ok(of_host(pair.0, pair.1));
    (String, u16), |pair| Ok(of_host(&pair.0, pair.1));
}

#[inline]
fn of_text(text: &str) -> io::Result<Target> {
    if let Ok(address) = text.parse() {
        return Ok(Target::One(address));
    }
    let host_and_port = text.rsplit_once(':');
    match host_and_port.and_then(|(host, port)| Some((host, port.parse().ok()?))) {
        Some((host, port)) if !host.is_empty() => Ok(Target::Host(host.into(), port)),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("`{text}` is not an address; write a host and a port, such as localhost:80"),
        )),
    }
}

#[inline]
fn of_host(host: &str, port: u16) -> Target {
    match host.parse::<IpAddr>() {
        Ok(ip) => Target::One((ip, port).into()),
        Err(_) => Target::Host(host.into(), port),
    }
}

/// Tries the addresses of `target` in turn, and returns the first success or else the last error.
/// Besides the attempts, only the look-up of a name waits.
pub(super) async fn first<R, F>(
    target: impl ToSocketAddrs,
    mut attempt: impl FnMut(SocketAddr) -> F,
) -> io::Result<R>
where
    F: Future<Output = io::Result<R>>,
{
    let mut result = Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "there is no address to try; pass at least one",
    ));
    for address in addresses(target).await? {
        result = attempt(address).await;
        if result.is_ok() {
            break;
        }
    }
    result
}

/// Resolves a host name and port, or whatever else stands for addresses.
///
/// # Errors
/// Returns the error of the look-up, or [`InvalidInput`](io::ErrorKind::InvalidInput) if the target
/// is neither an address nor a name.
///
/// # Example
/// ```
/// use joint_executor::io::lookup_host;
///
/// let addresses = joint_executor::block_on(lookup_host("localhost:80"))?;
/// for address in addresses {
///     assert!(address.ip().is_loopback());
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
pub async fn lookup_host(target: impl ToSocketAddrs) -> io::Result<vec::IntoIter<SocketAddr>> {
    let addresses: Vec<_> = addresses(target).await?.collect();
    Ok(addresses.into_iter())
}

async fn addresses(
    target: impl ToSocketAddrs,
) -> io::Result<Chain<option::IntoIter<SocketAddr>, vec::IntoIter<SocketAddr>>> {
    let (one, several) = match target.target()? {
        Target::One(address) => (Some(address), Vec::new()),
        Target::Several(addresses) => (None, addresses),
        Target::Host(host, port) => (None, look_up(host, port).await?),
    };
    Ok(one.into_iter().chain(several))
}

async fn look_up(host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    let hosts = hosted::host().and_then(|own| own.look_up(&host, port));
    if let Some(found) = hosts {
        return found;
    }
    let look_up = move || std::net::ToSocketAddrs::to_socket_addrs(&(host, port));
    // The task has no result if the system refuses to start a thread.
    let looked_up = crate::spawn_blocking(look_up).result().await;
    Ok(looked_up.map_err(io::Error::other)??.collect())
}
