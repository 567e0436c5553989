//! Files and sockets on a real ring, and what becomes of them where the system refuses one.
#![cfg(target_os = "linux")]

mod operations;
mod refusal;
mod refused;
