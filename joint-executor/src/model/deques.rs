//! One worker's queues, for models with tasks of their own.

use alloc::{boxed::Box, vec::Vec};
use core::{iter, ptr::NonNull};

use crate::{deques, fences::Fences, ring::Word};

impl<T> Word for Box<T> {
    fn into_word(self) -> NonNull<()> {
        NonNull::from(Self::leak(self)).cast()
    }

    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: the word was a box, and is turned back once.
        unsafe { Self::from_raw(word.cast().as_ptr()) }
    }
}

/// The owner's side.
pub struct Deques<T>(deques::Deques<Box<T>>);

/// A thief's side.
pub struct Stealer<T>(deques::Stealer<Box<T>>);

impl<T> Deques<T> {
    /// There is room for two of each kind at first.
    pub fn new() -> Self {
        Self(deques::Deques::new(Fences::among(2)))
    }

    pub fn stealer(&self) -> Stealer<T> {
        Stealer(self.0.stealer())
    }

    pub fn push_spawned(&self, task: T) {
        let pushed = self.0.push_spawned(Box::new(task));
        pushed.unwrap_or_else(|_| unreachable!("there is room"));
    }

    pub fn push_woken(&self, task: T) {
        let pushed = self.0.push_woken(Box::new(task), usize::MAX);
        pushed.unwrap_or_else(|_| unreachable!("there is no limit"));
    }

    pub fn push_high(&self, task: T) {
        self.0.push_high(Box::new(task));
    }

    pub fn pop_newest_spawned(&self) -> Option<T> {
        self.0.pop_newest_spawned().map(|task| *task)
    }

    pub fn pop_oldest_spawned(&self) -> Option<T> {
        self.0.pop_oldest_spawned().map(|task| *task)
    }

    pub fn pop_woken(&self) -> Option<T> {
        self.0.pop_woken().map(|task| *task)
    }

    pub fn pop_high(&self) -> Option<T> {
        self.0.pop_high().map(|task| *task)
    }
}

impl<T> Stealer<T> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn meet(&self) {
        self.0.meet();
    }

    /// Takes up to half of each kind.
    pub fn steal(&self, most: usize) -> Vec<T> {
        let own = deques::Deques::new(Fences::among(1));
        own.steal_from(&self.0, most);
        let next = || own.pop_high().or_else(|| own.pop_woken());
        let all = iter::from_fn(|| next().or_else(|| own.pop_newest_spawned()));
        all.map(|task| *task).collect()
    }
}
