//! An unbounded channel for many senders and one receiver.

use core::{cell::RefCell, sync::atomic::Ordering, time::Duration};
use std::{
    collections::VecDeque,
    rc::Rc,
    sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError},
};

use super::{atomic::Word, handles::Handles};

/// The word counts the values in the channel, and says whether there are senders and a receiver.
const SENDERS: u64 = 1 << 62;
const RECEIVER: u64 = 1 << 63;

fn values(word: u64) -> u64 {
    word & (SENDERS - 1)
}

fn is_closed(word: u64) -> bool {
    word & SENDERS == 0
}

/// The values are in the order in which the sends changed the word.
struct Channel<T> {
    word: Word,
    senders: Handles,
    values: RefCell<VecDeque<T>>,
}

shows_its_name! { Channel }

/// Creates a channel.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let channel = Rc::new(Channel {
        word: Word::new("channel", RECEIVER | SENDERS),
        senders: Handles::new("senders"),
        values: RefCell::default(),
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

/// The word without a value, if it has one.
fn less(word: u64, _: [u64; 2]) -> Option<u64> {
    (values(word) > 0).then(|| word - 1)
}

/// The same, or the word itself if all senders are gone.
fn less_or_closed(word: u64, operands: [u64; 2]) -> Option<u64> {
    less(word, operands).or_else(|| is_closed(word).then_some(word))
}

impl<T> Receiver<T> {
    /// Takes the value that an operation on the word has accounted for.
    fn pop(&self) -> T {
        let first = self.0.values.borrow_mut().pop_front();
        first.expect("a value that is counted is there")
    }

    /// Waits for a value.
    ///
    /// # Errors
    /// If there is none, and all senders are gone.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        match values(self.0.word.wait("recv", 0, less_or_closed)) {
            0 => Err(RecvError),
            _ => Ok(self.pop()),
        }
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
        let word = self.0.word.update("try_recv", 0, Ordering::Acquire, less);
        match values(word) {
            0 if is_closed(word) => Err(TryRecvError::Disconnected),
            0 => Err(TryRecvError::Empty),
            _ => Ok(self.pop()),
        }
    }
}

impl<T> Drop for Receiver<T> {
    #[track_caller]
    fn drop(&mut self) {
        let close = |word: u64, _| Some((word & !RECEIVER) - values(word));
        self.0.word.update("drop", 0, Ordering::Acquire, close);
        let left = self.0.values.take();
        drop(left);
    }
}
