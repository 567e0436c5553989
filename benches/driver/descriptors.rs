//! Rows of descriptors: connections that echo, and a byte that travels back and forth.

use std::time::{Duration, Instant};

use joint_benches::{
    driven::{Driven, Reads, Writes},
    echo::{converse, repeat},
    options::Options,
    table::Row,
};

pub(crate) const CONNECTIONS: usize = 100;

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
        #[cfg(unix)]
        row("ping-pong through two pipes", 1, ping_pong::<R>),
    ]
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
        for client in streams.into_iter().map(ask).collect::<Vec<_>>() {
            R::join(client).await;
        }
        let taken = start.elapsed();
        for server in servers {
            R::join(server).await;
        }
        taken
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
