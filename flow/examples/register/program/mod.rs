//! The program: replicas, clients, and what the clients do. Only the module that declares it says
//! which sockets it runs on.

pub(crate) mod client;
pub(crate) mod replica;
pub(crate) mod workload;

use super::net::{TcpListener, TcpStream};
