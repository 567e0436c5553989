//! The network between simulated hosts.

mod both;
mod datagrams;
pub(crate) mod storm;
mod streams;
mod types;
