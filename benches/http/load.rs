//! The load: connections that each send their next request when they have the answer to the last,
//! all in one task of the thread that runs it.

use std::{
    io::{self, ErrorKind},
    net::Ipv4Addr,
    time::{Duration, Instant},
};

use joint_executor::{Executor, hosted::BoundWorker, io::TcpStream};
use joint_flow::try_all;

use super::servers::BODY;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// The measurements of one period.
pub(crate) struct Seen {
    /// From each request to the end of its answer.
    pub(crate) latencies: Vec<Duration>,
    pub(crate) took: Duration,
}

pub(crate) struct Load {
    worker: BoundWorker,
    _executor: Executor,
    streams: Vec<TcpStream>,
}

impl Load {
    /// Opens the connections.
    pub(crate) fn new(port: u16, connections: usize) -> io::Result<Self> {
        let (executor, mut worker) = Executor::builder().build_current_thread()?;
        let streams = worker.block_on(async {
            let mut streams = Vec::with_capacity(connections);
            for _ in 0..connections {
                let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
                stream.set_nodelay(true)?;
                streams.push(stream);
            }
            io::Result::Ok(streams)
        })?;
        Ok(Self {
            worker,
            _executor: executor,
            streams,
        })
    }

    /// Keeps all connections busy for a time.
    pub(crate) fn run(&mut self, time: Duration) -> io::Result<Seen> {
        let start = Instant::now();
        let one = async |stream| {
            let mut latencies = Vec::new();
            loop {
                let sent = Instant::now();
                ask(stream).await?;
                latencies.push(sent.elapsed());
                if start.elapsed() >= time {
                    return io::Result::Ok(latencies);
                }
            }
        };
        let all = self.streams.iter().map(one).collect::<Vec<_>>();
        let all = self.worker.block_on(try_all(all))?;
        Ok(Seen {
            latencies: all.into_iter().flatten().collect(),
            took: start.elapsed(),
        })
    }
}

/// Sends a request, and waits for the end of its answer.
async fn ask(stream: &TcpStream) -> io::Result<()> {
    stream.write_all(REQUEST).await?;
    let mut room = [0; 1024];
    let mut received = 0;
    while !room[..received].ends_with(BODY.as_bytes()) {
        match stream.read(&mut room[received..]).await? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => received += count,
        }
    }
    assert!(room.starts_with(b"HTTP/1.1 200 OK"));
    Ok(())
}
