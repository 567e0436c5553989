//! The servers: the same service of hyper on each runtime, with two workers.

use std::{convert::Infallible, io, io::Read, thread};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use joint_hyper::JointIo;

pub(crate) const WORKERS: usize = 2;
/// Of each answer.
pub(crate) const BODY: &str = "Hello, World!";

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::from(BODY)))
}

/// Serves until the standard input ends.
pub(crate) fn serve(name: &str) {
    thread::spawn(|| {
        // Nothing is sent.
        let _ = io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    match name {
        "joint" => joint(),
        "tokio" => tokio(),
        _ => panic!("there is no server {name}"),
    }
    .expect("a server")
}

/// Tells the load where the server is.
fn listens(address: std::net::SocketAddr) {
    println!("{}", address.port());
}

fn joint() -> io::Result<()> {
    use joint_executor::{Executor, block_on, io::TcpListener, spawn_detached};

    let executor = Executor::builder().workers(WORKERS).build()?;
    block_on(executor.spawn(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        listens(listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            spawn_detached(async move {
                let http = http1::Builder::new();
                // A client that goes away is an error.
                drop(
                    http.serve_connection(JointIo(stream), service_fn(hello))
                        .await,
                );
            });
        }
    }))
}

fn tokio() -> io::Result<()> {
    use tokio::{net::TcpListener, runtime::Builder, spawn};

    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()?;
    let server = runtime.spawn(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        listens(listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            spawn(async move {
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(hello));
                drop(connection.await);
            });
        }
    });
    runtime.block_on(server)?
}
