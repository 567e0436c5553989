//! [`Host`]: what stands in for the executors and threads of the process.

use alloc::sync::Arc;
#[cfg(feature = "io")]
use alloc::{boxed::Box, vec::Vec};
#[cfg(feature = "io")]
use core::net::SocketAddr;
use core::{cell::RefCell, fmt, marker::PhantomData, panic::Location};
use std::{io, thread, thread_local, time::SystemTime};

use super::ExecutorId;
#[cfg(feature = "io")]
use super::socket::{Socket, SocketKind};
use crate::{Builder, Executor, who};
use joint::task::{Id, Runnable, TaskEnd};

/// A replacement for the executors and threads of the process, on the threads that have
/// [entered](enter) it.
///
/// It is looked for where code that is in no executor would use the [global](Executor::global) one,
/// where an executor is built, where a function is passed to
/// `spawn_blocking`, and where a descriptor is registered. Its own
/// executors, those that were [built for it](Builder::host), ask it where they are shut down.
///
/// The functions are called on any thread that does one of these. They may block. Their panics
/// pass to the code that is under way, but for those of [`call_ended`](Host::call_ended).
#[expect(unused_variables, reason = "the defaults ignore what they are told")]
pub trait Host: Send + Sync {
    /// Returns the executor that takes the place of the global one.
    fn executor(&self) -> Arc<Executor>;

    /// Builds an executor, for [`Builder::build`]. Usually by [`Builder::build_scheduled`] or
    /// [`Builder::build_hosted`], after setting hooks of its own, and itself as the
    /// [host](Builder::host).
    ///
    /// # Errors
    /// Its error is that of [`Builder::build`].
    fn build(&self, builder: Builder) -> io::Result<Executor>;

    /// Returns the number of workers of an executor whose builder does not say it. By default that
    /// is [`available_parallelism`](thread::available_parallelism), as elsewhere.
    fn default_workers(&self) -> usize {
        thread::available_parallelism().map_or(1, usize::from)
    }

    /// Runs a function of `spawn_blocking`, on whatever thread, or drops
    /// it, which cancels its task. The runnable's run is the call of the function, and may block.
    fn call_blocking(&self, call: Runnable);

    /// Called by the thread of such a function before the function begins, and when it has returned
    /// or panicked but has not ended. It may block, and must not panic. By default it does nothing.
    fn call_goes_on(&self) {}

    /// Called when such a function has ended or was dropped, by the thread on which that happens,
    /// if that thread has entered this host. A panic of it is caught. By default it does nothing.
    fn call_ended(&self, call: Id, how: TaskEnd) {}

    /// Called before a descriptor is registered. By default the descriptors work.
    ///
    /// # Errors
    /// Refuses the descriptor, with this error.
    fn descriptor(&self) -> io::Result<()> {
        Ok(())
    }

    /// Shuts down an executor of this host, which has been dropped or shut down. The calling thread
    /// may have entered this host, another one, or none.
    ///
    /// By default the workers are left to end by themselves.
    fn shut_down(&self, executor: ExecutorId) -> Shutdown {
        Shutdown::Later
    }

    /// Called before a thread that has not entered this host uses an executor of it that has not
    /// closed: spawns on it, or blocks in it. May panic to refuse. By default it does nothing.
    fn used_elsewhere(&self, executor: ExecutorId) {}

    /// Called before a thread that has entered this host uses an executor of another host or of
    /// none. May panic to refuse. By default it does nothing.
    fn uses_foreign(&self, executor: ExecutorId) {}

    /// Called when a future of `waiting_for` is about to be polled, is woken,
    /// or is over, by the thread on which that happens, if that thread has entered this host. It
    /// must not panic. By default it does nothing.
    fn wait_changed(&self, wait: NamedWait, how: WaitChange) {}

    /// Opens a socket for [`io`](crate::io), in a network of the host's own. By default there is
    /// none, and the socket is the system's.
    ///
    /// # Errors
    /// Its error is that of the socket's constructor.
    #[cfg(feature = "io")]
    fn open(&self, kind: SocketKind, address: SocketAddr) -> Option<io::Result<Box<dyn Socket>>> {
        None
    }

