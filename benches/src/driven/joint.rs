//! joint's executor, with its driver.

use std::{
    io,
    net::{Shutdown, SocketAddr},
    time::Duration,
};

#[cfg(unix)]
use joint_executor::io::{PipeReader, PipeWriter, pipe};
use joint_executor::{
    io::{TcpListener, TcpStream, UdpSocket},
    time,
};

use super::{Driven, Io};
use crate::pools::joint::Joint;

async fn end(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)
}

driven!(Joint, PipeReader, PipeWriter);
