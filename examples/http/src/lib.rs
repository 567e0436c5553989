//! An HTTP server on [hyper](https://docs.rs/hyper) 1 and `joint-executor`.
//!
//! | file | what it has |
//! |---|---|
//! | [`glue`] | hyper's traits for joint's streams, executor and timers: copy it into a program of your own |
//! | [`server`] | accepts and serves connections, limits their time, and shuts down gracefully |
//! | `tls` | certificates, and the handshake (feature `tls`) |
//! | `main.rs` | the program, which ends on ctrl-c |

pub mod glue;
pub mod server;
#[cfg(feature = "tls")]
pub mod tls;
