//! The limit of an answer. The tests of `joint-hyper` have the rest.

use std::{future::pending, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use http_server::server::{Answer, Ended, Limits, Protocol, serve};
use hyper::{Request, StatusCode, body::Incoming};
use joint_executor::{Executor, block_on, io::TcpListener, oneshot, spawn};
use joint_hyper::client;

#[test]
fn a_handler_that_takes_too_long_is_answered_for_and_the_connection_goes_on() {
    let executor = Executor::builder().workers(2).build().unwrap();
    block_on(executor.spawn(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let limits = Limits {
            answer: Duration::from_millis(20),
            ..Limits::default()
        };
        let handle = async |request: Request<Incoming>| match request.uri().path() {
            "/never" => pending().await,
            _ => Answer::new(Full::from("at once")),
        };
        let handle = move |request| Box::pin(handle(request));
        let (stop, stopped) = oneshot::channel::<()>();
        let stop_wait = async move { _ = stopped.await };
        let server = spawn(serve(listener, Protocol::Http, limits, handle, stop_wait));
        let io = client::connect(address).await.unwrap();
        let mut sender = client::http1(io).await.unwrap();
        for (path, status) in [
            ("/never", StatusCode::SERVICE_UNAVAILABLE),
            ("/", StatusCode::OK),
        ] {
            sender.ready().await.unwrap();
            let request = Request::get(path).header("host", "test");
            let request = request.body(Full::<Bytes>::default()).unwrap();
            let answer = sender.send_request(request).await.unwrap();
            assert_eq!(answer.status(), status);
            answer.into_body().collect().await.unwrap();
        }
        drop(stop);
        assert_eq!(server.await, Ended { early: 0, late: 0 });
    }));
}
