//! The server beside each thing that a client, a service or its owner may do.
#![cfg(all(
    feature = "client",
    feature = "http1",
    feature = "http2",
    feature = "server"
))]

use std::{
    convert::Infallible,
    future::{pending, ready},
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response,
    body::Incoming,
    client::conn::http1::SendRequest,
    server::conn::{http1, http2},
    service::service_fn,
};
use joint_executor::{
    Executor, JoinHandle, block_on,
    io::{TcpListener, TcpStream},
    oneshot, spawn, time, yield_now,
};
use joint_hyper::{Connection, JointExecutor, JointIo, JointTimer, Server, client};

/// Longer than any test.
const LONG: Duration = Duration::from_secs(600);

/// A server in a task, what stops it, and the errors that it was told.
struct Running {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    left: JoinHandle<usize>,
    errors: Arc<Mutex<Vec<String>>>,
}

type Answer = Result<Response<Full<Bytes>>, Infallible>;

/// Answers `/`, never answers `/never`, panics at `/panic`, and answers anything else when the body
/// has been read.
async fn handle(request: Request<Incoming>) -> Answer {
    match request.uri().path() {
        "/never" => pending().await,
        "/panic" => panic!("a handler panics"),
        "/" => {}
        _ => drop(request.into_body().collect().await),
    }
    Ok(Response::new(Full::from("answered")))
}

fn http() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(JointTimer);
    http
}

async fn start(limit: Duration) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let errors = Arc::new(Mutex::new(Vec::new()));
    let told = errors.clone();
    let server = Server::new(listener)
        .shutdown_timeout(limit)
        .on_error(move |error| told.lock().unwrap().push(error.to_string()));
    let http = http();
    let left = spawn(server.serve(
        move |io| http.serve_connection(io, service_fn(handle)),
        stopped,
    ));
    Running {
        address,
        stop,
        left,
        errors,
    }
}

impl Running {
    async fn client(&self) -> SendRequest<Full<Bytes>> {
        let io = client::connect(self.address).await.unwrap();
        client::http1(io).await.unwrap()
    }

    async fn raw(&self, bytes: &[u8]) -> TcpStream {
        let stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream
    }

    /// Waits until the server was told of an error, and returns it.
    async fn error(&self) -> String {
        loop {
            if let Some(error) = self.errors.lock().unwrap().pop() {
                return error;
            }
            yield_now().await;
        }
    }

    async fn stop(self) -> usize {
        drop(self.stop);
        self.left.await
    }
}

async fn ask(sender: &mut SendRequest<Full<Bytes>>, path: &str) -> hyper::Result<Bytes> {
    sender.ready().await?;
    let request = Request::get(path)
        .header("host", "test")
        .body(Full::default());
    let answer = sender.send_request(request.unwrap()).await?;
    Ok(answer.into_body().collect().await?.to_bytes())
}

/// The rest of what a server sends.
async fn rest(stream: TcpStream) -> String {
    let mut text = Vec::new();
    // A reset is an end, too.
    let _ = stream.read_to_end(&mut text).await;
    String::from_utf8(text).unwrap()
}

fn on_workers(test: impl Future<Output = ()> + Send + 'static) {
    let executor = Executor::builder().workers(2).build().unwrap();
    block_on(executor.spawn(test));
}

#[test]
fn a_stop_ends_each_connection_as_far_as_it_has_come() {
    on_workers(async {
        let server = start(LONG).await;
        let silent = server.raw(b"").await;
        let mut idle = server.client().await;
        assert_eq!(ask(&mut idle, "/").await.unwrap(), "answered");
        // Half of a body, so the request has begun.
        let begun = server
            .raw(b"POST /body HTTP/1.1\r\nhost: t\r\ncontent-length: 2\r\n\r\na")
            .await;
        // The connection is accepted by the time that a later one is answered.
        assert_eq!(
            ask(&mut server.client().await, "/").await.unwrap(),
            "answered"
        );
        let Running {
            address,
            stop,
            left,
            errors,
        } = server;
        drop(stop);
        assert_eq!(rest(silent).await, "");
        while idle.ready().await.is_ok() {
            yield_now().await;
        }
        assert!(TcpStream::connect(address).await.is_err());
        assert!(!left.is_finished());
        begun.write_all(b"b").await.unwrap();
        let answer = rest(begun).await;
        assert!(
            answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("answered"),
            "{answer}"
        );
        assert_eq!(left.await, 0);
        assert_eq!(*errors.lock().unwrap(), [""; 0]);
    });
}

