//! The traits, by hyper's own clients and servers: each kind of stream, executor and timer.
#![cfg(all(
    unix,
    feature = "client",
    feature = "http1",
    feature = "http2",
    feature = "server"
))]

use std::{
    cell::Cell,
    convert::Infallible,
    error::Error,
    io::{self, IoSlice},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_lite::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, future};
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response, StatusCode,
    body::Incoming,
    header::HeaderValue,
    rt::{Read, Timer, Write},
    server::conn::{http1, http2},
    service::service_fn,
};
use joint_executor::{
    Executor, LocalExecutor, block_on,
    io::{TcpListener, TcpStream, UnixStream},
    spawn, spawn_detached,
};
use joint_hyper::{
    FuturesIo, JointExecutor, JointIo, JointLocalExecutor, JointTimer, client as to_server,
};

type Echoed = Result<Response<Full<Bytes>>, Box<dyn Error + Send + Sync>>;

/// Shorter than the longest slice that is copied, of its length, one longer, and longer than any
/// buffer.
const LENGTHS: [usize; 7] = [0, 1, 400, 512, 513, 8192, 300_000];

async fn echo(request: Request<Incoming>) -> Echoed {
    let body = request.into_body().collect().await?.to_bytes();
    Ok(Response::new(Full::from(body)))
}

fn body(length: usize) -> Bytes {
    (0..length).map(|at| at as u8).collect()
}

fn request(length: usize) -> Request<Full<Bytes>> {
    let request = Request::post("http://localhost/").header("host", "localhost");
    request.body(Full::from(body(length))).unwrap()
}

/// A stream that transfers a few bytes at a time, and is pending every other time.
#[derive(Debug)]
struct Trickle {
    stream: UnixStream,
    reads: bool,
    writes: bool,
}

fn alternates(is_due: &mut bool, cx: &Context<'_>) -> bool {
    *is_due = !*is_due;
    if !*is_due {
        cx.waker().wake_by_ref();
    }
    *is_due
}

impl AsyncRead for Trickle {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let most = buffer.len().min(1000);
        match alternates(&mut self.reads, cx) {
            true => Pin::new(&mut self.stream).poll_read(cx, &mut buffer[..most]),
            false => Poll::Pending,
        }
    }
}

impl AsyncWrite for Trickle {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let most = bytes.len().min(700);
        match alternates(&mut self.writes, cx) {
            true => Pin::new(&mut self.stream).poll_write(cx, &bytes[..most]),
            false => Poll::Pending,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(cx)
    }
}

/// Echoes each length by HTTP/1.
async fn by_http1<I>((one, other): (I, I))
where
    I: Read + Write + Unpin + Send + 'static,
{
    let mut http = http1::Builder::new();
    let server = http
        .timer(JointTimer)
        .serve_connection(one, service_fn(echo));
    let server = spawn(server);
    let mut sender = to_server::http1(other).await.unwrap();
    for length in LENGTHS {
        sender.ready().await.unwrap();
        let answer = sender.send_request(request(length)).await.unwrap();
        let echoed = answer.into_body().collect().await.unwrap().to_bytes();
        assert!(echoed == body(length), "{length}");
    }
    drop(sender);
    server.await.unwrap();
}

/// Echoes all lengths at once by HTTP/2.
async fn by_http2<I>((one, other): (I, I))
where
    I: Read + Write + Unpin + Send + 'static,
{
    let mut http = http2::Builder::new(JointExecutor);
    let server = http
        .timer(JointTimer)
        .serve_connection(one, service_fn(echo));
    let server = spawn(server);
    let sender = to_server::http2(other).await.unwrap();
    let answers = LENGTHS.map(|length| {
        let mut sender = sender.clone();
        spawn(async move {
            let answer = sender.send_request(request(length)).await.unwrap();
            answer.into_body().collect().await.unwrap().to_bytes()
        })
    });
    for (length, answer) in LENGTHS.into_iter().zip(answers) {
        assert!(answer.await == body(length), "{length}");
    }
    drop(sender);
    // The client may be gone before the server has said goodbye.
    let _ = server.await;
}

async fn tcp() -> (JointIo<TcpStream>, JointIo<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = to_server::connect(listener.local_addr().unwrap());
    let (client, (server, _)) = future::try_zip(client, listener.accept()).await.unwrap();
    (JointIo(server), client)
}

fn pair<I>(of: fn(UnixStream) -> I) -> (I, I) {
    let (one, other) = UnixStream::pair().unwrap();
    (of(one), of(other))
}

fn trickle(stream: UnixStream) -> FuturesIo<Trickle> {
    FuturesIo::new(Trickle {
        stream,
        reads: false,
        writes: false,
    })
}

