//! [`Server`]: accepts connections until it is told to stop, and then ends them gracefully.

use std::{
    convert::Infallible,
    fmt,
    future::{poll_fn, ready},
    pin::{Pin, pin},
    sync::Arc,
    task::{Poll, ready},
    time::Duration,
};

use futures_lite::future::or;
use joint_executor::{
    JoinSet,
    io::{TcpListener, TcpStream},
    oneshot::{self, Receiver, Sender},
    time::{Sleep, sleep, timeout},
};

use crate::JointIo;

/// How long the server waits before it accepts again after an error, such as that of a program
/// with too many open descriptors.
const REST: Duration = Duration::from_millis(50);

/// Why a connection has ended early, or could not be accepted.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

type OnError = Arc<dyn Fn(Error) + Send + Sync>;

/// A connection of a server: one of hyper's, or one of several in a
/// `Pin<Box<dyn Connection + Send>>`, for a server that chooses the protocol for each.
pub trait Connection: Future<Output = hyper::Result<()>> {
    /// Accepts no more requests, and ends once those that have begun are answered.
    fn graceful_shutdown(self: Pin<&mut Self>);
}

/// Accepts connections and serves each in a task of its own, until it is told to stop.
///
/// # Shutdown
/// When `stop` is ready, the listener is closed. Idle connections are closed at once, and the
/// others when the requests that have begun are answered. Connections that are still open after the
/// [limit](Self::shutdown_timeout) are cut off.
///
/// # Dropping
/// To drop the future of [`serve`](Self::serve) or [`serve_with`](Self::serve_with) cuts off all
/// connections.
///
/// # Errors and panics
/// No error of a connection ends the server, and neither does a panic of a service: the connection
/// is closed. If the system cannot accept a connection, the server tries again after 50
/// milliseconds. [`on_error`](Self::on_error) is told.
///
/// # Example
/// See the [package](crate#example).
#[must_use = "call `serve`"]
pub struct Server {
    listener: TcpListener,
    limit: Duration,
    on_error: OnError,
}

impl Server {
    /// Makes a server of a listener, with a limit of 10 seconds for the shutdown.
    pub fn new(listener: TcpListener) -> Self {
        Self {
            listener,
            limit: Duration::from_secs(10),
            on_error: Arc::new(drop),
        }
    }

    /// Sets how long the requests that have begun may take after the stop. With zero, all
    /// connections are cut off at once.
    pub fn shutdown_timeout(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Sets what is called for each connection that ends early or cannot be accepted. Clients that
    /// go away are such errors, so a busy server has many of them: count them, or write a sample.
    ///
    /// It is called on a worker, and must not block. If it panics, the connection has ended
    /// already; if it panics for one that cannot be accepted, the server ends with that panic.
    pub fn on_error(mut self, call: impl Fn(Error) + Send + Sync + 'static) -> Self {
        self.on_error = Arc::new(call);
        self
    }

    /// Serves until `stop` is ready. `connection` makes a connection of hyper's of each stream,
    /// which has `TCP_NODELAY`. Returns how many connections were cut off at the end.
    pub async fn serve<C>(
        self,
        mut connection: impl FnMut(JointIo<TcpStream>) -> C,
        stop: impl Future,
    ) -> usize
    where
        C: Connection + Send + 'static,
    {
        let prepare = |stream: TcpStream| {
            // hyper writes what belongs together at once, so there is nothing to wait for.
            let prepared = stream.set_nodelay(true);
            ready(prepared.map(|()| connection(JointIo(stream))))
        };
        self.serve_with(prepare, stop).await
    }

    /// Serves until `stop` is ready, with connections that take a while to prepare: a handshake of
    /// TLS, or a look at the first bytes. Returns how many connections were cut off at the end.
    ///
    /// The future that `prepare` returns is polled in the connection's own task, so it holds up no
    /// other. It is dropped at the stop. Limit its time by a
    /// [`timeout`](joint_executor::time::timeout()), because a client need not say anything.
    ///
    /// # Example
    /// ```
    /// # #[cfg(feature = "http1")]
    /// # async fn run(listener: joint_executor::io::TcpListener) {
    /// use std::{io, time::Duration};
    ///
    /// use hyper::{Response, server::conn::http1, service::service_fn};
    /// use joint_executor::{io::TcpStream, time::timeout};
    /// use joint_hyper::{FuturesIo, Server};
    ///
    /// # async fn encrypt(stream: TcpStream) -> io::Result<TcpStream> { Ok(stream) }
    /// let hello = async |_| hyper::Result::Ok(Response::new("hello".to_owned()));
    /// let prepare = |stream: TcpStream| async move {
    ///     let stream = timeout(Duration::from_secs(10), encrypt(stream)).await??;
    ///     let http = http1::Builder::new();
    ///     io::Result::Ok(http.serve_connection(FuturesIo::new(stream), service_fn(hello)))
    /// };
    /// let left = Server::new(listener).serve_with(prepare, std::future::pending::<()>()).await;
    /// # }
    /// ```
    pub async fn serve_with<F, C, E>(
        self,
        mut prepare: impl FnMut(TcpStream) -> F,
        stop: impl Future,
    ) -> usize
    where
        F: Future<Output = Result<C, E>> + Send + 'static,
        C: Connection + Send + 'static,
        E: Into<Error> + Send + 'static,
    {
        let (mut connections, mut stops) = (JoinSet::new(), Vec::new());
        let mut stop = pin!(stop);
        let mut rest: Option<Sleep> = None;
        loop {
            let next = poll_fn(|cx| {
                // Forgets the connections that have ended.
                while let Poll::Ready(Some(_)) = connections.poll_join_next(cx) {}
                if stop.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(None);
                }
                if let Some(rest) = &mut rest {
                    ready!(Pin::new(rest).poll(cx));
                }
                self.listener.poll_accept(cx).map(Some)
            });
            let next = next.await;
            rest = None;
            match next {
                Some(Ok((stream, _))) => {
                    let connection = converse(prepare(stream), stop_of_one(&mut stops));
                    let on_error = self.on_error.clone();
                    connections.spawn(async move {
                        if let Err(error) = connection.await {
                            on_error(error);
                        }
                    });
                }
                Some(Err(error)) => {
                    (self.on_error)(error.into());
                    rest = Some(sleep(REST));
                }
                None => break,
            }
        }
        drop(self.listener);
        drop(stops);
        let ended = async { while connections.join_next().await.is_some() {} };
        // Those that are left have run out of time, which the caller learns by their number.
        let _ = timeout(self.limit, ended).await;
        let left = connections.len();
        connections.shutdown().await;
        left
    }
}

