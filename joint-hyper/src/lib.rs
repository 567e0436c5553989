//! HTTP by [hyper] 1 on `joint-executor`.
//!
//! hyper speaks HTTP, and leaves tasks, timers and sockets to traits. This package implements them,
//! and adds what every program writes around them: the loop that accepts, and connections that are
//! driven by a task.
//!
//! | to | use |
//! |---|---|
//! | give a TCP or Unix stream to hyper | [`JointIo`] |
//! | give any other stream to hyper, such as one of TLS | [`FuturesIo`] |
//! | read and write what hyper returns after an upgrade | [`JointIo`] around `hyper::upgrade::Upgraded` |
//! | set the timer of a builder of hyper's | [`JointTimer`] |
//! | give HTTP/2 an executor | [`JointExecutor`], or [`JointLocalExecutor`] for services that are not `Send` |
#![cfg_attr(
    feature = "server",
    doc = "| accept connections until a future is ready, and end them gracefully | [`Server`] |"
)]
#![cfg_attr(
    feature = "client",
    doc = "| connect, and send requests | [`client`] |"
)]
//!
//! # Example
#![cfg_attr(
    all(feature = "client", feature = "http1", feature = "server"),
    doc = "```"
)]
#![cfg_attr(
    not(all(feature = "client", feature = "http1", feature = "server")),
    doc = "```ignore"
)]
//! use http_body_util::{BodyExt, Empty};
//! use hyper::{Request, Response, body::Bytes, server::conn::http1, service::service_fn};
//! use joint_executor::{io::TcpListener, oneshot, spawn};
//! use joint_hyper::{JointTimer, Server, client};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! joint_executor::block_on(async {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let address = listener.local_addr()?;
//!     let mut http = http1::Builder::new();
//!     http.timer(JointTimer);
//!     let hello = async |_| hyper::Result::Ok(Response::new("hello".to_owned()));
//!     let (stop, stopped) = oneshot::channel::<()>();
//!     let server = Server::new(listener)
//!         .serve(move |io| http.serve_connection(io, service_fn(hello)), stopped);
//!     let server = spawn(server);
//!
//!     let mut sender = client::http1(client::connect(address).await?).await?;
//!     let request = Request::get("/").header("host", "localhost").body(Empty::<Bytes>::new())?;
//!     let answer = sender.send_request(request).await?;
//!     assert_eq!(answer.into_body().collect().await?.to_bytes(), "hello");
//!
//!     drop(stop);
//!     assert_eq!(server.await, 0); // no connection had to be cut off
//!     Ok(())
//! })
//! # }
//! ```
//!
//! # Features
//! `client`, `server` and `http1` are on by default; `http2` is not. They are hyper's own features
//! of these names. Without any, the package has only the implementations of the traits.
//!
//! # Timeouts
//! A builder of hyper's has no limits of time until it has a timer: set [`JointTimer`]. A head of
//! HTTP/1 may then take 30 seconds, or what `header_read_timeout` says. For all other limits, wrap
//! a service or a request in [`joint_executor::time::timeout`]. In a simulated world (`joint-sim`)
//! all of these are in virtual time, and the streams are those of the simulated network.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod io;
mod runtime;

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "server")]
mod server;

#[doc(alias = "TokioIo")]
pub use self::io::JointIo;
#[doc(alias = "TokioExecutor")]
pub use self::runtime::JointExecutor;
#[doc(alias = "TokioTimer")]
pub use self::runtime::JointTimer;
#[cfg(feature = "server")]
pub use self::server::{Connection, Error, Server};
pub use self::{io::FuturesIo, runtime::JointLocalExecutor};
