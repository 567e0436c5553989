//! The ordering lab.

mod browser;
pub(crate) mod page;
