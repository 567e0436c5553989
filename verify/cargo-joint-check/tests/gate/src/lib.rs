//! What the tests of the command turn: a lost wake-up, and imports of all shapes.
#![no_std]

extern crate alloc;
extern crate std;

pub mod shapes;

use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::{self, Thread};

const SHUT: usize = 0;
const WAITED_FOR: usize = 1;
const OPEN: usize = 2;

/// A gate that one thread waits at until another opens it.
pub struct Gate(AtomicUsize);

impl Gate {
    pub const fn new() -> Self {
        Self(AtomicUsize::new(SHUT))
    }

    pub fn wait(&self) {
        if cfg!(feature = "repaired") {
            _ = self.0.compare_exchange(SHUT, WAITED_FOR, SeqCst, SeqCst);
        } else if self.0.load(SeqCst) == SHUT {
            // The bug: the gate may be opened here, and is then shut again.
            self.0.store(WAITED_FOR, SeqCst);
        }
        while self.0.load(SeqCst) != OPEN {
            thread::park();
        }
    }

    pub fn open(&self, waiter: &Thread) {
        if self.0.swap(OPEN, SeqCst) == WAITED_FOR {
            waiter.unpark();
        }
    }
}
