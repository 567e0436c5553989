//! [`Ring`]: one ring for each thread, and who may use which part of it.
//!
//! 1. Only the ring's own thread fills the submission queue.
//! 2. Only the ring's [server] takes answers from the completion queue. It is a task, so it runs on
//!    one thread at a time, and its schedule function runs it on the thread that wakes it: the one
//!    that has just entered the kernel, or a worker to which the executor's reactor reports that
//!    the ring has answers.
//! 3. Any thread may make the kernel take what is in the submission queue, or ask it to cancel a
//!    request.
//!
//! The first and the third are done inside the queue's [gate](crate::gate), because requests that
//! the kernel refuses are taken back by the server. The thread's next operation makes a new ring.
//!
//! # Several requests in one system call
//! If many requests are under way, a new one stays in the queue, and its operation wakes its own
//! task. When it is polled again, the other tasks of the thread have had their turn, and one call
//! takes the requests of all of them. If few are under way, because the kernel answers at once,
//! this is tried with one of several requests, and kept up while more than one is taken by a call.
//! Otherwise the thread enters the kernel at once. No
//! operation depends on another one to be polled: the first of them that is polled again or dropped
//! enters the kernel, on whichever thread.
//!
//! No thread waits for another one, so there is no lock. A task that has moved to another thread
//! does not need its ring: it waits for the word in its block.

use core::{
    cell::{Cell, RefCell},
    fmt,
    marker::PhantomData,
    ptr::NonNull,
    task::Waker,
};
use std::{io, mem, process, rc::Rc, sync::Arc, thread};

use io_uring::{squeue::Entry, types::CancelBuilder};

use crate::{
    block::{self, Data, Head},
    gate::Inside,
    operation::{Kernel, Operation},
    queues::{ANSWERS, Queues},
    server,
};

/// The number of requests under way from which on a request waits for others to be submitted with.
const MANY: usize = 8;
/// After a request that was queued in vain, so many are submitted at once.
const ALONE: usize = 16;
/// How often a thread asks again where the kernel says that it cannot take requests now.
const TRIES: usize = 1_000;

/// The ring of a thread.
///
/// Each thread that starts an operation gets a ring, which it keeps until the thread ends, that
/// executor ends, or the kernel refuses a request. The ring is made by the first operation, or by
/// [`Ring::new`]. Its answers are taken by the executor that the thread is in at that time, as for
/// a [descriptor](joint_executor::io).
///
/// # Example
/// ```
/// use joint_ring::Ring;
///
/// # fn main() {
/// match Ring::new() {
///     Ok(ring) => assert_eq!(ring.started(), 0),
///     Err(error) => println!("files are read by `spawn_blocking`: {error}"),
/// }
/// # }
/// ```
pub struct Ring(Arc<Link>);

impl Ring {
    /// Returns the ring of this thread, and makes it if there is none.
    ///
    /// Call it where a program starts, to learn whether the system has io_uring. A new ring is
    /// tried with a request that does nothing.
    ///
    /// # Errors
    /// * [`Unsupported`](io::ErrorKind::Unsupported) if the kernel has no io_uring, or one older
    ///   than that of Linux 6.0.
    /// * [`PermissionDenied`](io::ErrorKind::PermissionDenied) if it is forbidden by the sysctl
    ///   `kernel.io_uring_disabled`, or by a filter of system calls, as in most containers.
    /// * The system's other errors, for example if no descriptor is free; and an error if the
    ///   thread is ending.
    ///
    /// # Panics
    /// Panics if the global executor is needed and cannot be started.
    pub fn new() -> io::Result<Self> {
        own().map(|own| Self(own.link.clone()))
    }

    /// Returns how many operations have been started on this ring.
    pub fn started(&self) -> usize {
        self.0.queues.started()
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("started", &self.started())
            .finish_non_exhaustive()
    }
}

/// A ring and the waker of its server, for all threads.
pub(crate) struct Link {
    queues: Arc<Queues>,
    server: Waker,
}

