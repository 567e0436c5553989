//! Datagrams: latency, loss, duplicates, order, partitions, clogged links, and crashes.

use joint_sim::net::UdpSocket;

use crate::prelude::*;

/// Sends numbered messages from a host to the main future's, and returns what has come within 10
/// seconds: the numbers, and how long each has taken.
async fn send_numbers(count: u32, link: Link) -> Vec<(u32, Duration)> {
    let receiver = UdpSocket::bind("main:80").await.unwrap();
    let host = Host::new("sender");
    net::set_link(&host, "main", link);
    let sent = Rc::new(RefCell::new(Vec::new()));
    let times = sent.clone();
    run_once(&host, move || async move {
        let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        for n in 0..count {
            times.borrow_mut().push(now());
            let length = socket.send_to(&n.to_be_bytes(), "main:80").await.unwrap();
            assert_eq!(length, 4);
            if n % 16 == 0 {
                sleep(MILLI / 2).await;
            }
        }
        pending::<()>().await;
    });
    let mut received = Vec::new();
    let mut buffer = [0; 8];
    let all = async {
        loop {
            let (length, from) = receiver.recv_from(&mut buffer).await.unwrap();
            assert_eq!((length, from.ip()), (4, host.ip()));
            let number = u32::from_be_bytes(buffer[..4].try_into().unwrap());
            received.push((number, now() - sent.borrow()[number as usize]));
        }
    };
    let _: Result<(), _> = timeout(10 * SECOND, all).await;
    received
}

#[test]
fn latencies_are_within_the_distribution() {
    let exponential = Latency::Exponential {
        least: MILLI,
        mean: 2 * MILLI,
    };
    // Each with its shortest time, its mean and its longest time in milliseconds.
    for (latency, [least, mean, most]) in [
        (Latency::Constant(3 * MILLI), [3, 3, 3]),
        (Latency::Uniform(MILLI, 5 * MILLI), [1, 3, 5]),
        (exponential, [1, 2, 14]),
    ] {
        let received = sim::run(2, send_numbers(2000, Link::new().latency(latency)));
        assert_eq!(received.len(), 2000);
        let mut times: Vec<_> = received.iter().map(|(_, time)| *time).collect();
        times.sort();
        let (shortest, longest) = (times[0], times[1999]);
        assert!(
            least * MILLI <= shortest && longest <= most * MILLI,
            "{latency:?}"
        );
        let average = times.iter().sum::<Duration>() / 2000;
        assert!(
            average.abs_diff(mean * MILLI) < MILLI / 10,
            "{latency:?}: {average:?}"
        );
        let span = (most - least) * MILLI;
        assert!((longest - shortest) * 2 >= span || most == 14);
    }
}

#[test]
fn messages_are_lost_and_doubled_at_the_rates_of_the_link() {
    let received = sim::run(3, send_numbers(4000, Link::new().loss(0.25)));
    assert!((2850..3150).contains(&received.len()), "{}", received.len());
    let received = sim::run(3, send_numbers(4000, Link::new().duplication(0.25)));
    assert!((4850..5150).contains(&received.len()), "{}", received.len());
    assert!(sim::run(3, send_numbers(100, Link::new().loss(1.0))).is_empty());
}

#[test]
fn a_partition_loses_messages_until_it_is_healed() {
    sim::run(1, async {
        let host = Host::new("a");
        host.run(|| async {
            let socket = UdpSocket::bind("a:7").await.unwrap();
            let mut buffer = [0; 8];
            loop {
                let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
                socket.send_to(&buffer[..length], from).await.unwrap();
            }
        });
        let socket = UdpSocket::bind("main:0").await.unwrap();
        let answers = async || {
            socket.send_to(b"ping", ("a", 7)).await.unwrap();
            let mut buffer = [0; 8];
            timeout(SECOND, socket.recv(&mut buffer)).await.is_ok()
        };
        sleep(MILLI).await;
        assert!(answers().await);
        net::partition("a", "main");
        assert!(!answers().await);
        net::heal(&host, "main");
        assert!(answers().await);
        for (from, to) in [("a", "main"), ("main", "a")] {
            net::partition_one_way(from, to);
            assert!(!answers().await);
            net::heal_all();
            assert!(answers().await);
        }
        net::isolate("a");
        assert!(!answers().await);
        net::heal_all();
        // What is under way when the link is cut is lost too.
        let cuts = async {
            sleep(MILLI / 4).await;
            net::partition("a", "main");
        };
        let (answered, ()) = futures_lite::future::zip(answers(), cuts).await;
        assert!(!answered);
    });
}

