//! A channel for one value, in one block: the least that a handover between two threads takes.

use std::{
    future::Future,
    mem::{self, MaybeUninit},
    pin::Pin,
    ptr::NonNull,
    sync::atomic::{
        AtomicU8,
        Ordering::{AcqRel, Acquire},
    },
    task::{Context, Poll, Waker},
};

use super::blocks;

const EMPTY: u8 = 0;
const WAITING: u8 = 1;
const SENT: u8 = 2;
/// The sender was dropped.
const CLOSED: u8 = 3;
/// The receiver was dropped.
const GONE: u8 = 4;

struct Block<T> {
    state: AtomicU8,
    waiter: MaybeUninit<Waker>,
    value: MaybeUninit<T>,
}

impl<T> Block<T> {
    const SIZE: usize = {
        assert!(align_of::<Self>() <= 16, "a block is aligned to 16 bytes");
        size_of::<Self>()
    };

    /// Frees the block.
    ///
    /// # Safety
    ///
    /// It is from `channel`, and nobody uses it any more.
    unsafe fn free(block: NonNull<Self>) {
        // SAFETY: the caller's promise. `channel` has taken it with this size.
        unsafe { blocks::put(block.cast(), Self::SIZE) };
    }

    /// Takes the value, and frees the block.
    ///
    /// # Safety
    ///
    /// There is a value, and the other side is done.
    unsafe fn take(block: NonNull<Self>) -> T {
        // SAFETY: the block is the caller's alone.
        let place = unsafe { &(*block.as_ptr()).value };
        // SAFETY: there is a value, and it is read once.
        let value = unsafe { place.assume_init_read() };
        // SAFETY: the block is the caller's alone.
        unsafe { Self::free(block) };
        value
    }
}

fn state<T>(block: NonNull<Block<T>>) -> &'static AtomicU8 {
    // SAFETY: whoever calls this uses it while the block exists.
    unsafe { &(*block.as_ptr()).state }
}

/// Sends the value.
pub struct Sender<T>(NonNull<Block<T>>);

/// A future of the value, or of an error if the sender is dropped. It must not be polled or dropped
/// between its first poll, if it has to wait, and its wake-up.
pub struct Receiver<T>(
    /// `None`: it was ready.
    Option<NonNull<Block<T>>>,
);

// SAFETY: the value is sent, and nothing else is reached from two threads but by atomics.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Receiver<T> {}

/// Makes a channel: one block.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let block = blocks::take(Block::<T>::SIZE).cast::<Block<T>>();
    let empty = Block {
        state: AtomicU8::new(EMPTY),
        waiter: MaybeUninit::uninit(),
        value: MaybeUninit::uninit(),
    };
    // SAFETY: the block is large enough, aligned, and nobody else's.
    unsafe { block.write(empty) };
    (Sender(block), Receiver(Some(block)))
}

impl<T> Sender<T> {
    /// Sends the value, by one exchange.
    ///
    /// # Errors
    ///
    /// Returns the value if the receiver was dropped.
    #[inline]
    pub fn send(self, value: T) -> Result<(), T> {
        let block = self.0;
        mem::forget(self);
        // SAFETY: the place belongs to the sender until the exchange.
        let place = unsafe { &mut (*block.as_ptr()).value };
        place.write(value);
        match Self::end(block, SENT) {
            // SAFETY: the value was written above, and the receiver is done.
            GONE => Err(unsafe { Block::take(block) }),
            _ => Ok(()),
        }
    }

    /// Returns the state before.
    fn end(block: NonNull<Block<T>>, end: u8) -> u8 {
        let before = state(block).swap(end, AcqRel);
        if before == WAITING {
            // SAFETY: the receiver does nothing until it is woken.
            let place = unsafe { &(*block.as_ptr()).waiter };
            // SAFETY: it was written before the receiver said that it waits.
            unsafe { place.assume_init_read() }.wake();
        }
        before
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if Self::end(self.0, CLOSED) == GONE {
            // SAFETY: the receiver is done.
            unsafe { Block::free(self.0) };
        }
    }
}

impl<T> Receiver<T> {
    /// Returns the value, or `None` if the sender was dropped.
    fn take(&mut self, state: u8) -> Option<T> {
        let block = self.0.take()?;
        if state == SENT {
            // SAFETY: the sender has sent a value, and is done.
            return Some(unsafe { Block::take(block) });
        }
        // SAFETY: the sender is done.
        unsafe { Block::free(block) };
        None
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, ()>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T, ()>> {
        let this = self.get_mut();
        let block = this.0.expect("it is not polled after its end");
        let mut now = state(block).load(Acquire);
        if now == EMPTY {
            // SAFETY: the sender reads the place only after the exchange.
            let place = unsafe { &mut (*block.as_ptr()).waiter };
            place.write(cx.waker().clone());
            now = state(block).swap(WAITING, AcqRel);
            if now == EMPTY {
                return Poll::Pending;
            }
            // SAFETY: it was written above, and the sender has not seen it.
            unsafe { place.assume_init_drop() };
        }
        Poll::Ready(this.take(now).ok_or(()))
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let Some(block) = self.0 else { return };
        let mut now = state(block).load(Acquire);
        if now == EMPTY {
            now = state(block).swap(GONE, AcqRel);
        }
        if now != EMPTY {
            drop(self.take(now));
        }
    }
}
