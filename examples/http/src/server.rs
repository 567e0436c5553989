//! Serves connections with limits of time, by HTTP or HTTPS, until it is told to stop.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Request, Response, StatusCode, body::Incoming, server::conn::http1, service::service_fn,
};
use joint_executor::{io::TcpListener, time::timeout};
use joint_hyper::{JointTimer, Server};

/// The protocol of the server.
pub(crate) enum Protocol {
    /// HTTP.
    Http,
    /// HTTPS.
    #[cfg(feature = "tls")]
    Https(futures_rustls::TlsAcceptor),
}

/// How long a client and the server may take.
pub(crate) struct Limits {
    /// From the beginning of a connection, or the end of an answer, to the end of the next head;
    /// and for a handshake.
    pub(crate) head: Duration,
    /// From a head to its answer. After that the answer is "503 Service Unavailable".
    pub(crate) answer: Duration,
    /// From the stop to the end of all connections. After that those that are left are closed.
    pub(crate) shutdown: Duration,
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
pub(crate) type Answer = Response<Full<Bytes>>;

/// How the connections of a server have ended, of those that did not end as they should.
pub(crate) struct Ended {
    /// Connections that ended with an error, mostly because the client went away. One that could
    /// not be accepted counts as well.
    pub(crate) early: usize,
    /// Connections that were closed because the time for the shutdown was over.
    pub(crate) late: usize,
}

/// Serves connections until `stop` is ready. Then it accepts no more, waits until the requests that
/// have begun are answered, and closes the connections.
pub(crate) async fn serve<H, F>(
    listener: TcpListener,
    protocol: Protocol,
    limits: Limits,
    handler: H,
    stop: impl Future<Output = ()>,
) -> Ended
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let mut http = http1::Builder::new();
    http.timer(JointTimer).header_read_timeout(limits.head);
    // A client may send all its requests, close its direction, and still wait for the answers.
    http.half_close(true);
    let service = service_fn(move |request| {
        let answer = timeout(limits.answer, handler(request));
        async {
            let late = |_| status(StatusCode::SERVICE_UNAVAILABLE);
            Ok::<_, Infallible>(answer.await.unwrap_or_else(late))
        }
    });
    // Counted and not written, because any client can cause such an error, as often as it likes.
    let early = Arc::new(AtomicUsize::new(0));
    let counted = early.clone();
    let server = Server::new(listener)
        .shutdown_timeout(limits.shutdown)
        .on_error(move |_| _ = counted.fetch_add(1, Ordering::Relaxed));
    let late = match protocol {
        Protocol::Http => {
            let connection = move |io| http.serve_connection(io, service.clone());
            server.serve(connection, stop).await
        }
        #[cfg(feature = "tls")]
        Protocol::Https(acceptor) => {
            let prepare = move |stream: joint_executor::io::TcpStream| {
                let (http, service) = (http.clone(), service.clone());
                let acceptor = acceptor.clone();
                async move {
                    stream.set_nodelay(true)?;
                    let stream = timeout(limits.head, acceptor.accept(stream)).await??;
                    let io = joint_hyper::FuturesIo::new(stream);
                    std::io::Result::Ok(http.serve_connection(io, service))
                }
            };
            server.serve_with(prepare, stop).await
        }
    };
    let early = early.load(Ordering::Relaxed);
    Ended { early, late }
}

/// An answer that says nothing but its status.
pub(crate) fn status(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::from(format!("{status}\n")));
    *answer.status_mut() = status;
    answer
}
