//! [`Block`]: what an operation and the kernel share, with the two sides of its word.
//!
//! Everything that the kernel may touch for an operation lies in its block: the buffer, the owner
//! of the descriptor, a path, an address. The word decides who frees it. The kernel's answer makes
//! the completer's exchange, and a future that is dropped makes the waiter's last one:
//!
//! | the kernel's answer finds | what the thread that took the answer does |
//! |---|---|
//! | nobody waiting | touches nothing else |
//! | a waker | wakes it |
//! | the waiter detached | takes the result, as the waiter would have, and drops it |
//!
//! So the block is freed after the kernel has given its last answer, whatever becomes of the
//! future. There is one answer for each block, because no operation here has several.
//!
//! Rules of the fields:
//! 1. Before the start, everything belongs to the waiter.
//! 2. From the start to the answer, `data` belongs to the kernel, which got pointers into it. Both
//!    sides use only the word.
//! 3. `answer` is written by the completer before its exchange.
//! 4. From the end of the word on, everything belongs to the side that the word gives it to.

use core::{
    mem::ManuallyDrop,
    ptr::NonNull,
    task::{Context, Poll},
};
use std::io;

use joint::{
    Completion,
    completion::{Completed, Detached, Registration},
};
use joint_switch::{Retire, UnsafeCell, heap};

/// What an operation keeps for the kernel, and what it makes of the answer.
///
/// # Safety
/// The entry contains only pointers that stay valid until the value is moved, used or dropped.
pub(crate) unsafe trait Data: Send + 'static {
    /// The request to the kernel.
    type Entry;
    type Output;

    /// Returns the request. Called once, in the place where the value stays until the answer.
    fn entry(&mut self) -> Self::Entry;

    /// Returns the result. If nobody waits for it, it is dropped, and with it a descriptor that the
    /// kernel has opened.
    fn output(self, answer: io::Result<u32>) -> Self::Output;
}

/// The part of a block that does not depend on the operation.
pub(crate) struct Head {
    word: Completion,
    answer: UnsafeCell<i32>,
    /// Takes and drops the result of a block whose waiter has detached.
    discard: unsafe fn(NonNull<Head>),
}

#[repr(C)]
struct Block<D> {
    head: Head,
    data: UnsafeCell<ManuallyDrop<D>>,
}

/// The waiter's side of a block.
pub(crate) struct Waiting<D> {
    block: NonNull<Block<D>>,
    registration: Registration,
}

// SAFETY: a waiter makes exchanges on the word, and takes the data, which can be sent.
unsafe impl<D: Send> Send for Waiting<D> {}
// SAFETY: by reference it gives away only the address.
unsafe impl<D: Send> Sync for Waiting<D> {}

/// A block that belongs to the caller alone, after the kernel's answer.
#[must_use = "the block is leaked otherwise"]
pub(crate) struct Answered<D>(NonNull<Block<D>>);

// SAFETY: it owns the data, which can be sent.
unsafe impl<D: Send> Send for Answered<D> {}
// SAFETY: by reference it gives away only the answer.
unsafe impl<D: Send> Sync for Answered<D> {}

impl<D: Data> Waiting<D> {
    /// Makes a block, and the request for it.
    pub(crate) fn new(data: D) -> (Self, D::Entry) {
        let block = heap::allocate::<Block<D>>();
        let head = Head {
            word: Completion::new(),
            answer: UnsafeCell::new(0),
            discard: discard::<D>,
        };
        let data = UnsafeCell::new(ManuallyDrop::new(data));
        // SAFETY: it is allocated for a block.
        unsafe { block.write(Block { head, data }) };
        // SAFETY: it has just been written.
        let data = unsafe { &(*block.as_ptr()).data };
        // SAFETY: by rule 1 it belongs to this thread.
        let entry = data.with_mut(|data| unsafe { &mut *data }.entry());
        let registration = Registration::new();
        let waiting = Self {
            block,
            registration,
        };
        (waiting, entry)
    }