    /// Looks up a host name for [`io`](crate::io), without waiting. By default the system does it.
    ///
    /// # Errors
    /// Its error is that of the look-up.
    #[cfg(feature = "io")]
    fn look_up(&self, name: &str, port: u16) -> Option<io::Result<Vec<SocketAddr>>> {
        None
    }

    /// Returns a number for [`chance::random`](crate::chance::random), which was called at this
    /// place. By default there is none, and it is random.
    fn random(&self, place: &'static Location<'static>) -> Option<u64> {
        None
    }

    /// Returns the time for [`time::wall`](crate::time::wall). By default there is none, and it is
    /// the system's.
    fn wall(&self) -> Option<SystemTime> {
        None
    }

    /// Decides for [`chance::fault`](crate::chance::fault) whether the site with this name fires.
    /// By default none does.
    fn fires(&self, site: &str) -> bool {
        false
    }
}

/// A future of `waiting_for`, as a [`Host`] sees it.
#[derive(Clone, Copy, Debug)]
pub struct NamedWait {
    /// A number that no other such future of the process has until this one is over.
    pub key: usize,
    /// What it waits for, as `waiting_for` was told.
    pub what: &'static str,
    /// Where `waiting_for` was called.
    pub place: &'static Location<'static>,
}

/// What happens to a [`NamedWait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitChange {
    /// It is about to be polled.
    Polled,
    /// It is woken, for the first time since it was polled.
    Woken,
    /// It is ready, or is dropped.
    Over,
}

/// The progress of a shutdown by a [`Host`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// All its workers have ended.
    Complete,
    /// The executor is closed now, and its workers end later.
    Later,
}

thread_local! {
    static HOST: RefCell<Option<Arc<dyn Host>>> = const { RefCell::new(None) };
}

/// Keeps this thread in a [`Host`]. Returned by [`enter`].
///
/// The drop restores the host that was entered before. Drop them in the reverse order.
#[must_use = "dropping it leaves the host"]
pub struct Entered {
    before: Option<Arc<dyn Host>>,
    /// It stays on its thread.
    thread: PhantomData<*mut ()>,
}

/// Makes `host` stand in for the executors and threads of the process, for the code that this
/// thread runs until the returned value is dropped.
#[inline]
pub fn enter(host: Arc<dyn Host>) -> Entered {
    Entered {
        before: HOST.with_borrow_mut(|own| own.replace(host)),
        thread: PhantomData,
    }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        let before = self.before.take();
        // The host's own drop may be any code, so it comes after the borrow.
        let host = HOST.try_with(|own| own.replace(before));
        drop(host);
    }
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entered").finish_non_exhaustive()
    }
}

/// Returns the host that this thread has entered.
#[inline(never)]
pub(crate) fn host() -> Option<Arc<dyn Host>> {
    // A thread whose thread-locals are gone has entered none.
    HOST.try_with(|host| host.borrow().clone()).ok().flatten()
}

/// Tells the hosts if a thread uses an executor that does not belong where the thread is. One that
/// has closed may be used anywhere.
///
/// # Panics
/// In the child of a fork that has inherited the executor.
pub(crate) fn check_place(executor: &Executor) {
    executor.shared.process.check();
    let (own, here) = (executor.host.as_ref(), host());
    let is_here = |own| here.as_ref().is_some_and(|here| Arc::ptr_eq(here, own));
    if own.map_or(here.is_none(), is_here) || executor.shared.is_closed() {
        return;
    }
    match (own, here) {
        (Some(own), _) => own.used_elsewhere(executor.id()),
        (None, Some(here)) => here.uses_foreign(executor.id()),
        (None, None) => {}
    }
}

/// The payload of a panic by which a [`Host`] ends the wait of a function of
/// `spawn_blocking`, in order to cancel it. Throw it by
/// [`resume_unwind`](std::panic::resume_unwind), on a thread that has entered a host.
///
/// Throw it only where [`may_unwind`] says so. If the function unwinds with it, its task does not
/// panic. It is passed to
/// [`Host::call_blocking`] once more, which drops it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwind;

/// Returns whether a panic may end the wait that this thread is in.
///
/// A wait of [`Executor::install`], [`join`](crate::join()) or [`scope`](crate::scope()) must go on
/// until it is due, because other threads use the stack of this one. A panic would end the program.
/// Code that runs inside the wait is asked by itself if it runs [apart](super::apart).
pub fn may_unwind() -> bool {
    !who::waits_for_lent()
}