#[test]
fn a_socket_of_a_crashed_host_is_gone() {
    sim::run(1, async {
        let host = Host::new("a");
        let smuggled = Rc::new(RefCell::new(None));
        let slot = smuggled.clone();
        host.run(move || {
            let slot = slot.clone();
            async move {
                let socket = Rc::new(UdpSocket::bind("a:7").await.unwrap());
                *slot.borrow_mut() = Some(socket.clone());
                socket.recv(&mut [0; 8]).await.unwrap();
                panic!("nothing that was sent to the first start may arrive at the second");
            }
        });
        sleep(MILLI).await;
        let socket = UdpSocket::bind("main:0").await.unwrap();
        socket.send_to(b"late", "a:7").await.unwrap();
        host.cut_power();
        let gone: Rc<UdpSocket> = smuggled.borrow_mut().take().unwrap();
        let ghost = gone.send_to(b"ghost", "main:80").await;
        assert_eq!(kind(ghost), ErrorKind::NotConnected);
        sleep(10 * MILLI).await;
        host.restart();
        sleep(10 * MILLI).await;
        assert!(host.is_running());
        let bound_again = smuggled.borrow().is_some();
        assert!(bound_again);
        assert!(gone.local_addr().is_ok());
        drop(gone);
        // The old socket did not take the new one's port with it.
        let mut new = [0; 1];
        let kept = smuggled.borrow_mut().take().unwrap();
        assert!(timeout(SECOND, kept.peek(&mut new)).await.is_err());
    });
}

#[test]
fn a_connected_sender_gets_an_error_if_no_socket_receives() {
    sim::run(1, async {
        let host = Host::new("a");
        host.run(pending::<()>);
        let socket = UdpSocket::bind("main:0").await.unwrap();
        assert_eq!(kind(socket.send(b"x").await), ErrorKind::NotConnected);
        assert_eq!(kind(socket.peer_addr()), ErrorKind::NotConnected);
        socket.connect("a:7").await.unwrap();
        assert_eq!(socket.peer_addr().unwrap().to_string(), "10.0.0.2:7");
        assert_eq!(socket.send(b"x").await.unwrap(), 1);
        let received = socket.recv(&mut [0; 8]).await;
        assert_eq!(kind(received), ErrorKind::ConnectionRefused);
        // A machine without power does not answer.
        host.cut_power();
        socket.send(b"x").await.unwrap();
        let received = timeout(SECOND, socket.recv(&mut [0; 8])).await;
        assert!(received.is_err());
    });
}

#[test]
fn a_receiver_that_does_not_keep_up_loses_messages() {
    sim::run(1, async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let own = socket.local_addr().unwrap();
        for _ in 0..10 {
            socket.send_to(&[0; 60_000], own).await.unwrap();
        }
        let too_long = socket.send_to(&[0; 65_508], own).await;
        assert_eq!(kind(too_long), ErrorKind::InvalidInput);
        sleep(MILLI).await;
        let mut received = 0;
        let mut buffer = [0; 1];
        while timeout(MILLI, socket.recv(&mut buffer)).await.is_ok() {
            received += 1;
        }
        assert_eq!(received, 3);
    });
}

#[test]
fn addresses_are_checked() {
    let failure = async |address: &str| kind(UdpSocket::bind(address).await);
    sim::run(1, async {
        Host::new("a");
        let socket = UdpSocket::bind("0.0.0.0:80").await.unwrap();
        assert_eq!(failure("main:80").await, ErrorKind::AddrInUse);
        assert_eq!(failure("a:80").await, ErrorKind::AddrNotAvailable);
        assert_eq!(failure("8.8.8.8:80").await, ErrorKind::AddrNotAvailable);
        assert_eq!(failure("b:80").await, ErrorKind::NotFound);
        let nowhere = socket.send_to(b"x", "8.8.8.8:80").await;
        assert_eq!(kind(nowhere), ErrorKind::NetworkUnreachable);
        drop(socket);
        let socket = UdpSocket::bind("main:80").await.unwrap();
        assert_eq!(socket.local_addr().unwrap().to_string(), "10.0.0.1:80");
    });
}