    /// Returns the address with which the kernel answers.
    pub(crate) fn head(&self) -> NonNull<Head> {
        self.block.cast()
    }

    fn word(&self) -> *const Completion {
        // SAFETY: this only computes an address in the block, which is alive up to the word's end.
        unsafe { &raw const (*self.block.as_ptr()).head.word }
    }

    /// Waits for the answer.
    ///
    /// # Safety
    /// The block was started, and this has not returned `Ready` before.
    pub(crate) unsafe fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Answered<D>> {
        let word = self.word();
        // SAFETY: alive until the word has ended, which the caller has not been told yet. The
        // waiter has not detached, because that consumes it.
        let poll = unsafe { Completion::raw_poll(word, cx.waker(), &mut self.registration) };
        poll.map(|_| Answered(self.block))
    }

    /// Leaves the block to the kernel. Returns it if there was an answer already.
    ///
    /// # Safety
    /// The block was started, and `poll` has not returned `Ready`.
    pub(crate) unsafe fn leave(self) -> Option<Answered<D>> {
        // SAFETY: alive until the word has ended, and this is the waiter's last act.
        match unsafe { Completion::raw_detach(self.word()) } {
            Detached::Pending(waker) => {
                drop(waker);
                None
            }
            Detached::Finished(_) => Some(Answered(self.block)),
        }
    }
}

impl<D: Data> Answered<D> {
    /// The kernel's answer: a number of bytes, a descriptor, or an error as a negative number.
    pub(crate) fn answer(&self) -> i32 {
        // SAFETY: by rule 4 it belongs to this thread alone.
        let answer = unsafe { &(*self.0.as_ptr()).head.answer };
        // SAFETY: rule 4.
        answer.with(|answer| unsafe { *answer })
    }

    /// Frees the block, and returns the result.
    pub(crate) fn output(self) -> D::Output {
        let (block, answer) = (self.0, self.answer());
        // SAFETY: by rule 4 it belongs to this thread alone.
        let Block { head, data } = unsafe { &mut *block.as_ptr() };
        // SAFETY: it is taken once, because the block is freed below.
        let taken = data.with_mut(|data| unsafe { data.read() });
        head.word.retire();
        head.answer.retire();
        data.retire();
        // SAFETY: it was written by `new`, and has not been dropped. The data is not dropped again.
        unsafe { block.drop_in_place() };
        // SAFETY: it was allocated by `new` for the same type, and nobody uses it any more.
        unsafe { heap::release(block) };
        let taken = ManuallyDrop::into_inner(taken);
        taken.output(u32::try_from(answer).map_err(|_| io::Error::from_raw_os_error(-answer)))
    }
}

/// Completes a block with the kernel's answer.
///
/// This calls code of strangers: a waker, or the drop of a buffer. It may panic, after which
/// nothing is left to do for the block.
///
/// # Safety
/// The block was started, and this is the only call for it.
pub(crate) unsafe fn answer(head: NonNull<Head>, answer: i32) {
    // SAFETY: the block is alive until this thread's exchange. The reference is to one field.
    let place = unsafe { &(*head.as_ptr()).answer };
    // SAFETY: rule 3.
    place.with_mut(|place| unsafe { *place = answer });
    // SAFETY: alive until the exchange.
    let discard = unsafe { (*head.as_ptr()).discard };
    // SAFETY: this only computes an address.
    let word = unsafe { &raw const (*head.as_ptr()).word };
    // SAFETY: alive up to the exchange, and the caller promises that this is the only answer.
    match unsafe { Completion::raw_complete(word) } {
        Completed::Unobserved => {}
        Completed::Wake(waker) => waker.wake(),
        // SAFETY: the exchange has given the block to this thread.
        Completed::Detached => unsafe { discard(head) },
    }
}

/// # Safety
/// `head` is that of a `Block<D>` that belongs to the caller, after the kernel's answer.
unsafe fn discard<D: Data>(head: NonNull<Head>) {
    drop(Answered::<D>(head.cast()).output());
}
