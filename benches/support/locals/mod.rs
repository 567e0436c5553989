//! The contestants of one thread, one file each. Another of them is one more file and one line where a table is made.

pub(crate) mod async_executor;
pub(crate) mod joint;
#[cfg(unix)]
pub(crate) mod monoio;
pub(crate) mod queue;
pub(crate) mod tokio;
