//! Helpers for the protocols that run over one connection.

use crate::world::below;
use joint_executor::{
    io::{TcpListener, TcpStream},
    spawn,
};

/// Returns the two ends of a connection.
pub async fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
    let client = spawn(async { TcpStream::connect("127.0.0.1:80").await.unwrap() });
    let (server, _) = listener.accept().await.unwrap();
    (client.await, server)
}

/// Returns a length below `2^bits`. Small ones are as likely as large ones.
pub fn body(bits: u64) -> usize {
    below(1 << (1 + below(bits))) as usize
}

/// Returns bytes by which a stream can be told from others, and each place from others near by.
pub fn pattern(stream: u8, length: usize) -> Vec<u8> {
    let place = |at: usize| (at % 251) as u8 ^ stream.wrapping_mul(37);
    (0..length).map(place).collect()
}
