//! The program: replicas, clients, and what the clients do. Nothing of it knows whether it runs in
//! a simulation.

pub(crate) mod client;
pub(crate) mod replica;
pub(crate) mod workload;

use joint_executor::io::{TcpListener, TcpStream};
