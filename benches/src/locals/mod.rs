//! The contestants of one thread, one file each. Another of them is one more file and one line where a table is made.

pub mod async_executor;
pub mod joint;
#[cfg(unix)]
pub mod monoio;
pub mod queue;
pub mod tokio;
