//! Streams: order, back pressure, and how connections begin and end.

use std::io::ErrorKind::{
    AddrInUse, ConnectionRefused, ConnectionReset, NetworkUnreachable, NotFound, TimedOut,
    Unsupported,
};

use futures_lite::future::poll_once;
use joint_sim::net::{TcpListener, TcpStream};

use crate::prelude::*;

const MINUTE: Duration = Duration::from_secs(60);

/// Starts a host that accepts connections, and passes each to `serve`.
fn server<S: Future<Output = ()> + 'static>(
    name: &str,
    serve: impl Fn(TcpStream) -> S + 'static,
) -> Host {
    let host = Host::new(name);
    let serve = Rc::new(serve);
    host.run(move || {
        let serve = serve.clone();
        async move {
            let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                joint_executor::spawn_local(serve(stream)).detach();
            }
        }
    });
    host
}

/// Echoes until the connection ends in any way.
async fn echo(stream: TcpStream) {
    let _ = futures_lite::io::copy(&stream, &mut &stream).await;
    let _ = (&stream).close().await;
}

async fn connect(name: &str) -> TcpStream {
    sleep(MILLI).await;
    TcpStream::connect((name, 80)).await.unwrap()
}

/// A connection between the main future and the host `a`: the end here, and the one there.
async fn pair() -> (TcpStream, TcpStream) {
    let slot = Rc::new(RefCell::new(None));
    let there = slot.clone();
    server("a", move |stream| {
        *there.borrow_mut() = Some(stream);
        pending()
    });
    let stream = connect("a").await;
    loop {
        sleep(MILLI).await;
        if let Some(other) = slot.take() {
            return (stream, other);
        }
    }
}

#[test]
fn one_write_is_read_in_two_parts_for_some_seeds() {
    let first_read = |seed| {
        sim::run(seed, async {
            let (stream, there) = pair().await;
            stream.write_all(b"0123456789").await.unwrap();
            there.read(&mut [0; 16]).await.unwrap()
        })
    };
    let lengths: Vec<_> = (0..100).map(first_read).collect();
    assert!(lengths.iter().all(|length| (1..=10).contains(length)));
    let whole = lengths.iter().filter(|&&length| length == 10).count();
    assert!((70..100).contains(&whole), "{whole}");
}

#[test]
fn a_writer_waits_for_its_reader() {
    sim::run(1, async {
        let (stream, there) = pair().await;
        let mut written = 0;
        while let Some(wrote) = poll_once(stream.write(&[7; 10_000])).await {
            written += wrote.unwrap();
        }
        assert_eq!(written, 64 << 10);
        let stuck = timeout(MINUTE, stream.write(&[7])).await;
        assert!(stuck.is_err());
        let writes = spawn(async move { stream.write_all(&[8; 100_000]).await.unwrap() });
        let mut received = vec![0; written + 100_000];
        there.read_exact(&mut received).await.unwrap();
        assert!(received[..written].iter().all(|&byte| byte == 7));
        assert!(received[written..].iter().all(|&byte| byte == 8));
        writes.await;
    });
}

#[test]
fn attempts_are_refused_or_time_out() {
    sim::run(1, async {
        let connect = || TcpStream::connect(("a", 80));
        let host = Host::new("a");
        let start = now();
        assert_eq!(kind(connect().await), ConnectionRefused);
        assert!(now() - start < 5 * MILLI);
        host.run(pending::<()>);
        assert_eq!(kind(connect().await), ConnectionRefused);
        assert_eq!(kind(TcpStream::connect("b:80").await), NotFound);
        let nowhere = TcpStream::connect("8.8.8.8:80");
        assert_eq!(kind(nowhere.await), NetworkUnreachable);
        let limits = 2 * MINUTE..3 * MINUTE;
        for cut in [
            || net::partition("main", "a"),
            || net::partition_one_way("main", "a"),
            || net::partition_one_way("a", "main"),
            || Host::find("a").unwrap().cut_power(),
        ] {
            cut();
            let start = now();
            let failed = connect().await;
            assert_eq!(kind(failed), TimedOut);
            assert!(limits.contains(&(now() - start)));
            net::heal_all();
        }
    });
}

