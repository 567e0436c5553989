//! Both ends of a connection over TCP that echoes. And a UDP server that sends back what it
//! receives, and a client that measures how long each answer takes.

use std::{
    net::{SocketAddr, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use joint::oneshot;

use crate::{
    driven::{Driven, Reads, Writes},
    work::keep_busy,
};

/// Sends back everything that it reads from a connection, until the end.
///
/// # Panics
///
/// If the connection fails.
pub async fn repeat(mut stream: impl Reads + Writes + Send) {
    let mut room = [0; 8_192];
    loop {
        match stream.read(&mut room).await.expect("the client is there") {
            0 => break,
            count => {
                let sent = stream.write_all(&room[..count]).await;
                sent.expect("the client waits for it");
            }
        }
    }
}

/// Sends messages on a connection, and after each waits for its echo.
///
/// # Panics
///
/// If the connection fails.
pub async fn converse<const SIZE: usize>(mut stream: impl Reads + Writes + Send, messages: usize) {
    let message = [7; SIZE];
    let mut room = [0; SIZE];
    for _ in 0..messages {
        stream
            .write_all(&message)
            .await
            .expect("the server is there");
        assert!(stream.fill(&mut room).await.expect("the server answers"));
    }
}

/// Makes a server that runs until it receives nothing.
///
/// # Panics
///
/// If the socket fails.
pub async fn server<R: Driven>() -> (impl Future<Output = ()> + Send + 'static, SocketAddr) {
    let (mut socket, address) = R::datagrams().await.expect("a port");
    let serve = async move {
        let mut room = [0; 64];
        while R::answer(&mut socket, &mut room).await.expect("a client") > 0 {}
    };
    (serve, address)
}

/// Asks, after a pause each time, and returns how long each answer took. Ends the server.
///
/// # Panics
///
/// If a socket fails.
pub fn ask(server: SocketAddr, questions: usize, pause: Duration) -> Vec<Duration> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.connect(server).expect("a port of this machine");
    let trip = |bytes: &[u8]| {
        let start = Instant::now();
        socket.send(bytes).expect("the server is there");
        socket.recv(&mut [0; 64]).expect("the server answers");
        start.elapsed()
    };
    let times = (0..questions).map(|_| {
        thread::sleep(pause);
        trip(&[7; 16])
    });
    let times = times.collect();
    trip(&[]);
    times
}

/// Asks from a thread of its own.
///
/// # Panics
///
/// If a socket fails.
pub async fn ask_from_outside(
    server: SocketAddr,
    questions: usize,
    pause: Duration,
) -> Vec<Duration> {
    let (sender, times) = oneshot::channel();
    thread::spawn(move || sender.send(ask(server, questions, pause)));
    times.await.expect("the client has been answered")
}

/// Asks from a thread of its own while a number of tasks compute, and yield after each `poll`.
/// Returns how long the answers took, the shortest first.
///
/// # Panics
///
/// If a socket fails.
pub async fn ask_beside<R: Driven>(
    runtime: &'static R,
    (tasks, poll): (usize, Duration),
    questions: usize,
    pause: Duration,
) -> Vec<Duration> {
    let is_over = Arc::new(AtomicBool::new(false));
    let (server, address) = server::<R>().await;
    let server = runtime.spawn(server);
    let tasks: Vec<_> = (0..tasks)
        .map(|_| runtime.spawn(keep_busy::<R>(is_over.clone(), poll)))
        .collect();
    let mut times = ask_from_outside(address, questions, pause).await;
    is_over.store(true, Relaxed);
    for task in tasks {
        R::join(task).await;
    }
    R::join(server).await;
    times.sort();
    times
}
