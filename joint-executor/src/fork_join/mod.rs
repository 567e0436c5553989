//! The machinery of [`join`](crate::join()). One side waits in the caller's frame, from which
//! another worker may take it.

pub(crate) mod forks;
pub(crate) mod job;

pub(super) use self::forks::Forks;
