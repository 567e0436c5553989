//! Messages that are lost, doubled, late, or overtaken by others.

use super::*;
use crate::prelude::Version::{self, Planted, Repaired};

/// A server that adds, and a client that asks for it three times.
fn adds(is_new: impl Fn(u8, u8) -> bool + Clone + 'static) -> Service {
    let count = Rc::new(Cell::new(0));
    let server = sharing(&(count.clone(), is_new), |(count, is_new)| async move {
        let mut last = 0;
        serve("0.0.0.0:1", async |[request]: [u8; 1]| {
            if is_new(request, last) {
                count.set(count.get() + 1);
                last = request;
            }
            Ok(vec![request])
        })
        .await
    });
    let client = async {
        for request in 1..4 {
            ask("counter:1", &[request]).await;
        }
    };
    let service = service().host("counter", server).client(client);
    service.invariant(async move { assert_eq!(count.get(), 3, "three requests add 3") })
}

pub(super) fn duplicated_delta(version: Version) -> Service {
    adds(move |request, last| version == Planted || request > last)
}

pub(super) fn reordered_dedupe(version: Version) -> Service {
    adds(move |request, last| match version {
        Planted => request != last,
        Repaired => request > last,
    })
}

/// A register, and a client that writes without waiting for the answers, but for the last one.
pub(super) fn overtaken_write(version: Version) -> Service {
    let written = Rc::new(Cell::new(0));
    let server = sharing(&written, move |register| async move {
        serve("0.0.0.0:1", async |[value]: [u8; 1]| {
            // The values are versions, too.
            if version == Planted || register.get() < value {
                register.set(value);
            }
            Ok(vec![value])
        })
        .await
    });
    let client = async {
        let socket = UdpSocket::bind("0.0.0.0:0").await?;
        // A request without a number, whose answer nobody awaits.
        socket.send_to(&[0, 0, 0, 0, 1], "register:1").await?;
        ask("register:1", &[2]).await;
        Ok::<(), io::Error>(())
    };
    let service = service().host("register", server).client(client);
    service.invariant(async move { assert_eq!(written.get(), 2, "the last write is the newest") })
}

/// Takes values from connections, one task each, and answers each value.
async fn append(log: Shared<Vec<u8>>, version: Version) -> io::Result<()> {
    serve_streams("0.0.0.0:1", |stream| {
        let log = log.clone();
        async move {
            let mut value = [0];
            while stream.read_exact(&mut value).await.is_ok() {
                let last = log.borrow().last().copied().unwrap_or(0);
                if version == Planted && value[0] != last || value[0] > last {
                    log.borrow_mut().push(value[0]);
                }
                let _ = stream.write_all(&value).await;
            }
        }
    })
    .await
}

pub(super) fn order_across_reconnect(version: Version) -> Service {
    let appended = Shared::default();
    let log = sharing(&appended, move |log| append(log, version));
    let client = async {
        let mut next = 1;
        while next < 4 {
            let connection = async {
                let stream = TcpStream::connect("log:1").await?;
                while next < 4 {
                    stream.write_all(&[next]).await?;
                    stream.read_exact(&mut [0]).await?;
                    next += 1;
                    sleep(SECOND / 10).await;
                }
                Ok::<(), io::Error>(())
            };
            let _ = timeout(SECOND, connection).await;
        }
    };
    let service = service().host("log", log);
    service.client(client).invariant(async move {
        let log = appended.borrow();
        assert!(
            log.is_sorted(),
            "an old value comes after newer ones: {log:?}"
        );
    })
}

const READ: u8 = 0;
const INVALIDATE: u8 = 255;

/// A cache of the value of a database.
async fn cache(version: Version) -> io::Result<()> {
    let socket = Rc::new(UdpSocket::bind("0.0.0.0:1").await?);
    // The value, and how often it was invalidated.
    let (value, times) = (Rc::new(Cell::new(None)), Rc::new(Cell::new(0)));
    loop {
        let (asked, request) = Asked::receive(&socket).await?;
        if request == [INVALIDATE] {
            value.set(None);
            times.set(times.get() + 1);
            asked.answer(&socket, &[0]).await?;
            continue;
        }
        let (socket, value, times) = (socket.clone(), value.clone(), times.clone());
        let read = spawn_local(async move {
            let before = times.get();
            let read = match value.get() {
                Some(value) => value,
                None => ask("database:1", &[READ]).await[0],
            };
            if version == Planted || times.get() == before {
                value.set(Some(read));
            }
            let _ = asked.answer(&socket, &[read]).await;
        });
        read.detach();
    }
}

pub(super) fn fill_after_invalidation(version: Version) -> Service {
    let database = || async {
        let mut value = 0;
        serve("0.0.0.0:1", async |[new]: [u8; 1]| {
            if new > value {
                value = new;
                ask("cache:1", &[INVALIDATE]).await;
            }
            Ok(vec![value])
        })
        .await
    };
    let writer = async {
        for value in 1..4 {
            ask("database:1", &[value]).await;
        }
    };
    let reader = async {
        for _ in 0..4 {
            ask("cache:1", &[READ]).await;
        }
    };
    let service = service().host("database", database);
    let service = service.host("cache", move || cache(version));
    service.client(writer).client(reader).invariant(async {
        let [cached, ..] = ask("cache:1", &[READ]).await;
        assert_eq!(cached, 3, "the cache has an old value");
    })
}
