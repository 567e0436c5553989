//! joint's executor, with its driver.

use std::{io, net::SocketAddr, time::Duration};

#[cfg(unix)]
use joint_executor::io::{PipeReader, PipeWriter, pipe};
use joint_executor::{
    io::{TcpListener, TcpStream, UdpSocket},
    time,
};

use super::{Driven, Io};
use crate::pools::joint::Joint;

driven!(Joint, PipeReader, PipeWriter);
