//! Asking the kernel to ring, so that no answer is missed.
//!
//! | the kernel | the server |
//! |---|---|
//! | writes the answer | asks for the bell |
//! | full barrier | full fence |
//! | rings, if it was asked to | looks whether there is an answer |

use joint_switch::{fence, order, recheck};

/// Asks for the bell, and returns whether there is an answer already. Otherwise the bell rings.
pub fn asked(ask: impl FnOnce(), is_answered: impl FnOnce() -> bool) -> bool {
    ask();
    // ORDERING: ask_fence. SeqCst, with the kernel's barrier between an answer and its look.
    fence(order!(ask_fence: SeqCst));
    // RECHECK: ask_again. An answer that came before the bell was asked for.
    recheck!(ask_again: is_answered())
}
