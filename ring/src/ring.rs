//! [`Ring`]: one ring for each thread, and who may use which part of it.
//!
//! 1. Only the ring's own thread fills the submission queue. It enters the kernel at once, so the
//!    queue is empty between two operations, and the kernel has taken the request, with a reference
//!    to its file, when the first poll of an operation returns.
//! 2. Only the ring's [server] takes answers from the completion queue. It is a task, so it runs on
//!    one thread at a time, and its schedule function runs it on the thread that wakes it: the one
//!    that has just entered the kernel, or a worker to which the executor's reactor reports that
//!    the ring has answers.
//! 3. Any thread may ask the kernel to cancel a request.
//!
//! No thread waits for another one, so there is no lock. A task that has moved to another thread
//! does not need its ring: it waits for the word in its block.

use core::{cell::OnceCell, fmt, marker::PhantomData, ptr::NonNull, task::Waker};
use std::{io, rc::Rc, sync::Arc, thread};

use io_uring::{squeue::Entry, types::CancelBuilder};

use crate::{
    block::{Data, Head},
    operation::{Kernel, Operation},
    queues::{ANSWERS, Queues},
    server,
};

/// The ring of a thread.
///
/// Each thread that starts an operation gets a ring, which it keeps to its end. The ring is made by
/// the first operation, or by [`Ring::new`]. Its answers are taken by the executor that the thread
/// is in at that time, as for a [descriptor](joint_executor::io).
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
    /// Call it where a program starts, to learn whether the system has io_uring.
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
        own().map(|own| Self(own.0.clone()))
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

/// The right to start operations on a ring, which its own thread has.
pub(crate) struct Own(Arc<Link>, PhantomData<*mut ()>);

/// The thread's own ring. Its drop is the end of the thread.
struct Place(OnceCell<Rc<Own>>);

thread_local! {
    static PLACE: Place = const { Place(OnceCell::new()) };
}

fn own() -> io::Result<Rc<Own>> {
    let place = PLACE.try_with(|Place(own)| match own.get() {
        Some(own) => Ok(own.clone()),
        None => {
            let made = Rc::new(Own::new()?);
            Ok(own.get_or_init(|| made).clone())
        }
    });
    place.map_err(|_| io::Error::other("the thread is ending, and starts no operation any more"))?
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(own) = self.0.get() {
            let Link { queues, server } = &*own.0;
            queues.close();
            server.wake_by_ref();
        }
    }
}

impl Own {
    fn new() -> io::Result<Self> {
        let queues = Arc::new(Queues::new(ANSWERS).map_err(refused)?);
        let server = server::start(queues.clone())?;
        Ok(Self(Arc::new(Link { queues, server }), PhantomData))
    }

    /// Hands a request to the kernel.
    ///
    /// # Safety
    /// What the entry points to stays valid until the answer.
    ///
    /// # Panics
    /// If the kernel refuses to enter the ring that it has made. The request stays in the queue
    /// then, and nothing of it is freed.
    unsafe fn submit(&self, entry: &Entry) {
        let Link { queues, server } = &*self.0;
        // SAFETY: rule 1: this value never leaves its thread. The rest is passed on.
        unsafe { queues.push(entry) };
        while let Err(error) = queues.submit() {
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The kernel lacks memory, perhaps for answers that nobody has taken.
                Some(libc::EAGAIN | libc::EBUSY | libc::ENOMEM) => {
                    server.wake_by_ref();
                    thread::yield_now();
                }
                _ => panic!("the kernel refuses a request to a ring that it has made: {error}"),
            }
        }
        server.wake_by_ref();
    }
}

// SAFETY: the kernel answers each request once, because there is none with several answers. The
// server takes each answer once, and ends only when all requests have been answered.
unsafe impl Kernel for Arc<Link> {
    type Own = Rc<Own>;
    type Entry = Entry;

    fn own() -> io::Result<Rc<Own>> {
        own()
    }

    unsafe fn start(own: &Rc<Own>, head: NonNull<Head>, entry: Entry) {
        let entry = entry.user_data(address(head));
        // SAFETY: the entry is that of the block, whose data stays in its place until the answer.
        unsafe { own.submit(&entry) };
    }

    fn shared(own: Rc<Own>) -> Self {
        own.0.clone()
    }

    unsafe fn cancel(&self, head: NonNull<Head>) {
        // An error says that there is nothing to cancel, or that it cannot be cancelled. Both end
        // with an answer.
        let _ = (self.queues).cancel(CancelBuilder::user_data(address(head)));
        self.server.wake_by_ref();
    }
}

/// Returns the future of an operation, which starts it at its first poll.
pub(crate) fn started<D: Data<Entry = Entry>>(data: D) -> impl Future<Output = D::Output> {
    Operation::<D, Arc<Link>>::new(data)
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
