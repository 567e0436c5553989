//! [`Gate`]: who may use a submission queue, until the requests in it are taken back.
//!
//! The kernel takes what is in the queue whenever any thread enters it. A request that it has
//! refused can therefore be taken back only once no thread is inside, and none will be again. One
//! word counts the threads that are inside, and has the error with which the gate was shut:
//!
//! | before | who | after |
//! |---|---|---|
//! | open, n inside | enters | open, n + 1 inside |
//! | open, n inside | shuts it | shut, n inside |
//! | shut, n inside | shuts it again | the same, with the first error |
//! | shut, n inside | wants to enter | n + 1 inside, and at once n again: it touches only the word |
//! | shut, nobody inside | | the queue belongs to the ring's server |
//!
//! Whoever has found the gate shut, or has shut it, wakes the server after it has left. So the
//! server looks once more after the last of them.

use joint_switch::{AtomicUsize, order};

/// The bits that count the threads inside. Those above have the number of the error.
const INSIDE: u32 = 16;

/// See the [module](self).
#[derive(Debug)]
pub struct Gate(AtomicUsize);

/// The right to use the queue, for the time of a few instructions or of one system call.
#[must_use = "the thread leaves when this is dropped"]
#[derive(Debug)]
pub struct Inside<'a>(&'a Gate);

/// The error of a word, or 0.
fn error(word: usize) -> i32 {
    (word >> INSIDE) as i32
}

impl Gate {
    /// Makes an open gate.
    #[allow(clippy::new_without_default, reason = "only models see it")]
    pub fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Enters.
    ///
    /// # Errors
    /// The error with which the gate was shut. The caller wakes the server.
    pub fn enter(&self) -> Result<Inside<'_>, i32> {
        // ORDERING: enter. Relaxed: what is in the queue comes from the ring's own thread, which
        // others know by the edge with which a task moves.
        let before = self.0.fetch_add(1, order!(enter: Relaxed));
        let inside = Inside(self);
        match error(before) {
            0 => Ok(inside),
            error => Err(error),
        }
    }

    /// Shuts it with the number of an error, unless it is shut. The caller wakes the server.
    pub fn shut(&self, with: i32) {
        let bits = (with as usize) << INSIDE;
        // ORDERING: shut_look. Relaxed: a guess, which the exchange checks.
        let mut word = self.0.load(order!(shut_look: Relaxed));
        while error(word) == 0 {
            // ORDERING: shut, shut_failure. Relaxed: it publishes only itself, by the wake-up.
            let shut = self.0.compare_exchange(
                word,
                word | bits,
                order!(shut: Relaxed),
                order!(shut_failure: Relaxed),
            );
            match shut {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Returns whether it is shut, perhaps with threads inside.
    pub fn is_shut(&self) -> bool {
        // ORDERING: is_shut. Relaxed: a hint.
        error(self.0.load(order!(is_shut: Relaxed))) != 0
    }

    /// Returns whether it was shut because the ring's own thread ends, or nobody watches the ring.
    pub fn is_closing(&self) -> bool {
        // ORDERING: is_closing. Relaxed: the wake-up makes the edge.
        error(self.0.load(order!(is_closing: Relaxed))) == libc::ECANCELED
    }

    /// Returns the error if the gate is shut and nobody is inside. From then on the queue belongs
    /// to the caller, who is the ring's server.
    pub fn given_back(&self) -> Option<i32> {
        // ORDERING: given_back. Acquire, with `leave`: what all threads have done inside is done.
        let word = self.0.load(order!(given_back: Acquire));
        let is_empty = word & ((1 << INSIDE) - 1) == 0;
        (is_empty && error(word) != 0).then(|| error(word))
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        // ORDERING: leave. Release, with `given_back`.
        self.0.0.fetch_sub(1, order!(leave: Release));
    }
}
