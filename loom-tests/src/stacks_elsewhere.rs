//! The twin of `stacks.rs` for other systems, where nothing is kept.

/// Does nothing.
pub(crate) struct Kept(());

impl Kept {
    pub(crate) fn new() -> Self {
        Self(())
    }
}