/// Returns what ends when `stops` is dropped.
fn stop_of_one(stops: &mut Vec<Sender<Infallible>>) -> Receiver<Infallible> {
    let (stop, stopped) = oneshot::channel();
    if stops.len() == stops.capacity() {
        // Half of the room at least is free afterwards, so few connections need this.
        stops.retain(|stop| !stop.is_closed());
        stops.reserve(stops.len() + 1);
    }
    stops.push(stop);
    stopped
}

/// Prepares a connection and drives it to its end, which is early after the stop.
async fn converse<C, E>(
    prepare: impl Future<Output = Result<C, E>>,
    mut stop: Receiver<Infallible>,
) -> Result<(), Error>
where
    C: Connection,
    E: Into<Error>,
{
    let stopped = async { Err((&mut stop).await) };
    let prepared = or(stopped, async { Ok(prepare.await) });
    let Ok(connection) = prepared.await else {
        return Ok(());
    };
    let mut connection = pin!(connection.map_err(Into::into)?);
    let stopped = async { Err(stop.await) };
    match or(stopped, async { Ok(connection.as_mut().await) }).await {
        Ok(ended) => ended?,
        Err(_stopped) => {
            connection.as_mut().graceful_shutdown();
            connection.await?;
        }
    }
    Ok(())
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut server = f.debug_struct("Server");
        server.field("listener", &self.listener);
        server.field("shutdown_timeout", &self.limit);
        server.finish_non_exhaustive()
    }
}

impl<C: Connection + ?Sized> Connection for Pin<Box<C>> {
    fn graceful_shutdown(self: Pin<&mut Self>) {
        self.get_mut().as_mut().graceful_shutdown();
    }
}

/// Implements the trait for a connection of hyper's, whose method has the same name.
#[cfg(any(feature = "http1", feature = "http2"))]
macro_rules! connects {
    ($connection:ty, $shutdown:path, <$($executor:ident)?>, where $($bounds:tt)*) => {
        impl<I, S, B $(, $executor)?> Connection for $connection
        where
            S: hyper::service::HttpService<hyper::body::Incoming, ResBody = B>,
            S::Error: Into<Error>,
            B: hyper::body::Body<Error: Into<Error>> + 'static,
            $($bounds)*
        {
            fn graceful_shutdown(self: Pin<&mut Self>) {
                $shutdown(self);
            }
        }
    };
}

#[cfg(feature = "http1")]
const _: () = {
    use hyper::{
        rt::{Read, Write},
        server::conn::http1,
    };

    connects!(
        http1::Connection<I, S>, http1::Connection::graceful_shutdown, <>,
        where I: Read + Write + Unpin
    );
    connects!(
        http1::UpgradeableConnection<I, S>, http1::UpgradeableConnection::graceful_shutdown, <>,
        where I: Read + Write + Unpin + Send + 'static
    );
};

#[cfg(feature = "http2")]
const _: () = {
    use hyper::{
        rt::{Read, Write, bounds::Http2ServerConnExec},
        server::conn::http2,
    };

    connects!(
        http2::Connection<I, S, E>, http2::Connection::graceful_shutdown, <E>,
        where I: Read + Write + Unpin, E: Http2ServerConnExec<S::Future, B>
    );
};