#[test]
fn a_partition_delays_a_stream_and_then_ends_it() {
    sim::run(1, async {
        server("a", echo);
        let stream = connect("a").await;
        net::partition("a", "main");
        stream.write_all(b"late").await.unwrap();
        let mut buffer = [0; 4];
        let early = timeout(10 * MINUTE, stream.read_exact(&mut buffer)).await;
        assert!(early.is_err());
        net::heal_all();
        let start = now();
        stream.read_exact(&mut buffer).await.unwrap();
        assert_eq!(&buffer, b"late");
        assert!(now() - start < SECOND);
        net::partition_one_way("main", "a");
        stream.write_all(b"lost").await.unwrap();
        let start = now();
        assert_eq!(kind(stream.read_exact(&mut buffer).await), TimedOut);
        assert!((15 * MINUTE..15 * MINUTE + SECOND).contains(&(now() - start)));
    });
}

#[test]
fn a_pending_write_completes_once_the_link_is_healed() {
    for one_way in [false, true] {
        sim::run(1, async move {
            let (stream, there) = pair().await;
            stream.write_all(&[1; 64 << 10]).await.unwrap();
            sleep(SECOND).await;
            net::partition_one_way("a", "main");
            if !one_way {
                net::partition_one_way("main", "a");
            }
            let writes = spawn(async move { stream.write_all(&[2; 10]).await.map(|()| stream) });
            yield_now().await;
            let mut all = vec![0; 64 << 10];
            there.read_exact(&mut all).await.unwrap();
            let early = timeout(MINUTE, there.read(&mut all)).await;
            assert!(early.is_err());
            net::heal_all();
            there.read_exact(&mut all[..10]).await.unwrap();
            writes.await.unwrap();
        });
    }
}

#[test]
fn a_shorter_clog_does_not_end_a_longer_one() {
    for (first, second) in [(MINUTE, SECOND), (SECOND, MINUTE)] {
        sim::run(1, async move {
            let (stream, there) = pair().await;
            let start = now();
            net::clog("a", "main", first);
            stream.write_all(b"x").await.unwrap();
            // This is held when the second clog begins, and what follows is not sent yet.
            sleep(10 * MILLI).await;
            net::clog("a", "main", second);
            there.write_all(b"y").await.unwrap();
            let arrives = async |at: &TcpStream| {
                at.read_exact(&mut [0; 1]).await.unwrap();
                now() - start
            };
            let (there_after, here_after) = zip(arrives(&there), arrives(&stream)).await;
            for after in [there_after, here_after] {
                assert!((MINUTE..MINUTE + SECOND).contains(&after), "{after:?}");
            }
        });
    }
}

#[test]
fn each_wait_before_a_resend_is_twice_the_one_before() {
    sim::run(1, async {
        let (stream, there) = pair().await;
        let link = Link::new().latency(Latency::Constant(MILLI)).loss(0.5);
        net::set_link_one_way("main", "a", link);
        let waits: Vec<_> = (0..12)
            .map(|lost| 200 * MILLI * ((1 << lost) - 1))
            .collect();
        let mut seen = [0; 12];
        for _ in 0..100 {
            let start = now();
            stream.write_all(b"x").await.unwrap();
            there.read_exact(&mut [0; 1]).await.unwrap();
            let waited = now() - start - MILLI;
            let lost = waits.iter().position(|&wait| wait == waited);
            seen[lost.unwrap_or_else(|| panic!("{waited:?}"))] += 1;
        }
        assert!(seen[..4].iter().all(|&count| count > 0), "{seen:?}");
    });
}

#[test]
fn what_is_sent_again_after_a_loss_arrives_once_and_in_order() {
    for seed in 0..5 {
        for (loss, is_cut) in [(0.2, false), (0.0, true), (0.2, true)] {
            sim::run(seed, async move {
                let (stream, there) = pair().await;
                net::set_link("a", "main", Link::new().loss(loss));
                let numbers = || 0..300u32;
                let write = async {
                    for number in numbers() {
                        stream.write_all(&number.to_be_bytes()).await.unwrap();
                        match number % 60 {
                            20 if is_cut => net::partition("a", "main"),
                            40 if is_cut => net::heal("a", "main"),
                            _ => {}
                        }
                        sleep(MILLI / 4).await;
                    }
                    (&stream).close().await.unwrap();
                };
                let mut received = Vec::new();
                let read = async { there.read_to_end(&mut received).await.unwrap() };
                zip(write, read).await;
                let sent: Vec<u8> = numbers().flat_map(u32::to_be_bytes).collect();
                assert!(received == sent);
            });
        }
    }
}

