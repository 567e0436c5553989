//! The network between simulated hosts.

mod both;
mod datagrams;
mod dialogues;
pub(crate) mod storm;
mod streams;
mod types;
