//! The word of lessons 3 and 4, and a result that it guards.

use std::{ptr, task::Waker};

use lessons::{cell::UnsafeCell, name_value, sync::atomic::AtomicPtr};

use crate::join::Join;

pub(crate) const PENDING: *mut Waker = ptr::null_mut();
pub(crate) const DONE: *mut Waker = ptr::without_provenance_mut(1);

pub(crate) struct Word(pub(crate) AtomicPtr<Waker>);

pub(crate) fn take(word: *mut Waker) -> Option<Box<Waker>> {
    // SAFETY: a word that is not a sentinel came out of a box, and its taker owns it.
    (word != PENDING).then(|| unsafe { Box::from_raw(word) })
}

/// The completer's side. The caller wakes the returned waker.
pub(crate) type Complete = fn(&Word) -> Option<Box<Waker>>;

/// The waiter's side. Returns whether the word is completed.
pub(crate) type Register = fn(&Word, Box<Waker>) -> bool;

/// A result, and how each side uses the word that guards it.
pub(crate) struct Guarded {
    word: Word,
    result: UnsafeCell<u32>,
    sides: (Complete, Register),
}

// SAFETY: the word says who may use the result. The models show whether it does.
unsafe impl Send for Guarded {}
// SAFETY: as for `Send`.
unsafe impl Sync for Guarded {}

impl Guarded {
    pub(crate) fn new(complete: Complete, register: Register) -> Self {
        Self {
            word: Word(AtomicPtr::new(PENDING).named("word")),
            result: UnsafeCell::new(0).named("result"),
            sides: (complete, register),
        }
    }
}

impl Join for Guarded {
    fn complete(&self, result: u32) {
        // SAFETY: the word does not say DONE yet.
        self.result.with_mut(|place| unsafe { *place = result });
        if let Some(waker) = (self.sides.0)(&self.word) {
            waker.wake();
        }
    }

    fn poll(&self, waker: &Waker) -> Option<u32> {
        let waker = Box::new(waker.clone());
        // An address may be used again, so that pictures would differ.
        name_value(ptr::from_ref(&*waker).addr(), "the waker");
        let done = (self.sides.1)(&self.word, waker);
        // SAFETY: the word says DONE.
        done.then(|| self.result.with(|place| unsafe { *place }))
    }
}
