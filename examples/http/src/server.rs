//! Accepts and serves connections until it is told to stop.

use std::{
    convert::Infallible, error::Error, future::poll_fn, pin::pin, sync::Arc, task::Poll,
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Request, Response, StatusCode,
    body::Incoming,
    rt::{Read, Write},
    server::conn::http1,
    service::service_fn,
};
use joint_executor::{
    JoinSet,
    io::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use joint_flow::shared::{self, Shared};

use crate::glue::{JointIo, JointTimer};

/// How long the server waits before it accepts again after an error, such as that of a program
/// with too many open descriptors.
const REST: Duration = Duration::from_millis(50);

/// The protocol of the server.
#[derive(Clone)]
#[non_exhaustive]
pub enum Protocol {
    /// HTTP.
    Http,
    /// HTTPS.
    #[cfg(feature = "tls")]
    Https(futures_rustls::TlsAcceptor),
}

/// How long a client and the server may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From the beginning of a connection, or the end of an answer, to the end of the next head;
    /// and for a handshake.
    pub head: Duration,
    /// From a head to its answer. After that the answer is "503 Service Unavailable".
    pub answer: Duration,
    /// From the stop to the end of all connections. After that those that are left are closed.
    pub shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(30),
            answer: Duration::from_secs(30),
            shutdown: Duration::from_secs(10),
        }
    }
}

/// The answers of the handlers here.
pub type Answer = Response<Full<Bytes>>;

/// The state that all connections share.
struct Server<H> {
    handler: H,
    protocol: Protocol,
    limits: Limits,
    stopped: Shared<()>,
}

/// Serves connections until `stop` is ready. Then it accepts no more, waits until the requests that
/// have begun are answered, and closes the connections.
///
/// Returns how many connections were closed because the time for the shutdown was over.
pub async fn serve<H, F>(
    listener: TcpListener,
    protocol: Protocol,
    limits: Limits,
    handler: H,
    stop: impl Future<Output = ()>,
) -> usize
where
    H: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let (stopping, stopped) = shared::channel();
    let server = Arc::new(Server {
        handler,
        protocol,
        limits,
        stopped,
    });
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        let next = poll_fn(|cx| {
            // Forgets the connections that have ended.
            while let Poll::Ready(Some(_)) = connections.poll_join_next(cx) {}
            match stop.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => listener.poll_accept(cx).map(Some),
            }
        });
        match next.await {
            Some(Ok((stream, _))) => {
                let server = server.clone();
                connections.spawn(async move { server.accepted(stream).await });
            }
            Some(Err(error)) => {
                eprintln!("cannot accept: {error}");
                sleep(REST).await;
            }
            None => break,
        }
    }
    drop(listener);
    stopping.send(());
    let ended = async { while connections.join_next().await.is_some() {} };
    // Those that are left have run out of time, which is no error of this function.
    let _ = timeout(limits.shutdown, ended).await;
    let left = connections.len();
    connections.shutdown().await;
    left
}

impl<H, F> Server<H>
where
    H: Fn(Request<Incoming>) -> F,
    F: Future<Output = Answer>,
{
    async fn accepted(&self, stream: TcpStream) {
        if let Err(error) = self.converse(stream).await {
            // A client that is slow or goes away is nothing to end the server for.
            eprintln!("a connection has ended early: {error}");
        }
    }

    async fn converse(&self, stream: TcpStream) -> Result<(), Box<dyn Error + Send + Sync>> {
        // Heads and bodies of answers are written together, so there is nothing to wait for.
        stream.set_nodelay(true)?;
        match &self.protocol {
            Protocol::Http => self.connection(JointIo(stream)).await?,
            #[cfg(feature = "tls")]
            Protocol::Https(acceptor) => {
                let stream = timeout(self.limits.head, acceptor.accept(stream)).await??;
                self.connection(crate::glue::FuturesIo::new(stream)).await?;
            }
        }
        Ok(())
    }

    async fn connection(&self, io: impl Read + Write + Unpin) -> hyper::Result<()> {
        let service = service_fn(async |request| Ok::<_, Infallible>(self.answer(request).await));
        let connection = http1::Builder::new()
            .timer(JointTimer)
            .header_read_timeout(self.limits.head)
            .serve_connection(io, service);
        let mut connection = pin!(connection);
        let mut stop = pin!(self.stopped.wait());
        let mut is_stopping = false;
        poll_fn(|cx| {
            if !is_stopping && stop.as_mut().poll(cx).is_ready() {
                is_stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            connection.as_mut().poll(cx)
        })
        .await
    }

    async fn answer(&self, request: Request<Incoming>) -> Answer {
        match timeout(self.limits.answer, (self.handler)(request)).await {
            Ok(answer) => answer,
            Err(_) => status(StatusCode::SERVICE_UNAVAILABLE),
        }
    }
}

/// An answer that says nothing but its status.
#[must_use]
pub fn status(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::from(format!("{status}\n")));
    *answer.status_mut() = status;
    answer
}

impl std::fmt::Debug for Protocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Http => "Http",
            #[cfg(feature = "tls")]
            Self::Https(_) => "Https",
        })
    }
}
