//! A barrier.

use core::sync::atomic::Ordering;

use super::atomic::OwnedWord;

/// The word counts the threads that have arrived, and in its upper half the rounds.
const ROUND: u64 = 1 << 32;

/// A place where threads wait for each other.
#[derive(Debug)]
pub struct Barrier {
    word: OwnedWord,
    threads: u64,
}

/// Says whether a thread is the leader of its round.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Returns whether this thread arrived last.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// Creates a barrier for this many threads.
    #[track_caller]
    pub fn new(threads: usize) -> Self {
        Self {
            word: OwnedWord::new("Barrier", 0),
            threads: threads.max(1) as u64,
        }
    }

    /// Waits until all threads have arrived.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let come = |word: u64, [threads, _]: [u64; 2]| {
            let is_last = word % ROUND + 1 == threads;
            let to_next = if is_last { ROUND - threads } else { 0 };
            Some(word + 1 + to_next)
        };
        let before = self
            .word
            .get()
            .update("come", self.threads, Ordering::AcqRel, come);
        let is_leader = before % ROUND + 1 == self.threads;
        if !is_leader {
            let is_over = |word: u64, [round, _]: [u64; 2]| (word / ROUND != round).then_some(word);
            self.word.get().wait("wait", before / ROUND, is_over);
        }
        BarrierWaitResult(is_leader)
    }
}