/// Each protocol over each kind of stream.
async fn all() {
    by_http1(tcp().await).await;
    by_http2(tcp().await).await;
    by_http1(pair(JointIo)).await;
    by_http2(pair(JointIo)).await;
    by_http1(pair(trickle)).await;
    by_http2(pair(trickle)).await;
}

#[test]
fn bodies_of_all_lengths_arrive_wherever_they_are_driven() {
    let executor = Executor::builder().workers(2).build().unwrap();
    block_on(executor.spawn(all()));
    executor.block_on(all());
    block_on(all());
    LocalExecutor::new().block_on(all());
}

#[test]
fn both_protocols_run_in_a_simulated_world() {
    joint_sim::run(1, async {
        by_http1(tcp().await).await;
        by_http2(tcp().await).await;
    });
}

/// A service that counts in an `Rc`, on an executor of one thread and on a worker.
#[test]
fn a_service_need_not_be_send() {
    async fn counts() {
        let (one, other) = pair(JointIo);
        let count = Rc::new(Cell::new(0));
        let counted = count.clone();
        let service = service_fn(move |_: Request<Incoming>| {
            let counted = counted.clone();
            async move {
                counted.set(counted.get() + 1);
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
            }
        });
        let server = http2::Builder::new(JointLocalExecutor).serve_connection(one, service);
        let server = joint_executor::spawn_local(server);
        let mut sender = to_server::http2(other).await.unwrap();
        for length in LENGTHS {
            let answer = sender.send_request(request(length)).await.unwrap();
            assert_eq!(answer.status(), StatusCode::OK);
        }
        drop(sender);
        server.await.unwrap();
        assert_eq!(count.get(), LENGTHS.len());
    }
    LocalExecutor::new().block_on(counts());
    let executor = Executor::builder().workers(2).build().unwrap();
    let counts = || joint_executor::spawn_local(counts());
    block_on(executor.spawn(async move { counts().await }));
}

/// After the upgrade both sides have hyper's stream, or get their own back.
#[test]
fn an_upgraded_connection_is_a_stream_again() {
    async fn upgrades(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        spawn_detached(async move {
            let mut io = JointIo(hyper::upgrade::on(request).await.unwrap());
            let mut said = [0; 4];
            io.read_exact(&mut said).await.unwrap();
            let slices = [IoSlice::new(&said), IoSlice::new(b" pong")];
            let written = future::poll_fn(|cx| Pin::new(&mut io).poll_write_vectored(cx, &slices));
            assert_eq!(written.await.unwrap(), 9);
            io.close().await.unwrap();
        });
        let mut answer = Response::new(Full::default());
        *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let raw = HeaderValue::from_static("raw");
        answer.headers_mut().insert("upgrade", raw);
        Ok(answer)
    }
    block_on(async {
        let (one, other) = pair(JointIo);
        let server = http1::Builder::new().serve_connection(one, service_fn(upgrades));
        let server = spawn(server.with_upgrades());
        let mut sender = to_server::http1(other).await.unwrap();
        let mut request = request(0);
        for (name, value) in [("connection", "upgrade"), ("upgrade", "raw")] {
            let value = HeaderValue::from_static(value);
            request.headers_mut().insert(name, value);
        }
        let answer = sender.send_request(request).await.unwrap();
        let upgraded = hyper::upgrade::on(answer).await.unwrap();
        let parts = upgraded.downcast::<JointIo<UnixStream>>().unwrap();
        assert_eq!(parts.read_buf, "");
        let mut io = parts.io.0;
        io.write_all(b"ping").await.unwrap();
        let mut said = String::new();
        io.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "ping pong");
        server.await.unwrap();
    });
}

/// A timer of another runtime, which never fires.
struct Foreign;

impl Future for Foreign {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

impl hyper::rt::Sleep for Foreign {}

#[test]
fn timers_fire_at_their_times_and_are_moved() {
    joint_sim::run(1, async {
        let start = JointTimer.now();
        let passed = || JointTimer.now() - start;
        let at = |seconds| start + Duration::from_secs(seconds);
        JointTimer.sleep(Duration::from_secs(1)).await;
        assert_eq!(passed(), Duration::from_secs(1));
        JointTimer.sleep_until(at(3)).await;
        assert_eq!(passed(), Duration::from_secs(3));
        let mut sleep = JointTimer.sleep(Duration::MAX);
        for (deadline, end) in [(7, 7), (5, 7), (8, 8)] {
            JointTimer.reset(&mut sleep, at(deadline));
            (&mut sleep).await;
            assert_eq!(passed(), Duration::from_secs(end), "{deadline}");
        }
        let mut foreign: Pin<Box<dyn hyper::rt::Sleep>> = Box::pin(Foreign);
        JointTimer.reset(&mut foreign, at(9));
        foreign.await;
        assert_eq!(passed(), Duration::from_secs(9));
    });
}