#[test]
fn a_killed_program_closes_its_connections() {
    each_seed(20, || async {
        let host = server("a", async |stream| {
            stream.write_all(b"half of a").await.unwrap();
            forever().await;
        });
        let stream = connect("a").await;
        let (waiting, full) = (connect("a").await, connect("a").await);
        stream.read_exact(&mut [0; 9]).await.unwrap();
        // One has unread bytes there, and so is reset. The other one ends in order.
        waiting.write_all(b"unread").await.unwrap();
        let writes = spawn(async move { full.write_all(&[0; 200_000]).await });
        sleep(10 * MILLI).await;
        host.kill_program();
        assert_eq!(kind(writes.await), ConnectionReset);
        assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 0);
        let mut rest = Vec::new();
        let read = waiting.read_to_end(&mut rest).await;
        assert_eq!(kind(read), ConnectionReset);
        assert_eq!(rest, b"half of a");
        assert_eq!(kind(TcpStream::connect("a:80").await), ConnectionRefused);
        host.restart();
        connect("a").await;
    });
}

#[test]
fn a_connection_to_a_machine_without_power_is_half_open() {
    sim::run(1, async {
        let host = server("a", echo);
        let [reads, writes, late] = [connect("a").await, connect("a").await, connect("a").await];
        let waits = connect("a").await;
        host.cut_power();
        // A peer that only reads never notices.
        let read = timeout(600 * MINUTE, reads.read(&mut [0; 1])).await;
        assert!(read.is_err());
        // One that writes gives up after a time.
        writes.write_all(b"x").await.unwrap();
        let start = now();
        assert_eq!(kind(writes.read(&mut [0; 1]).await), TimedOut);
        assert!((15 * MINUTE..16 * MINUTE).contains(&(now() - start)));
        // One that has written before a restart, or writes after it, is told that there is no
        // connection.
        waits.write_all(b"x").await.unwrap();
        sleep(MINUTE).await;
        host.restart();
        let start = now();
        assert_eq!(kind(waits.read(&mut [0; 1]).await), ConnectionReset);
        assert!(now() - start < SECOND);
        late.write_all(b"x").await.unwrap();
        assert_eq!(kind(late.read(&mut [0; 1]).await), ConnectionReset);
        let read = timeout(600 * MINUTE, reads.read(&mut [0; 1])).await;
        assert!(read.is_err());
    });
}

#[test]
fn a_dropped_listener_resets_unaccepted_connections() {
    sim::run(1, async {
        let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
        assert_eq!(kind(TcpListener::bind("main:80").await), AddrInUse);
        let stream = TcpStream::connect("localhost:80").await.unwrap();
        drop(listener);
        assert_eq!(kind(stream.read(&mut [0; 1]).await), ConnectionReset);
        let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
        // It listens only on the loopback address.
        assert_eq!(kind(TcpStream::connect("main:80").await), ConnectionRefused);
        let (one, two) = zip(TcpStream::connect("localhost:80"), listener.accept()).await;
        let (two, peer) = two.unwrap();
        let one = one.unwrap();
        assert_eq!(one.local_addr().unwrap(), peer);
        assert_eq!(two.local_addr().unwrap(), listener.local_addr().unwrap());
        assert_eq!(two.peer_addr().unwrap(), peer);
    });
}

#[test]
fn the_backlog_is_bounded() {
    sim::run(1, async {
        let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
        let mut streams = Vec::new();
        for _ in 0..1024 {
            streams.push(TcpStream::connect("127.0.0.1:80").await.unwrap());
        }
        let mut last = spawn(TcpStream::connect("127.0.0.1:80"));
        let waits = timeout(10 * SECOND, &mut last).await;
        assert!(waits.is_err());
        listener.accept().await.unwrap();
        assert!(timeout(10 * SECOND, &mut last).await.unwrap().is_ok());
        let late = TcpStream::connect("127.0.0.1:80").await;
        assert_eq!(kind(late), TimedOut);
    });
}

#[test]
fn a_stream_outside_of_its_simulation_fails() {
    let stream = sim::run(1, async { super::pair().await.0 });
    assert_eq!(kind(stream.peer_addr()), Unsupported);
    assert_eq!(kind(block_on(stream.read(&mut [0; 1]))), Unsupported);
    let elsewhere = sim::run(1, async { stream.read(&mut [0; 1]).await });
    assert_eq!(kind(elsewhere), Unsupported);
}
