//! [`std::sync::mpsc`], by a lock and two condition variables.

use core::time::Duration;
use real::{
    collections::VecDeque,
    sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError},
};

use joint_check::__facade::shows_its_name;

use crate::{
    arc::Arc,
    lock::{Condvar, Mutex, MutexGuard},
};

struct State<T> {
    values: VecDeque<T>,
    /// How many values the receiver has taken.
    taken: usize,
    /// How many values were sent.
    sent: usize,
    senders: usize,
    has_receiver: bool,
}

struct Channel<T> {
    state: Mutex<State<T>>,
    /// The most values that wait, if there is a bound.
    bound: Option<usize>,
    has_value: Condvar,
    has_room: Condvar,
}

impl<T> Channel<T> {
    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(|held| held.into_inner())
    }

    /// Sends a value, or returns it if the channel is closed or, unless it `waits`, full.
    #[track_caller]
    fn send(&self, value: T, waits: bool) -> Result<(), TrySendError<T>> {
        let mut state = self.lock();
        // A channel for no value has room while it is waited for.
        let bound = self.bound.map(|bound| bound.max(1));
        while state.has_receiver && bound.is_some_and(|bound| state.values.len() >= bound) {
            if !waits {
                return Err(TrySendError::Full(value));
            }
            state = wait(&self.has_room, state);
        }
        if !state.has_receiver {
            return Err(TrySendError::Disconnected(value));
        }
        state.values.push_back(value);
        state.sent += 1;
        let number = state.sent;
        self.has_value.notify_one();
        while self.bound == Some(0) && waits && state.taken < number && state.has_receiver {
            state = wait(&self.has_room, state);
        }
        Ok(())
    }
}

#[track_caller]
fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(|held| held.into_inner())
}

#[track_caller]
fn make<T>(bound: Option<usize>) -> (Arc<Channel<T>>, Receiver<T>) {
    let state = State {
        values: VecDeque::new(),
        taken: 0,
        sent: 0,
        senders: 1,
        has_receiver: true,
    };
    let channel = Arc::new(Channel {
        state: Mutex::new(state),
        bound,
        has_value: Condvar::new(),
        has_room: Condvar::new(),
    });
    (channel.clone(), Receiver(channel))
}

#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (channel, receiver) = make(None);
    (Sender(channel), receiver)
}

#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let (channel, receiver) = make(Some(bound));
    (SyncSender(channel), receiver)
}

macro_rules! senders {
    ($($name:ident)+) => {$(
        pub struct $name<T>(Arc<Channel<T>>);

        impl<T> $name<T> {
            #[track_caller]
            pub fn send(&self, value: T) -> Result<(), SendError<T>> {
                match self.0.send(value, true) {
                    Ok(()) => Ok(()),
                    Err(TrySendError::Full(value) | TrySendError::Disconnected(value)) => {
                        Err(SendError(value))
                    }
                }
            }
        }

        impl<T> Clone for $name<T> {
            #[track_caller]
            fn clone(&self) -> Self {
                self.0.lock().senders += 1;
                Self(self.0.clone())
            }
        }

        impl<T> Drop for $name<T> {
            #[track_caller]
            fn drop(&mut self) {
                let mut state = self.0.lock();
                state.senders -= 1;
                if state.senders == 0 {
                    self.0.has_value.notify_all();
                }
            }
        }

        shows_its_name! { $name<T> }
    )+};
}

senders! { Sender SyncSender }

impl<T> SyncSender<T> {
    /// As in std, but a channel for no value takes one that is not waited for.
    #[track_caller]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        self.0.send(value, false)
    }
}

pub struct Receiver<T>(Arc<Channel<T>>);

impl<T> Receiver<T> {
    #[track_caller]
    fn take(&self, state: &mut State<T>) -> Result<T, TryRecvError> {
        let value = state.values.pop_front();
        if value.is_some() {
            state.taken += 1;
            self.0.has_room.notify_all();
        }
        value.ok_or(match state.senders {
            0 => TryRecvError::Disconnected,
            _ => TryRecvError::Empty,
        })
    }

    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let mut state = self.0.lock();
        loop {
            match self.take(&mut state) {
                Ok(value) => return Ok(value),
                Err(TryRecvError::Disconnected) => return Err(RecvError),
                Err(TryRecvError::Empty) => state = wait(&self.0.has_value, state),
            }
        }
    }

    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.take(&mut self.0.lock())
    }

    /// Waits once, or gives up at once. Both are tried, and the time counts as passed.
    #[track_caller]
    pub fn recv_timeout(&self, time: Duration) -> Result<T, RecvTimeoutError> {
        let mut state = self.0.lock();
        if state.values.is_empty() && state.senders > 0 {
            let waited = self.0.has_value.wait_timeout(state, time);
            state = waited.unwrap_or_else(|held| held.into_inner()).0;
        }
        self.take(&mut state).map_err(|error| match error {
            TryRecvError::Empty => RecvTimeoutError::Timeout,
            TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = T> {
        core::iter::from_fn(|| self.recv().ok())
    }

    pub fn try_iter(&self) -> impl Iterator<Item = T> {
        core::iter::from_fn(|| self.try_recv().ok())
    }
}

impl<T> Drop for Receiver<T> {
    #[track_caller]
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.has_receiver = false;
        let left = core::mem::take(&mut state.values);
        self.0.has_room.notify_all();
        drop(state);
        drop(left);
    }
}

shows_its_name! { Receiver<T> }
