//! Clients: a connection, and the task that drives it.
//!
//! [`connect`] opens a connection, and `http1` or `http2` starts to speak on it. For HTTPS, do the
//! handshake of TLS between the two, and pass [`FuturesIo`](crate::FuturesIo) on. For options of
//! hyper's, use the builders of [`hyper::client::conn`] and spawn the connection yourself.
//!
//! The connection is driven by a task of the current executor, which nobody waits for. It ends when
//! its sender is dropped and the last answer has been read, or when the peer closes the
//! connection. Its errors are those of the requests. A sender is for one connection: a pool of
//! them is left to the program.
//!
//! The package's page has an [example](crate#example).

use std::io;

use joint_executor::io::{TcpStream, ToSocketAddrs};

use crate::JointIo;

/// Connects to the first address for which that succeeds, with `TCP_NODELAY`, because hyper writes
/// what belongs together at once.
///
/// # Errors
/// Returns the error of [`TcpStream::connect`], or the system's.
pub async fn connect(address: impl ToSocketAddrs) -> io::Result<JointIo<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(JointIo(stream))
}

/// Defines a function that does the handshake of a protocol and spawns the connection.
#[cfg(any(feature = "http1", feature = "http2"))]
macro_rules! speaks {
    ($(#[$meta:meta])* $name:ident, $handshake:expr, $run:expr) => {
        $(#[$meta])*
        ///
        /// # Errors
        /// Returns hyper's error for the handshake.
        pub async fn $name<I, B>(io: I) -> hyper::Result<hyper::client::conn::$name::SendRequest<B>>
        where
            I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
            B: hyper::body::Body<
                    Data: Send,
                    Error: Into<Box<dyn std::error::Error + Send + Sync>>,
                > + Unpin
                + Send
                + 'static,
        {
            let (sender, connection) = $handshake(io).await?;
            let connection = $run(connection);
            joint_executor::spawn_detached(async move { drop(connection.await) });
            Ok(sender)
        }
    };
}

#[cfg(feature = "http1")]
speaks!(
    /// Speaks HTTP/1 on a connection, and allows upgrades. It sends one request at a time: wait
    /// until the sender is `ready` before the next.
    http1,
    hyper::client::conn::http1::handshake,
    hyper::client::conn::http1::Connection::with_upgrades
);

#[cfg(feature = "http2")]
speaks!(
    /// Speaks HTTP/2 on a connection. The sender can be cloned, and sends many requests at a time.
    http2,
    |io| hyper::client::conn::http2::handshake(crate::JointExecutor, io),
    |connection| connection
);