#[test]
fn what_does_not_end_is_cut_off_at_the_limit_or_by_a_drop() {
    joint_sim::run(1, async {
        for limit in [Duration::ZERO, Duration::from_secs(10)] {
            let server = start(limit).await;
            let mut sender = server.client().await;
            let asked = spawn(async move { ask(&mut sender, "/never").await });
            // Virtual time passes only when the request has arrived.
            time::sleep(Duration::from_secs(1)).await;
            let start = time::now();
            assert_eq!(server.stop().await, 1);
            assert!((limit..limit + Duration::from_millis(1)).contains(&(time::now() - start)));
            assert!(asked.await.is_err());
        }
        let server = start(LONG).await;
        let mut sender = server.client().await;
        let asked = spawn(async move { ask(&mut sender, "/never").await });
        time::sleep(Duration::from_secs(1)).await;
        drop(server);
        assert!(asked.await.is_err());
    });
}

#[test]
fn a_slow_head_is_cut_off_after_30_seconds() {
    joint_sim::run(1, async {
        let server = start(LONG).await;
        let start = time::now();
        let slow = server.raw(b"GET / HTTP/1.1\r\nhost:").await;
        rest(slow).await;
        assert_eq!((time::now() - start).as_secs(), 30);
        assert!(server.error().await.contains("timeout"));
        assert_eq!(server.stop().await, 0);
    });
}

/// What a client does, and what the server is told, or nothing.
#[test]
fn no_client_and_no_service_ends_the_server() {
    on_workers(async {
        let server = start(LONG).await;
        let reset = |stream: TcpStream| stream.set_linger(Some(Duration::ZERO)).unwrap();
        let closed: fn(TcpStream) = drop;
        for (said, end, told) in [
            (&b""[..], closed, ""),
            (
                b"GET / HT",
                closed,
                "connection closed before message completed",
            ),
            (
                b"POST /b HTTP/1.1\r\ncontent-length: 2\r\n\r\na",
                closed,
                "",
            ),
            (b"GET /never HTTP/1.1\r\n\r\n", reset, "connection"),
            (b"\x16\x03\x01\r\n\r\n", closed, "invalid HTTP"),
        ] {
            end(server.raw(said).await);
            if !told.is_empty() {
                let error = server.error().await;
                assert!(error.contains(told), "{said:?}: {error}");
            }
        }
        let mut sender = server.client().await;
        assert!(ask(&mut sender, "/panic").await.is_err());
        assert_eq!(
            ask(&mut server.client().await, "/").await.unwrap(),
            "answered"
        );
        assert_eq!(server.stop().await, 0);
    });
}

/// A protocol is chosen for each connection, a handshake may fail, and a stop ends it midway.
#[test]
fn connections_are_prepared_in_tasks_of_their_own() {
    on_workers(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let prepare = |stream: TcpStream| async move {
            let mut first = [0];
            stream.read_exact(&mut first).await?;
            let io = JointIo(stream);
            let connection: Pin<Box<dyn Connection + Send>> = match first[0] {
                1 => Box::pin(http().serve_connection(io, service_fn(handle))),
                2 => Box::pin(
                    http2::Builder::new(JointExecutor).serve_connection(io, service_fn(handle)),
                ),
                _ => return Err(io::Error::other("what is that?")),
            };
            Ok(connection)
        };
        let (told, error) = oneshot::channel();
        let told = Mutex::new(Some(told));
        let on_error = move |error| _ = told.lock().unwrap().take().map(|told| told.send(error));
        let server = Server::new(listener).on_error(on_error);
        let server = spawn(server.serve_with(prepare, stopped));
        let connect = async |first: &[u8]| {
            let io = client::connect(address).await.unwrap();
            io.0.write_all(first).await.unwrap();
            io
        };
        let silent = connect(b"").await;
        rest(connect(b"?").await.0).await;
        assert_eq!(error.await.unwrap().to_string(), "what is that?");
        let mut one = client::http1(connect(b"\x01").await).await.unwrap();
        assert_eq!(ask(&mut one, "/").await.unwrap(), "answered");
        let mut two = client::http2(connect(b"\x02").await).await.unwrap();
        let request = Request::get("http://test/").body(Full::<Bytes>::default());
        let answer = two.send_request(request.unwrap()).await.unwrap();
        assert_eq!(
            answer.into_body().collect().await.unwrap().to_bytes(),
            "answered"
        );
        drop(stop);
        assert_eq!(rest(silent.0).await, "");
        assert_eq!(server.await, 0);
    });
}

#[test]
fn a_stop_that_is_ready_serves_nobody() {
    on_workers(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let waits = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let http = http();
        let connect = move |io| http.serve_connection(io, service_fn(handle));
        assert_eq!(Server::new(listener).serve(connect, ready(())).await, 0);
        assert_eq!(rest(waits).await, "");
    });
}
