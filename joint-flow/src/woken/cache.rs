//! The small blocks that a thread keeps, so that a program that makes one combinator after another
//! allocates nothing.

use std::{cell::RefCell, ptr::NonNull};

use super::block::Block;
use joint_switch::{MODELLED, thread_local};

/// How many blocks a thread keeps.
const MOST: usize = 64;

/// A block without references.
struct Kept(NonNull<Block>);

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: there is no reference to a kept block.
        unsafe { Block::free(self.0) };
    }
}

thread_local! {
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// Returns a kept block, if there is one.
pub(super) fn take() -> Option<NonNull<Block>> {
    // After its thread-locals are destroyed, a thread keeps nothing.
    let kept = KEPT
        .try_with(|kept| kept.borrow_mut().pop())
        .ok()
        .flatten()?;
    Some(std::mem::ManuallyDrop::new(kept).0)
}

/// Keeps a block if there is room. Returns whether it does.
///
/// # Safety
/// The block is a small one without references, and the caller gives it up if this returns true.
pub(super) unsafe fn put(block: NonNull<Block>) -> bool {
    KEPT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        // A model keeps none, so that it sees each free.
        let keeps = !MODELLED && kept.len() < MOST;
        if keeps {
            kept.push(Kept(block));
        }
        keeps
    })
    .unwrap_or(false)
}
