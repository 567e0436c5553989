//! yamux 0.14.1, over a simulated TCP connection.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{
    stream::{body, connection, pattern},
    world::{below, join, maybe, programs, rest},
};
use futures::{
    AsyncReadExt, AsyncWriteExt, Stream as _,
    channel::{mpsc, oneshot},
    future::try_join,
    io::copy,
};
use joint_executor::{io::TcpStream, spawn};
use yamux::{Config, Connection, Mode, Result, Stream};

programs![echo::<0>, echo::<1>];

/// Each stream gets its own bytes back, in order, although others are dropped at any await. There
/// are `LEAST` of them or more.
async fn echo<const LEAST: usize>() {
    let (client, server) = connection().await;
    let server = Connection::new(server, config(), Mode::Server);
    let server = spawn(serve(server));
    let (ask, asked) = mpsc::unbounded();
    let client = Driver {
        connection: Connection::new(client, config(), Mode::Client),
        asked,
        waiting: VecDeque::new(),
    };
    let client = spawn(client.drive());

    let mut tasks = Vec::new();
    for number in 0..1 + below(4) {
        let ask = ask.clone();
        tasks.push(spawn(async move {
            for _ in 0..1 + below(3) {
                rest().await;
                maybe(exchange(&ask, number as u8, LEAST + body(19))).await;
            }
        }));
    }
    join(tasks).await;
    // The drops have not ended the connection.
    exchange(&ask, 9, 1000).await;
    drop(ask);
    client.await;
    server.await;
}

fn config() -> Config {
    let mut config = Config::default();
    config.set_split_send_size(1 << (4 + below(11)));
    config
}

type Ask = mpsc::UnboundedSender<oneshot::Sender<Stream>>;

async fn exchange(ask: &Ask, number: u8, length: usize) {
    let (reply, stream) = oneshot::channel();
    ask.unbounded_send(reply).unwrap();
    let (mut reader, mut writer) = stream.await.expect("the connection is open").split();
    let sent = pattern(number, length);
    let mut received = Vec::new();
    let write = async {
        writer.write_all(&sent).await?;
        writer.close().await
    };
    let read = reader.read_to_end(&mut received);
    try_join(write, read).await.expect("nobody has reset it");
    assert!(received == sent, "{} instead of {length}", received.len());
}

/// Opens the streams that are asked for, until nobody asks any more.
struct Driver {
    connection: Connection<TcpStream>,
    asked: mpsc::UnboundedReceiver<oneshot::Sender<Stream>>,
    waiting: VecDeque<oneshot::Sender<Stream>>,
}

impl Driver {
    async fn drive(mut self) {
        poll_fn(|context| self.poll(context))
            .await
            .expect("a connection without errors");
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        loop {
            match Pin::new(&mut self.asked).poll_next(context) {
                Poll::Ready(Some(reply)) => self.waiting.push_back(reply),
                Poll::Ready(None) => return self.connection.poll_close(context),
                Poll::Pending => break,
            }
        }
        while let Some(reply) = self.waiting.pop_front() {
            match self.connection.poll_new_outbound(context)? {
                // The requester may be gone.
                Poll::Ready(stream) => drop(reply.send(stream)),
                Poll::Pending => {
                    self.waiting.push_front(reply);
                    break;
                }
            }
        }
        match self.connection.poll_next_inbound(context)? {
            Poll::Ready(_) => panic!("the server opens no stream"),
            Poll::Pending => Poll::Pending,
        }
    }
}

async fn serve(mut connection: Connection<TcpStream>) {
    // The client closes the connection, and what the server still has to say fails.
    while let Some(Ok(stream)) = poll_fn(|context| connection.poll_next_inbound(context)).await {
        spawn(async move {
            let (reader, mut writer) = stream.split();
            // The client may leave at any time.
            if copy(reader, &mut writer).await.is_ok() {
                let _ = writer.close().await;
            }
        })
        .detach();
    }
}
