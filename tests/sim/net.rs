//! The network between simulated hosts.

mod both;
mod datagrams;
mod streams;
