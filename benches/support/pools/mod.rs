//! The contestants with threads of their own, one file each.

pub(crate) mod async_executor;
#[cfg(joint_peers)]
pub(crate) mod forte;
pub(crate) mod joint;
pub(crate) mod nio;
pub(crate) mod tokio;