impl Link {
    /// Makes the kernel take the requests in the queue, and takes the answers that there are then.
    /// Returns how many requests it has taken. If it refuses, the gate is shut, and the server
    /// answers the requests with the error.
    fn enter<'a>(&'a self, mut inside: Result<Inside<'a>, i32>, is_own: bool) -> Option<usize> {
        for tries_left in (0..TRIES).rev() {
            let Ok(entered) = inside else {
                break;
            };
            if is_own {
                self.queues.set_entering(true);
                if self.queues.is_watched() {
                    // The server then watches for no answers, because this thread takes them.
                    self.server.wake_by_ref();
                }
            }
            let taken = self.queues.submit(&entered, is_own);
            if let Err(error) = &taken {
                let error = error.raw_os_error().unwrap_or(libc::EIO);
                // It was interrupted, or lacks memory, perhaps for answers that nobody had taken.
                let for_now = [libc::EINTR, libc::EAGAIN, libc::EBUSY, libc::ENOMEM];
                if tries_left == 0 || !for_now.contains(&error) {
                    self.queues.gate.shut(error);
                }
            }
            drop(entered);
            if is_own {
                self.queues.set_entering(false);
            }
            self.server.wake_by_ref();
            if let Ok(taken) = taken {
                return Some(taken);
            }
            thread::yield_now();
            inside = self.queues.gate.enter();
        }
        self.server.wake_by_ref();
        None
    }
}

/// The right to start operations on a ring, which its own thread has.
pub(crate) struct Own {
    link: Arc<Link>,
    /// How many of the ring's requests the kernel is known to have taken.
    taken: Cell<usize>,
    /// How many requests are submitted at once before one is queued, to see whether others follow.
    alone: Cell<usize>,
    /// The child of a fork inherits the ring, which is still the parent's.
    process: u32,
    /// It stays on its thread.
    thread: PhantomData<*mut ()>,
}

/// The thread's own ring. Its drop is the end of the thread.
struct Place(RefCell<Option<Rc<Own>>>);

thread_local! {
    static PLACE: Place = const { Place(RefCell::new(None)) };
}

fn own() -> io::Result<Rc<Own>> {
    let place = PLACE.try_with(|Place(place)| {
        let own = place.borrow().clone();
        match own.filter(|own| !own.link.queues.gate.is_shut()) {
            Some(own) => Ok(own),
            None => {
                let made = Rc::new(Own::new()?);
                drop(place.replace(Some(made.clone())));
                Ok(made)
            }
        }
    });
    place.map_err(|_| io::Error::other("the thread is ending, and starts no operation any more"))?
}

impl Drop for Place {
    fn drop(&mut self) {
        match self.0.take() {
            Some(own) if own.process == process::id() => {
                own.link.queues.gate.shut(libc::ECANCELED);
                own.link.server.wake_by_ref();
            }
            inherited => mem::forget(inherited),
        }
    }
}

impl Own {
    fn new() -> io::Result<Self> {
        let queues = Arc::new(Queues::new(ANSWERS).map_err(refused)?);
        let server = server::start(queues.clone())?;
        Ok(Self {
            link: Arc::new(Link { queues, server }),
            taken: Cell::new(0),
            alone: Cell::new(ALONE),
            process: process::id(),
            thread: PhantomData,
        })
    }

    /// Returns whether a request is to wait for others.
    fn is_queued(&self) -> bool {
        match self.alone.get() {
            0 => true,
            left => {
                self.alone.set(left - 1);
                self.link.queues.under_way() >= MANY
            }
        }
    }

    /// Submits a request that was queued, unless that was done with another one.
    fn submit_queued(&self, turn: usize) {
        if is_before(self.taken.get(), turn) {
            let started = self.link.queues.started();
            let has_others = started.wrapping_sub(self.taken.get()) > 1;
            self.alone.set(if has_others { 0 } else { ALONE });
            self.submit_to(turn);
        }
    }

    /// Makes the kernel take the first `turn` requests of this ring, and with them all others.
    fn submit_to(&self, turn: usize) {
        while is_before(self.taken.get(), turn) {
            self.submit(self.link.queues.gate.enter());
        }
    }

