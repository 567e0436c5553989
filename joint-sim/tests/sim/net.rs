//! The network between simulated hosts.

mod both;
mod datagrams;
mod storm;
mod streams;
mod types;
