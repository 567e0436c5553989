//! One execution of a concurrent program, on 1 to 64 simulated cores.
//!
//! [`simulate`] runs a closure, and the threads that it starts, as coroutines on one thread of the
//! system. Each core has a clock. The core with the earliest clock runs until its next access to
//! memory that threads share, and the access costs what the state of its cache line says, by its
//! real address. [`costs`] has the numbers.
//!
//! The types have loom's names, as those of `joint-check` do, but the layout of std's, because
//! which values share a line decides. What the model leaves out is in `docs/cores.md`.
//!
//! Memory is sequentially consistent. A process gives the same figures each time, if the program
//! reads no clock but [`now`]. A seed varies the costs by some percent.

mod arc;
pub mod cell;
pub mod costs;
mod heap;
mod kernel;
mod locals;
mod locks;
mod machine;
pub mod sync;
pub mod thread;

pub use costs::{Costs, Waits};
pub use kernel::simulate;
pub use machine::{Counts, counts, now, seed, work};

/// Hints to the processor.
pub mod hint {
    pub use crate::machine::spin_loop;
}
