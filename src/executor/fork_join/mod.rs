//! The machinery of [`join`](crate::join): one side waits in the frame of the caller, where another
//! worker may take it.

pub(crate) mod forks;
pub(crate) mod job;

pub(super) use self::forks::Forks;
