//! The contestants of one thread, one file each. To add one, add a file here and a line where a
//! table is made.

pub mod async_executor;
pub mod joint;
#[cfg(unix)]
pub mod monoio;
pub mod queue;
pub mod tokio;
