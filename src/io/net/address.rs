//! [`ToSocketAddrs`]: what is taken for an address. Names are looked up on a thread that may block.

use alloc::{format, string::String, vec::Vec};
use core::future::Future;
use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6},
};

use self::sealed::Target;

/// What says where a socket is to be bound or connected: an address, several of them, or the name of a host and a port.
///
/// | form | example |
/// |---|---|
/// | an address | `SocketAddr`, `SocketAddrV4`, `SocketAddrV6` |
/// | an address and a port | `(IpAddr, u16)`, `(Ipv4Addr, u16)`, `(Ipv6Addr, u16)` |
/// | text | `"127.0.0.1:80"`, `"[::1]:80"`, `"localhost:80"` (`str`, `String`) |
/// | text and a port | `("127.0.0.1", 80)`, `("localhost", 80)` (`(&str, u16)`, `(String, u16)`) |
/// | several, tried in turn | `[SocketAddr]` |
///
/// and references to all of these. The trait is sealed: the forms are these.
///
/// Text that is an address is taken as it stands, and blocks nothing. Any other is the name of a host, which the system looks up by
/// [`spawn_blocking`](crate::spawn_blocking) (feature `blocking`; without it a name is an error of the kind
/// [`Unsupported`](io::ErrorKind::Unsupported)).
///
/// # Example
/// ```
/// use joint::io::TcpListener;
///
/// joint::block_on(async {
///     let listener = TcpListener::bind("127.0.0.1:0").await?;
///     let same = TcpListener::bind(("127.0.0.1", 0)).await?;
///     assert_ne!(listener.local_addr()?, same.local_addr()?);
///     # Ok::<(), std::io::Error>(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait ToSocketAddrs: sealed::Form {}

mod sealed {
    //! What the trait is sealed with.

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

/// The forms of which one is made of another: by an expression of the form.
macro_rules! forms {
    ($($form:ty, |$of:ident| $target:expr;)*) => {$(
        impl ToSocketAddrs for $form {}
        impl sealed::Form for $form {
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

fn of_text(text: &str) -> io::Result<Target> {
    if let Ok(address) = text.parse() {
        return Ok(Target::One(address));
    }
    let host_and_port = text.rsplit_once(':');
    match host_and_port.and_then(|(host, port)| Some((host, port.parse().ok()?))) {
        Some((host, port)) if !host.is_empty() => Ok(Target::Host(host.into(), port)),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("`{text}` is no address; write a host and a port, such as localhost:80"),
        )),
    }
}

fn of_host(host: &str, port: u16) -> Target {
    match host.parse::<IpAddr>() {
        Ok(ip) => Target::One((ip, port).into()),
        Err(_) => Target::Host(host.into(), port),
    }
}

/// Tries the addresses that are meant in turn: the first success, or else the last error. Only a name is waited for.
pub(super) async fn first<R, F>(
    target: impl ToSocketAddrs,
    mut attempt: impl FnMut(SocketAddr) -> F,
) -> io::Result<R>
where
    F: Future<Output = io::Result<R>>,
{
    let (one, several) = match target.target()? {
        Target::One(address) => (Some(address), Vec::new()),
        Target::Several(addresses) => (None, addresses),
        Target::Host(host, port) => (None, look_up(host, port).await?),
    };
    let mut result = Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "there is no address in what was given",
    ));
    for address in one.into_iter().chain(several) {
        result = attempt(address).await;
        if result.is_ok() {
            break;
        }
    }
    result
}

#[cfg(feature = "blocking")]
async fn look_up(host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    let look_up = move || std::net::ToSocketAddrs::to_socket_addrs(&(host, port));
    // It has no result where the system refuses to start a thread.
    let looked_up = crate::spawn_blocking(look_up).result().await;
    Ok(looked_up.map_err(io::Error::other)??.collect())
}

#[cfg(not(feature = "blocking"))]
async fn look_up(host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    let message = format!(
        "`{host}:{port}` has to be looked up, which blocks: build joint with its feature `blocking`, or give an IP address"
    );
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
}
