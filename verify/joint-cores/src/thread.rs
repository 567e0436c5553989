//! Threads, which are coroutines here.

use core::{
    cell::{Cell, OnceCell},
    sync::atomic::Ordering::SeqCst,
    time::Duration,
};
use std::{io, sync};

#[doc(no_inline)]
pub use std::thread::{Result, panicking};

pub use crate::{
    kernel::yield_now,
    locals::{AccessError, LocalKey},
};
use crate::{
    kernel::{self, sleep_on, wake},
    machine,
    sync::atomic::AtomicU32,
};

/// The identity of a thread, of all runs.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ThreadId(u64, usize);

#[derive(Debug)]
struct Inner {
    id: ThreadId,
    /// 0 is empty, 1 has a token, 2 is parked.
    token: AtomicU32,
}

/// A handle of a thread. Its count costs nothing.
#[derive(Clone, Debug)]
pub struct Thread(sync::Arc<Inner>);

impl Thread {
    fn new(number: usize) -> Self {
        let id = ThreadId(machine::run_id(), number);
        let token = AtomicU32::new(0);
        Self(sync::Arc::new(Inner { id, token }))
    }

    /// Returns its identity.
    pub fn id(&self) -> ThreadId {
        self.0.id
    }

    /// Makes the thread's current or next `park` return.
    pub fn unpark(&self) {
        if self.0.token.swap(1, SeqCst) == 2 {
            wake(&self.0.token, 1);
        }
    }
}

crate::thread_local! {
    static CURRENT: OnceCell<Thread> = OnceCell::new();
}

/// Returns the handle of the running thread.
pub fn current() -> Thread {
    let new = || Thread::new(machine::thread());
    let kept = CURRENT.try_with(|own| own.get_or_init(new).clone());
    kept.unwrap_or_else(|_| new())
}

fn park_for(limit: Option<Duration>) {
    let thread = current();
    let token = &thread.0.token;
    if token.compare_exchange(0, 2, SeqCst, SeqCst).is_ok() {
        sleep_on(token, 2, limit);
    }
    token.swap(0, SeqCst);
}

/// Waits for `unpark`.
pub fn park() {
    park_for(None);
}

/// Waits for `unpark`, or for a time.
pub fn park_timeout(limit: Duration) {
    park_for(Some(limit));
}

/// Sleeps.
pub fn sleep(time: Duration) {
    sleep_on(&AtomicU32::new(0), 0, Some(time));
}

struct Packet<T> {
    result: Cell<Option<T>>,
    ended: AtomicU32,
}

/// A handle with which to wait for the end of a thread.
pub struct JoinHandle<T> {
    packet: sync::Arc<Packet<T>>,
    thread: Thread,
}

// SAFETY: all threads are coroutines of one thread of the system.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

joint_facade::shows_its_name! { JoinHandle<T> }

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread.
    ///
    /// # Errors
    /// Never: a panic ends the simulation.
    pub fn join(self) -> Result<T> {
        let ended = &self.packet.ended;
        while ended.load(SeqCst) == 0 {
            sleep_on(ended, 0, None);
        }
        let result = self.packet.result.take();
        Ok(result.expect("a thread that has ended has a result"))
    }

    /// Returns the handle of the thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
}

/// Starts a thread.
pub fn spawn<T: 'static>(f: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    let packet = sync::Arc::new(Packet {
        result: Cell::new(None),
        ended: AtomicU32::new(0),
    });
    let thread = Thread::new(kernel::next_thread());
    let (ours, own) = (packet.clone(), thread.clone());
    kernel::start(move || {
        CURRENT.with(|current| _ = current.set(own));
        ours.result.set(Some(f()));
        ours.ended.store(1, SeqCst);
        wake(&ours.ended, usize::MAX);
    });
    JoinHandle { packet, thread }
}

/// Starts threads.
#[derive(Debug, Default)]
pub struct Builder(());

impl Builder {
    /// Creates a builder.
    pub fn new() -> Self {
        Self(())
    }

    /// Names the thread, which has no effect.
    #[must_use]
    pub fn name(self, _: String) -> Self {
        self
    }

    /// Sets the size of the stack, which has no effect.
    #[must_use]
    pub fn stack_size(self, _: usize) -> Self {
        self
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// Never.
    pub fn spawn<T: 'static>(self, f: impl FnOnce() -> T + 'static) -> io::Result<JoinHandle<T>> {
        Ok(spawn(f))
    }
}
