//! The network between simulated hosts.

mod datagrams;
