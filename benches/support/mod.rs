//! What the benches of runtimes share: the contestants, the rows' tools, the table and the probe of the machine.

#[cfg(feature = "io")]
pub(crate) mod driven;
pub(crate) mod locals;
pub(crate) mod options;
pub(crate) mod placement;
pub(crate) mod pools;
pub(crate) mod report;
pub(crate) mod runtime;
pub(crate) mod signal;
pub(crate) mod table;
