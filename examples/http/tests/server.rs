//! The server's limits and its shutdown, by clients of this process.

use std::{sync::Mutex, time::Duration};

use bytes::Bytes;
use futures_lite::{AsyncReadExt, AsyncWriteExt, future};
use http_body_util::{BodyExt, Full};
use http_server::{
    glue::{JointExecutor, JointIo},
    server::{Answer, Limits, Protocol, serve},
};
use hyper::{Request, Response, StatusCode, body::Incoming, client::conn::http1};
use joint_executor::{
    Executor, JoinHandle, block_on,
    io::{TcpListener, TcpStream},
    oneshot, spawn,
};

/// Longer than any test.
const LONG: Duration = Duration::from_secs(600);
/// Shorter than any test, and nothing here has to happen within it.
const SHORT: Duration = Duration::from_millis(20);

const PATIENT: Limits = Limits {
    head: LONG,
    answer: LONG,
    shutdown: LONG,
};

/// A server, and what stops it.
struct Running {
    address: std::net::SocketAddr,
    stop: oneshot::Sender<()>,
    left: JoinHandle<usize>,
}

/// Answers when the test says so: with what is sent, or never.
async fn start(
    limits: Limits,
) -> (
    Running,
    oneshot::Receiver<()>,
    oneshot::Sender<&'static str>,
) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let (begins, begun) = oneshot::channel();
    let (answers, answer) = oneshot::channel();
    let parts = Mutex::new(Some((begins, answer)));
    let handle = move |_: Request<Incoming>| {
        let parts = parts.lock().unwrap().take();
        async move {
            let Some((begins, answer)) = parts else {
                return Response::new(Full::from("again"));
            };
            let _ = begins.send(());
            let body: Result<&'static str, _> = answer.await;
            Answer::new(Full::from(body.expect("the test answers")))
        }
    };
    let stop_wait = async move {
        let _ = stopped.await;
    };
    let left = spawn(serve(listener, Protocol::Http, limits, handle, stop_wait));
    let running = Running {
        address,
        stop,
        left,
    };
    (running, begun, answers)
}

async fn client(server: &Running) -> http1::SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (sender, connection) = http1::handshake(JointIo(stream)).await.unwrap();
    // Its errors are those of the requests.
    hyper::rt::Executor::execute(&JointExecutor, async move { drop(connection.await) });
    sender
}

async fn ask(sender: &mut http1::SendRequest<Full<Bytes>>) -> hyper::Result<(StatusCode, Bytes)> {
    let request = Request::get("/")
        .header("host", "test")
        .body(Full::default())
        .unwrap();
    let answer = sender.send_request(request).await?;
    let status = answer.status();
    Ok((status, answer.into_body().collect().await?.to_bytes()))
}

/// Runs a test as a task.
fn on_workers(test: impl Future<Output = ()> + Send + 'static) {
    let executor = Executor::builder().workers(2).build().unwrap();
    block_on(executor.spawn(test));
}

#[test]
fn a_stop_lets_a_request_that_has_begun_end_and_closes_idle_connections() {
    on_workers(async {
        let (server, begun, answers) = start(PATIENT).await;
        let mut asks = client(&server).await;
        let asked = spawn(async move { ask(&mut asks).await });
        begun.await.unwrap();
        let mut idle = client(&server).await;
        assert_eq!(ask(&mut idle).await.unwrap().1, "again");

        server.stop.send(()).unwrap();
        // The idle one is closed, which is also when nobody is accepted any more.
        while idle.ready().await.is_ok() {
            joint_executor::yield_now().await;
        }
        assert!(TcpStream::connect(server.address).await.is_err());
        assert!(!server.left.is_finished());
        answers.send("late, but whole").unwrap();
        assert_eq!(
            asked.await.unwrap(),
            (StatusCode::OK, "late, but whole".into())
        );
        assert_eq!(server.left.await, 0);
    });
}

#[test]
fn a_request_that_is_not_answered_is_cut_off_at_the_deadline() {
    on_workers(async {
        let limits = Limits {
            shutdown: SHORT,
            ..PATIENT
        };
        let (server, begun, _answers) = start(limits).await;
        let mut asks = client(&server).await;
        let asked = spawn(async move { ask(&mut asks).await });
        begun.await.unwrap();
        server.stop.send(()).unwrap();
        assert_eq!(server.left.await, 1);
        assert!(asked.await.is_err());
    });
}

#[test]
fn a_handler_that_takes_too_long_is_answered_for_and_the_connection_goes_on() {
    on_workers(async {
        let limits = Limits {
            answer: SHORT,
            ..PATIENT
        };
        let (server, begun, _answers) = start(limits).await;
        let mut asks = client(&server).await;
        let (status, _) = ask(&mut asks).await.unwrap();
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        begun.await.unwrap();
        assert_eq!(ask(&mut asks).await.unwrap().1, "again");
        server.stop.send(()).unwrap();
        assert_eq!(server.left.await, 0);
    });
}

#[test]
fn a_client_that_does_not_finish_a_head_is_closed() {
    on_workers(async {
        let limits = Limits {
            head: SHORT,
            ..PATIENT
        };
        let (server, _begun, _answers) = start(limits).await;
        let mut silent = TcpStream::connect(server.address).await.unwrap();
        let mut slow = TcpStream::connect(server.address).await.unwrap();
        slow.write_all(b"GET / HTTP/1.1\r\nhost:").await.unwrap();
        for client in [&mut silent, &mut slow] {
            let mut said = Vec::new();
            // With an answer or without one.
            let _ = client.read_to_end(&mut said).await;
        }
        server.stop.send(()).unwrap();
        assert_eq!(server.left.await, 0);
    });
}

/// Bodies in both directions that are longer than any buffer.
#[test]
fn many_large_bodies_arrive_as_they_were_sent() {
    on_workers(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let echo = async |request: Request<Incoming>| {
            let body = request.into_body().collect().await.unwrap();
            Answer::new(Full::from(body.to_bytes()))
        };
        let echo = move |request| Box::pin(echo(request));
        let _server = spawn(serve(
            listener,
            Protocol::Http,
            PATIENT,
            echo,
            future::pending(),
        ));
        let clients: Vec<_> = (0..8_u8)
            .map(|client| {
                spawn(async move {
                    let stream = TcpStream::connect(address).await.unwrap();
                    let (mut sender, connection) = http1::handshake(JointIo(stream)).await.unwrap();
                    joint_executor::spawn_detached(connection);
                    for length in [0, 1, 8191, 8192, 300_000] {
                        let body: Bytes = (0..length).map(|at| at as u8 ^ client).collect();
                        let request = Request::post("/")
                            .body(Full::<Bytes>::from(body.clone()))
                            .unwrap();
                        let answer = sender.send_request(request).await.unwrap();
                        let echo = answer.into_body().collect().await.unwrap().to_bytes();
                        assert!(echo == body, "{length}");
                    }
                })
            })
            .collect();
        for client in clients {
            client.await;
        }
    });
}
