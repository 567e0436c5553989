//! The load: connections that each send their next request when they have the answer to the last.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Ipv4Addr, TcpStream},
    time::{Duration, Instant},
};

use rustix::{
    buffer::spare_capacity,
    event::epoll::{self, CreateFlags, EventData, EventFlags},
    fd::OwnedFd,
};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

struct Connection {
    stream: TcpStream,
    sent: Instant,
    /// How much of the answer has arrived.
    received: usize,
}

/// The measurements of one period.
#[derive(Default)]
pub(crate) struct Seen {
    /// Nanoseconds from each request to the end of its answer.
    pub(crate) latencies: Vec<u32>,
    pub(crate) took: Duration,
}

pub(crate) struct Load {
    epoll: OwnedFd,
    connections: Vec<Connection>,
    /// The length of an answer, which is the same for all.
    answer: usize,
}

impl Load {
    /// Opens the connections, and asks once by each.
    pub(crate) fn new(port: u16, connections: usize) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let mut load = Self {
            epoll,
            connections: Vec::with_capacity(connections),
            answer: 0,
        };
        for key in 0..connections {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
            stream.set_nodelay(true)?;
            stream.write_all(REQUEST)?;
            let length = read_answer(&mut stream)?;
            assert!([0, load.answer].contains(&load.answer) || load.answer == length);
            load.answer = length;
            stream.set_nonblocking(true)?;
            let flags = EventFlags::IN | EventFlags::ET;
            epoll::add(&load.epoll, &stream, EventData::new_u64(key as u64), flags)?;
            load.connections.push(Connection {
                stream,
                sent: Instant::now(),
                received: 0,
            });
        }
        Ok(load)
    }

    /// Keeps all connections busy for a time.
    pub(crate) fn run(&mut self, time: Duration) -> io::Result<Seen> {
        let mut seen = Seen::default();
        let start = Instant::now();
        for connection in &mut self.connections {
            connection.ask(start)?;
        }
        let mut open = self.connections.len();
        let mut events = Vec::with_capacity(1024);
        while open > 0 {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Err(rustix::io::Errno::INTR) => continue,
                result => result?,
            };
            let now = Instant::now();
            let is_over = now - start >= time;
            if !is_over {
                seen.took = now - start;
            }
            for event in &events {
                let connection = &mut self.connections[event.data.u64() as usize];
                if connection.receive(self.answer)? {
                    if is_over {
                        open -= 1;
                        continue;
                    }
                    let latency = (now - connection.sent).as_nanos();
                    seen.latencies.push(latency.try_into().unwrap_or(u32::MAX));
                    connection.ask(now)?;
                }
            }
        }
        Ok(seen)
    }
}

impl Connection {
    fn ask(&mut self, now: Instant) -> io::Result<()> {
        self.sent = now;
        self.received = 0;
        self.stream.write_all(REQUEST)
    }

    /// Returns whether the whole answer has arrived.
    fn receive(&mut self, answer: usize) -> io::Result<bool> {
        match self.stream.read(&mut [0; 1024]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => self.received += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        assert!(
            self.received <= answer,
            "the answer is longer than the first"
        );
        Ok(self.received == answer)
    }
}

/// Reads the first answer, and returns its length.
fn read_answer(stream: &mut TcpStream) -> io::Result<usize> {
    let mut answer = Vec::new();
    loop {
        let mut buffer = [0; 1024];
        let count = stream.read(&mut buffer)?;
        answer.extend(&buffer[..count]);
        let text = String::from_utf8_lossy(&answer);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            if length.and_then(|length| length.parse().ok()) == Some(body.len()) {
                return Ok(answer.len());
            }
        }
        assert!(count > 0, "the answer has no end: {text}");
    }
}
