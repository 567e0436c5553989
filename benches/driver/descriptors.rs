//! Rows of descriptors: connections that echo, and a byte that travels back and forth.

use std::{
    io,
    time::{Duration, Instant},
};

#[cfg(unix)]
use super::cost;
use joint_benches::{
    driven::{Driven, Reads, Writes},
    echo::{converse, repeat},
    options::Options,
    table::Row,
};

pub(crate) const CONNECTIONS: usize = 100;
const PROXIED: usize = 8;

/// The number of messages through a connection or a pipe; fewer if each row runs once.
pub(crate) fn messages() -> usize {
    Options::read().of(1_000, 10)
}

pub(crate) fn rows<R: Driven>() -> Vec<Row<R>> {
    let row = |title, connections, run| Row::new(title, connections * messages(), run);
    vec![
        row(
            "TCP echo, 100 x 1,000 messages of 64 bytes",
            CONNECTIONS,
            echo::<R, 64>,
        ),
        row(
            "TCP echo, 100 x 1,000 messages of 4 KiB",
            CONNECTIONS,
            echo::<R, 4_096>,
        ),
        row("TCP echo, one connection", 1, echo_one::<R>),
        Row::new("TCP proxy, 8 x 8 MB there and back", PROXIED, proxy::<R>),
        #[cfg(unix)]
        row(
            "the processor time of the echo, 100 x 1,000 messages of 64 bytes",
            CONNECTIONS,
            |runtime| processor_time(|| echo::<R, 64>(runtime)),
        ),
        #[cfg(unix)]
        Row::new("the processor time of the proxy", PROXIED, |runtime| {
            processor_time(|| proxy::<R>(runtime))
        }),
        #[cfg(unix)]
        row("ping-pong through two pipes", 1, ping_pong::<R>),
    ]
}

/// The processor time of the whole program during a run.
#[cfg(unix)]
fn processor_time(run: impl FnOnce() -> Duration) -> Duration {
    let now = || cost::so_far().expect("the system says it");
    let [before, ..] = now();
    run();
    let [after, ..] = now();
    Duration::from_nanos((after - before) as u64)
}

fn echo<R: Driven, const SIZE: usize>(runtime: &'static R) -> Duration {
    talk::<R, SIZE>(runtime, CONNECTIONS)
}

fn echo_one<R: Driven>(runtime: &'static R) -> Duration {
    talk::<R, 64>(runtime, 1)
}

/// From when all are connected until all have had their answers.
fn talk<R: Driven, const SIZE: usize>(runtime: &'static R, connections: usize) -> Duration {
    let messages = messages();
    runtime.run(async move {
        let (mut listener, address) = R::listen().await.expect("a port");
        let server = runtime.spawn(async move {
            let mut handles = Vec::new();
            for _ in 0..connections {
                let stream = R::accept(&mut listener).await.expect("a connection");
                handles.push(runtime.spawn(repeat(stream)));
            }
            handles
        });
        let mut streams = Vec::new();
        for _ in 0..connections {
            streams.push(R::connect(address).await.expect("the server accepts"));
        }
        let servers = R::join(server).await;
        let start = Instant::now();
        let ask = |stream| runtime.spawn(converse::<SIZE>(stream, messages));
        R::join_all(streams.into_iter().map(ask).collect()).await;
        let taken = start.elapsed();
        R::join_all(servers).await;
        taken
    })
}

/// Passes on what one connection sends, and its end.
async fn pass<R: Driven>(from: &mut R::Stream, to: &mut R::Stream) -> io::Result<()> {
    let mut room = vec![0; 16 << 10];
    loop {
        match from.read(&mut room).await? {
            0 => return R::end(to).await,
            count => to.write_all(&room[..count]).await?,
        }
    }
}

/// Sends this, and its end. Returns the answer.
async fn exchange<R: Driven>(stream: &mut R::Stream, bytes: &[u8]) -> io::Result<Vec<u8>> {
    stream.write_all(bytes).await?;
    R::end(stream).await?;
    let mut answer = Vec::new();
    R::rest(stream, &mut answer).await?;
    Ok(answer)
}

/// Each client sends its bytes through a proxy, to a server that returns all of them after their
/// end.
fn proxy<R: Driven>(runtime: &'static R) -> Duration {
    let size = Options::read().of(8 << 20, 1 << 10);
    runtime.run(async move {
        let (mut listener, address) = R::listen().await.expect("a port");
        let (mut behind, address_behind) = R::listen().await.expect("a port");
        let start = Instant::now();
        let mut clients = Vec::new();
        for _ in 0..PROXIED {
            let client = async move {
                let mut stream = R::connect(address).await?;
                exchange::<R>(&mut stream, &vec![7; size]).await
            };
            clients.push(runtime.spawn(client));
            let mut here = R::accept(&mut listener).await.expect("a connection");
            let mut there = R::connect(address_behind).await.expect("a connection");
            let mut server = R::accept(&mut behind).await.expect("a connection");
            runtime.spawn_detached(async move {
                let mut bytes = Vec::new();
                let read = R::rest(&mut server, &mut bytes).await;
                read.expect("the proxy is there");
                server.write_all(&bytes).await.expect("the proxy is there");
            });
            runtime.spawn_detached(async move {
                let passed = pass::<R>(&mut here, &mut there).await;
                passed.expect("both are there");
                let passed = pass::<R>(&mut there, &mut here).await;
                passed.expect("both are there");
            });
        }
        for client in clients {
            let answer = R::join(client).await.expect("the proxy is there");
            assert_eq!(answer.len(), size);
        }
        start.elapsed()
    })
}

#[cfg(unix)]
fn ping_pong<R: Driven>(runtime: &'static R) -> Duration {
    let trips = messages();
    runtime.run(async move {
        let (mut here, mut to_here) = R::pipe().expect("descriptors");
        let (mut there, mut to_there) = R::pipe().expect("descriptors");
        let partner = runtime.spawn(async move {
            let mut ball = [0];
            while there.fill(&mut ball).await.expect("a pipe") {
                to_here.write_all(&ball).await.expect("a pipe");
            }
        });
        let start = Instant::now();
        let mut ball = [7];
        for _ in 0..trips {
            to_there.write_all(&ball).await.expect("a pipe");
            assert!(here.fill(&mut ball).await.expect("a pipe"));
        }
        let taken = start.elapsed();
        drop(to_there);
        R::join(partner).await;
        taken
    })
}
