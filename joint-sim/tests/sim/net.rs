//! The network between simulated hosts.

mod both;
mod datagrams;
mod dialogues;
mod streams;
mod types;