    fn submit(&self, inside: Result<Inside<'_>, i32>) {
        let (before, started) = (self.taken.get(), self.link.queues.started());
        // What it has refused is nothing that it could still take.
        let taken = self.link.enter(inside, true).unwrap_or(0);
        let now = before.wrapping_add(taken);
        // If it took nothing, another thread has made it take everything.
        let has_rest = taken != 0 && is_before(now, started);
        self.taken.set(if has_rest { now } else { started });
    }
}

/// Compares two counts that may have wrapped around.
fn is_before(one: usize, other: usize) -> bool {
    (one.wrapping_sub(other) as isize) < 0
}

// SAFETY: the kernel answers each request once, because there is none with several answers. The
// server takes each answer once, answers what the kernel has not taken and never will, and ends
// only when all requests have been answered.
unsafe impl Kernel for Arc<Link> {
    type Own = Rc<Own>;
    type Entry = Entry;

    fn own() -> io::Result<Rc<Own>> {
        own()
    }

    unsafe fn start(own: &Rc<Own>, head: NonNull<Head>, entry: Entry) -> Option<usize> {
        let entry = entry.user_data(address(head));
        let queues = &own.link.queues;
        loop {
            let inside = match queues.gate.enter() {
                Ok(inside) => inside,
                Err(error) => {
                    own.link.server.wake_by_ref();
                    // SAFETY: nobody else answers, because the kernel does not get this request.
                    unsafe { block::answer(head, -error) };
                    return None;
                }
            };
            // SAFETY: this is the ring's own thread, which `own` does not leave. The entry is that
            // of the block, whose data stays in its place until the answer.
            let is_pushed = unsafe { queues.push(&inside, &entry) };
            let turn = queues.started();
            if is_pushed && own.is_queued() {
                return Some(turn);
            }
            own.submit(Ok(inside));
            own.submit_to(turn);
            if is_pushed {
                return None;
            }
        }
    }

    fn shared(own: Rc<Own>) -> Self {
        own.link.clone()
    }

    fn submit(&self, turn: usize) {
        let own = PLACE.try_with(|Place(own)| own.borrow().clone());
        match own.ok().flatten() {
            Some(own) if Arc::ptr_eq(&own.link, self) => own.submit_queued(turn),
            // The task has moved.
            _ => _ = self.enter(self.queues.gate.enter(), false),
        }
    }

    unsafe fn cancel(&self, head: NonNull<Head>) {
        // An error says that there is nothing to cancel, or that it cannot be cancelled. Both end
        // with an answer.
        let _ = (self.queues).cancel(CancelBuilder::user_data(address(head)));
        self.server.wake_by_ref();
    }
}

/// An operation on the ring of the thread that polls it first.
pub(crate) type Request<D> = Operation<D, Arc<Link>>;

/// Returns the future of an operation, which starts it at its first poll.
pub(crate) fn started<D: Data<Entry = Entry>>(data: D) -> Request<D> {
    Operation::new(data)
}

/// The address as the kernel keeps it.
fn address(head: NonNull<Head>) -> u64 {
    head.as_ptr().expose_provenance() as u64
}

/// Explains why there is no ring, if the cause is known.
#[cold]
fn refused(error: io::Error) -> io::Error {
    let (kind, why) = match error.raw_os_error() {
        Some(libc::ENOSYS) => (
            io::ErrorKind::Unsupported,
            "this system has no io_uring, or a filter of system calls hides it",
        ),
        Some(libc::EINVAL) => (
            io::ErrorKind::Unsupported,
            "the io_uring of this system is too old; Linux 6.0 or later is needed",
        ),
        Some(libc::EPERM | libc::EACCES) => (
            io::ErrorKind::PermissionDenied,
            "io_uring is forbidden here, by the sysctl kernel.io_uring_disabled or by a filter of \
             system calls, as in most containers",
        ),
        Some(libc::ENOMEM) => (io::ErrorKind::OutOfMemory, "there is no memory for a ring"),
        _ => return error,
    };
    io::Error::new(kind, format!("{why} ({error})"))
}

#[cfg(test)]
mod tests;
