//! What the system mostly does, taken for what it always does. Each bug needs a fault of its own.

use futures_lite::{AsyncReadExt, future::zip};
use joint_executor::{
    io::{TcpListener, TcpStream, UdpSocket},
    spawn, spawn_blocking,
};
use joint_sim::fs::File;

use super::*;

const PORT: &str = "127.0.0.1:80";
const MILLI: Duration = Duration::from_millis(1);

pub(crate) async fn half_a_message<R: Runtime>(version: Version) {
    let listener = TcpListener::bind(PORT).await.unwrap();
    let (client, server) = zip(TcpStream::connect(PORT), listener.accept()).await;
    let (client, (mut server, _)) = (client.unwrap(), server.unwrap());
    let writes = async move {
        match version {
            Planted => drop(client.write(b"deposit").await),
            Repaired => client.write_all(b"deposit").await.unwrap(),
        }
    };
    let mut text = String::new();
    let (_, read) = zip(writes, server.read_to_string(&mut text)).await;
    read.unwrap();
    assert_eq!(text, "deposit");
}

pub(crate) async fn half_a_page<R: Runtime>(version: Version) {
    let file = File::create("log").await.unwrap();
    file.write_all_at(&[7; 64], 0).await.unwrap();
    let (mut page, mut count) = ([0; 64], 0);
    while count < page.len() {
        count += file
            .read_at(&mut page[count..], count as u64)
            .await
            .unwrap();
        if version == Planted {
            break;
        }
    }
    assert_eq!(page, [7; 64]);
}

pub(crate) async fn port_bound_again<R: Runtime>(version: Version) {
    let bind = async || TcpListener::bind(PORT).await;
    drop(bind().await.unwrap());
    let again = match version {
        Planted => bind().await,
        Repaired => loop {
            match bind().await {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => sleep(MILLI).await,
                bound => break bound,
            }
        },
    };
    again.expect("the port is free again");
}

pub(crate) async fn session_by_address<R: Runtime>(version: Version) {
    let server = UdpSocket::bind(PORT).await.unwrap();
    let mut sessions = BTreeMap::<SocketAddr, u8>::new();
    for user in 1..=3 {
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        client.send_to(&[user], PORT).await.unwrap();
        let mut name = [0];
        let (_, from) = server.recv_from(&mut name).await.unwrap();
        let session = *sessions.entry(from).or_insert(name[0]);
        assert_eq!(session, user, "a user has the session of another one");
        if version == Repaired {
            sessions.remove(&from);
        }
    }
}

async fn ask() -> io::Result<u8> {
    let stream = TcpStream::connect(PORT).await?;
    let mut answer = [0];
    stream.read_exact(&mut answer).await?;
    Ok(answer[0])
}

/// Answers each connection with a byte.
async fn serve(listener: TcpListener, version: Version) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(stream.write_all(&[7]).await),
            Err(_) if version == Planted => break,
            Err(_) => sleep(MILLI).await,
        }
    }
}

/// Asks again and again, for some hours.
async fn ask_patiently() {
    for _ in 0..100 {
        match ask().await {
            Ok(answer) => return assert_eq!(answer, 7),
            Err(_) => sleep(Duration::from_secs(60)).await,
        }
    }
    panic!("the server does not answer");
}

pub(crate) async fn server_that_gives_up<R: Runtime>(version: Version) {
    let listener = TcpListener::bind(PORT).await.unwrap();
    let _server = spawn(serve(listener, version));
    for _ in 0..3 {
        ask_patiently().await;
    }
}

/// Needs no fault, but two functions that run at the same time.
pub(crate) async fn functions_that_count<R: Runtime>(version: Version) {
    let count = Arc::new(AtomicUsize::new(0));
    let add = || {
        let count = count.clone();
        spawn_blocking(move || match version {
            Planted => {
                let seen = count.load(SeqCst);
                // Names the request in a log.
                sim::random();
                count.store(seen + 1, SeqCst);
            }
            Repaired => _ = count.fetch_add(1, SeqCst),
        })
    };
    zip(add(), add()).await;
    assert_eq!(count.load(SeqCst), 2);
}
