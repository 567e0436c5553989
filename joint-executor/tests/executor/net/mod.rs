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
mod uninit;
#[cfg(unix)]
mod unix;
