//! h2 0.4.20, over a simulated TCP connection.

use std::future::poll_fn;

use crate::{
    stream::{body, connection, pattern},
    world::{below, join, maybe, programs, rest},
};
use bytes::Bytes;
use futures::future::try_join;
use h2::{Error, RecvStream, SendStream, client, server};
use http::{Request, Response};
use joint_executor::spawn;
use tokio_util::compat::FuturesAsyncReadCompatExt;

programs![echo::<false>, echo::<true>];

type Sender = client::SendRequest<Bytes>;

/// Each request gets its own bytes back, in order, although others are dropped at any await, and
/// what those had of the connection's window comes back. `LIMITED` keeps the default budget for
/// small frames.
async fn echo<const LIMITED: bool>() {
    let (client, server) = connection().await;
    let mut builder = server::Builder::new();
    builder
        .initial_window_size(window())
        .max_concurrent_streams(1 + below(4) as u32);
    if !LIMITED {
        builder.data_frame_budget(1 << 30);
    }
    let server = spawn(async move {
        let mut connection = builder.handshake(server.compat()).await.unwrap();
        while let Some(request) = connection.accept().await {
            let (request, respond) = request.expect("a connection without errors");
            // The client may leave at any time.
            spawn(async { drop(answer(request.into_body(), respond).await) }).detach();
        }
    });
    let mut builder = client::Builder::new();
    // The server refuses more than it allows, even before it has said so.
    builder
        .initial_window_size(window())
        .initial_max_send_streams(1);
    if !LIMITED {
        builder.data_frame_budget(1 << 30);
    }
    let (sender, client) = builder.handshake(client.compat()).await.unwrap();
    let client = spawn(async { client.await.expect("a connection without errors") });

    let mut tasks = Vec::new();
    for number in 0..1 + below(4) {
        let sender = sender.clone();
        tasks.push(spawn(async move {
            for _ in 0..1 + below(3) {
                rest().await;
                maybe(exchange(sender.clone(), number as u8, body(16))).await;
            }
        }));
    }
    join(tasks).await;
    // More than the window of the connection, which is 65,535 bytes.
    exchange(sender, 9, 100_000).await;
    client.await;
    server.await;
}

fn window() -> u32 {
    1 << (6 + below(12))
}

async fn exchange(sender: Sender, number: u8, length: usize) {
    let sent = pattern(number, length);
    let both = async {
        let mut sender = sender.ready().await?;
        let (response, body) = sender.send_request(Request::new(()), false)?;
        drop(sender);
        let receive = async { read(response.await?.into_body()).await };
        try_join(write(body, sent.clone().into()), receive).await
    };
    let (_, received) = both.await.expect("nobody has reset it");
    assert!(received == sent, "{} instead of {length}", received.len());
}

async fn answer(
    mut body: RecvStream,
    mut respond: server::SendResponse<Bytes>,
) -> Result<(), Error> {
    let mut to = respond.send_response(Response::new(()), false)?;
    while let Some(bytes) = body.data().await {
        let bytes = bytes?;
        rest().await;
        body.flow_control().release_capacity(bytes.len())?;
        send(&mut to, bytes).await?;
    }
    to.send_data(Bytes::new(), true)
}

async fn write(mut to: SendStream<Bytes>, bytes: Bytes) -> Result<(), Error> {
    send(&mut to, bytes).await?;
    to.send_data(Bytes::new(), true)
}

async fn send(to: &mut SendStream<Bytes>, mut bytes: Bytes) -> Result<(), Error> {
    while !bytes.is_empty() {
        to.reserve_capacity(bytes.len());
        let Some(capacity) = poll_fn(|context| to.poll_capacity(context)).await else {
            return Ok(());
        };
        to.send_data(bytes.split_to(capacity?), false)?;
    }
    Ok(())
}

async fn read(mut body: RecvStream) -> Result<Vec<u8>, Error> {
    let mut all = Vec::new();
    while let Some(bytes) = body.data().await {
        let bytes = bytes?;
        all.extend_from_slice(&bytes);
        rest().await;
        body.flow_control().release_capacity(bytes.len())?;
    }
    Ok(all)
}
