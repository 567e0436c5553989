//! An unbounded channel for many senders and one receiver.

use core::{
    cell::{Cell, RefCell},
    sync::atomic::Ordering,
    time::Duration,
};
use std::{
    collections::VecDeque,
    rc::Rc,
    sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError},
};

use super::{
    atomic::{NONE, Word},
    handles::Handles,
};
use crate::graph::{Found, Op};

/// The word counts the values that were sent, and says whether there are senders and a receiver.
const SENDERS: u64 = 1 << 62;
const RECEIVER: u64 = 1 << 63;

fn values(word: u64) -> u64 {
    word & (SENDERS - 1)
}

fn is_closed(word: u64) -> bool {
    word & SENDERS == 0
}

/// The values are in the order in which the sends changed the word. A receiver changes nothing:
/// that it takes a value before or after the next one is sent makes no difference.
struct Channel<T> {
    word: Word,
    senders: Handles,
    values: RefCell<VecDeque<T>>,
    received: Cell<u64>,
}

joint_facade::shows_its_name! { Channel<T> }

/// Creates a channel.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let channel = Rc::new(Channel {
        word: Word::new("channel", RECEIVER | SENDERS),
        senders: Handles::new("senders"),
        values: RefCell::default(),
        received: Cell::new(0),
    });
    (Sender(channel.clone()), Receiver(channel))
}

/// The half that sends.
#[derive(Debug)]
pub struct Sender<T>(Rc<Channel<T>>);

/// The half that receives.
#[derive(Debug)]
pub struct Receiver<T>(Rc<Channel<T>>);

// SAFETY: all threads of a model are coroutines of one thread of the system.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Sender<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Receiver<T> {}

impl<T> Sender<T> {
    /// Sends a value.
    ///
    /// # Errors
    /// If the receiver is gone.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let one = |word: u64, _| (word & RECEIVER != 0).then_some(word + 1);
        let word = self.0.word.update("send", 0, Ordering::Release, one);
        if word & RECEIVER == 0 {
            return Err(SendError(value));
        }
        self.0.values.borrow_mut().push_back(value);
        Ok(())
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.0.senders.add("clone");
        Self(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    #[track_caller]
    fn drop(&mut self) {
        if self.0.senders.drop("drop") {
            let less = SENDERS.wrapping_neg();
            self.0.word.add("close", less, Ordering::Release);
        }
    }
}

/// What a receiver finds in the word, after so many values.
fn found(word: u64, after: u64) -> Option<Found> {
    match values(word).checked_sub(after)? {
        0 if is_closed(word) => Some(Found::End),
        0 => Some(Found::Nothing),
        // The close comes after all values.
        1 if !is_closed(word) => Some(Found::Next),
        _ => None,
    }
}

impl<T> Receiver<T> {
    /// Takes the next value. Otherwise, the error says whether there will be one.
    #[track_caller]
    fn take(&self, name: &'static str, awaits: bool) -> Result<T, TryRecvError> {
        let Channel {
            word,
            values: left,
            received,
            ..
        } = &*self.0;
        let after = received.get();
        let op = Op::Receive {
            found,
            after,
            awaits,
        };
        let word = word.access(name, op, Ordering::Acquire, NONE);
        if values(word) == after {
            return Err(match is_closed(word) {
                true => TryRecvError::Disconnected,
                false => TryRecvError::Empty,
            });
        }
        received.set(after + 1);
        let first = left.borrow_mut().pop_front();
        Ok(first.expect("a value that is counted is there"))
    }

    /// Waits for a value.
    ///
    /// # Errors
    /// If there is none, and all senders are gone.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        self.take("recv", true).map_err(|_| RecvError)
    }

    /// Waits for a value, or gives up. Both are tried at each point, so the duration has no effect.
    ///
    /// # Errors
    /// If it gave up, or there is none and all senders are gone.
    #[track_caller]
    pub fn recv_timeout(&self, _: Duration) -> Result<T, RecvTimeoutError> {
        crate::thread::yield_now();
        self.try_recv().map_err(|error| match error {
            TryRecvError::Empty => RecvTimeoutError::Timeout,
            TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        })
    }

    /// Takes a value if there is one.
    ///
    /// # Errors
    /// If there is none.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.take("try_recv", false)
    }
}

impl<T> Drop for Receiver<T> {
    #[track_caller]
    fn drop(&mut self) {
        let close = |word: u64, _| Some(word & !RECEIVER);
        self.0.word.update("drop", 0, Ordering::Acquire, close);
        let left = self.0.values.take();
        drop(left);
    }
}
