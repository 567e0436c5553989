//! Streams and datagrams while links are cut, healed and clogged, and hosts crash, all at random.

use joint_sim::net::{TcpListener, TcpStream, UdpSocket};

use crate::prelude::*;

async fn sleep_up_to(millis: u64) {
    sleep(Duration::from_micros(sim::random() % (millis * 1000))).await;
}

/// Cuts, heals and clogs the link between two hosts, and leaves it healed.
async fn storm(a: &str, b: &str, strokes: u32) {
    for _ in 0..strokes {
        match sim::random() % 5 {
            0 => net::partition(a, b),
            1 => net::partition_one_way(a, b),
            2 => net::partition_one_way(b, a),
            3 => net::clog(a, b, Duration::from_millis(sim::random() % 100)),
            _ => net::heal(a, b),
        }
        sleep_up_to(50).await;
    }
    net::heal_all();
}

#[test]
fn a_stream_survives_a_storm_on_its_link() {
    each_seed(25, || async {
        let latency = Latency::Exponential {
            least: Duration::ZERO,
            mean: Duration::from_millis(5),
        };
        net::set_default_link(Link::new().latency(latency).loss(0.1));
        Host::new("a").run(|| async {
            let listener = TcpListener::bind("a:80").await.unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            futures_lite::io::copy(&stream, &mut &stream).await.unwrap();
            (&stream).close().await.unwrap();
            std::future::pending::<()>().await;
        });
        sleep(SECOND).await;
        let storm = spawn_local(storm("main", "a", 100));
        let stream = TcpStream::connect("a:80").await.unwrap();
        let sent: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
        let write = async {
            let mut rest = &sent[..];
            while !rest.is_empty() {
                let length = rest.len().min(1 + sim::random() as usize % 10_000);
                let (part, others) = rest.split_at(length);
                stream.write_all(part).await.unwrap();
                rest = others;
                if sim::random() % 4 == 0 {
                    sleep_up_to(20).await;
                }
            }
            (&stream).close().await.unwrap();
        };
        let mut received = Vec::new();
        let read = async { stream.read_to_end(&mut received).await.unwrap() };
        zip(write, read).await;
        assert!(received == sent);
        storm.await;
    });
}

/// A client asks for numbers to be counted, again and again until there is an answer, while the
/// server crashes. Each answered number has been counted.
pub(crate) async fn requests_in_a_storm() -> (usize, u32) {
    let disk = Rc::new(Cell::new(0u128));
    let crashes = Rc::new(Cell::new(0));
    let server = Host::new("server");
    let kept = disk.clone();
    server.run(move || {
        let disk = kept.clone();
        async move {
            let listener = TcpListener::bind("server:80").await.unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let disk = disk.clone();
                let serve = async move {
                    let mut number = [0];
                    while stream.read_exact(&mut number).await.is_ok() {
                        disk.set(disk.get() | 1 << number[0]);
                        if stream.write_all(&number).await.is_err() {
                            break;
                        }
                    }
                };
                spawn_local(serve).detach();
            }
        }
    });
    let client = Host::new("client");
    client.run(|| async {
        for number in 0..100u8 {
            loop {
                let ask = async {
                    let stream = TcpStream::connect("server:80").await?;
                    stream.write_all(&[number]).await?;
                    let mut answer = [0];
                    stream.read_exact(&mut answer).await?;
                    std::io::Result::Ok(answer[0])
                };
                match timeout(SECOND / 2, ask).await {
                    Ok(Ok(answer)) => break assert_eq!(answer, number),
                    Ok(Err(_)) | Err(_) => sleep_up_to(10).await,
                }
            }
        }
    });
    let count = crashes.clone();
    let crashing = spawn_local(async move {
        loop {
            sleep_up_to(100).await;
            storm("client", "server", 5).await;
            server.kill();
            sleep_up_to(100).await;
            server.restart();
            count.set(count.get() + 1);
        }
    });
    let _ = client.ended().await;
    drop(crashing);
    (disk.get().count_ones() as usize, crashes.get())
}

#[test]
fn every_answered_request_was_done_in_spite_of_crashes() {
    let mut crashes = 0;
    let mut digests = BTreeSet::new();
    for seed in 0..15 {
        let outcome = Builder::new(seed).run(requests_in_a_storm()).unwrap();
        assert_eq!(outcome.output.0, 100);
        crashes += outcome.output.1;
        let again = Builder::new(seed).run(requests_in_a_storm()).unwrap();
        assert_eq!(outcome.digest, again.digest);
        digests.insert(outcome.digest);
    }
    assert!(crashes > 15, "{crashes}");
    assert_eq!(digests.len(), 15);
}

#[test]
fn datagrams_in_a_storm_arrive_intact_or_are_lost() {
    let mut all = 0;
    for seed in 0..50 {
        all += sim::run(seed, async {
            let link = Link::new().loss(0.1).duplication(0.1).reordering(0.1);
            net::set_default_link(link);
            Host::new("a").run(|| async {
                let socket = UdpSocket::bind("a:0").await.unwrap();
                for number in 0..200u8 {
                    let message = vec![number; usize::from(number)];
                    socket.send_to(&message, "main:80").await.unwrap();
                    sleep_up_to(5).await;
                }
                std::future::pending::<()>().await;
            });
            let socket = UdpSocket::bind("main:80").await.unwrap();
            let storm = spawn_local(storm("main", "a", 20));
            let mut buffer = [0; 256];
            let mut seen = BTreeSet::new();
            while let Ok(received) = timeout(5 * SECOND, socket.recv(&mut buffer)).await {
                let length = received.unwrap();
                assert!(
                    buffer[..length]
                        .iter()
                        .all(|&byte| usize::from(byte) == length)
                );
                seen.insert(length);
            }
            storm.await;
            seen.len()
        });
    }
    assert!((2000..9000).contains(&all), "{all}");
}
