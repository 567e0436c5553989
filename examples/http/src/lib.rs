//! An HTTP server on [hyper](https://docs.rs/hyper) 1, by `joint-hyper`.
//!
//! | file | what it has |
//! |---|---|
//! | [`server`] | limits of time, and the protocol |
//! | `tls` | certificates, and the handshake (feature `tls`) |
//! | `main.rs` | the program, which ends on ctrl-c |

pub mod server;
#[cfg(feature = "tls")]
pub mod tls;
