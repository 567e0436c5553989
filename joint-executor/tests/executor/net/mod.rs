//! Sockets and pipes, on this machine alone. Each scenario runs in `block_on` on a plain thread,
//! and on executors of one worker and of two; and each has an end, also when it hangs.
#![cfg(feature = "io")]

mod address;
mod by_name;
mod connect;
#[cfg(unix)]
mod pipe;
mod ready;
mod support;
mod tcp;
mod udp;
mod uninit;
#[cfg(unix)]
mod unix;

/// All types can be handed to another thread, shared, moved while they wait, and looked at.
#[cfg(unix)]
#[test]
fn all_types_go_anywhere() {
    fn goes<T: Send + Sync + Unpin + std::fmt::Debug>() {}
    goes::<joint_executor::io::TcpListener>();
    goes::<joint_executor::io::TcpStream>();
    goes::<joint_executor::io::UdpSocket>();
    goes::<joint_executor::io::UnixListener>();
    goes::<joint_executor::io::UnixStream>();
    goes::<joint_executor::io::UnixDatagram>();
    goes::<joint_executor::io::PipeReader>();
    goes::<joint_executor::io::PipeWriter>();
}
