//! The crate futures, with another oneshot.

pub use ::futures::*;

pub mod channel {
    pub use ::futures::channel::*;

    pub use ::oneshot::futures as oneshot;
}
