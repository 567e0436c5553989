//! The contestants with threads of their own, one file each.

pub mod async_executor;
#[cfg(joint_peers)]
pub mod forte;
pub mod joint;
pub mod nio;
pub mod tokio;
