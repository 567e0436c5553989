//! The ordering lab.

mod browser;
mod checker;
pub(crate) mod page;
