//! The network between simulated hosts.

mod both;
mod datagrams;
mod dialogues;
mod streams;
mod types;

use joint_executor::io::{TcpListener, TcpStream};

/// Two ends of a connection on one host: the one that has connected, and the one that was accepted.
async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let client = joint_executor::spawn(TcpStream::connect(address));
    let (server, _) = listener.accept().await.unwrap();
    (client.await.unwrap(), server)
}
