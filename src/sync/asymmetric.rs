//! A pair of fences for one frequent side and one rare side: the rare one pays for both, where the system can do that.
//!
//! Linux's `membarrier` makes every running thread of the program pass a full barrier. A [`light`] fence then only has to keep the
//! compiler from moving accesses across it, and still pairs with a [`heavy`] one as two `SeqCst` fences do: what the light side
//! wrote before its fence is seen by the heavy side after its own, or else what the heavy side wrote before is seen by the
//! light side. Where the call is not to be had, and under the model, both are the fences that they are given.

use core::sync::atomic::{AtomicUsize, Ordering, compiler_fence, fence};

use super::order;

/// What [`prepare`] has not found out yet is as if there were no such call.
const BY_BOTH: usize = 0;
const BY_SYSTEM: usize = 1;

static WHO_PAYS: AtomicUsize = AtomicUsize::new(BY_BOTH);

/// Finds out what the system can do. To be called before threads are started that use the fences.
pub(crate) fn prepare() {
    // Each time: a child of a fork has to say it for itself.
    if system::register() {
        // ORDERING: who_pays. Relaxed: the start of the threads publishes it, and a fence that sees it late is a real one.
        WHO_PAYS.store(BY_SYSTEM, order!(who_pays: Relaxed));
    }
}

/// The fence of the frequent side.
#[inline(always)]
pub(crate) fn light(order: Ordering) {
    // ORDERING: who_pays_light. Relaxed: see `prepare`.
    if WHO_PAYS.load(order!(who_pays_light: Relaxed)) == BY_SYSTEM {
        compiler_fence(order);
    } else {
        fence(order);
    }
}

/// The fence of the rare side. On Linux it can take as long as an interrupt of every processor that the program runs on.
pub(crate) fn heavy(order: Ordering) {
    // ORDERING: who_pays_heavy. Relaxed: as for `light`; no light fence trusts the system unless this one asks it.
    if WHO_PAYS.load(order!(who_pays_heavy: Relaxed)) == BY_SYSTEM {
        system::barrier();
    }
    fence(order);
}

// Miri has no such call, and ends a program that asks for it.
#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use rustix::thread::{MembarrierCommand, MembarrierQuery, membarrier, membarrier_query};

    pub(super) fn register() -> bool {
        let can = |query: MembarrierQuery| {
            query.contains_command(MembarrierCommand::RegisterPrivateExpedited)
                && query.contains_command(MembarrierCommand::PrivateExpedited)
        };
        can(membarrier_query()) && membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
    }

    pub(super) fn barrier() {
        // Once registered, it fails for want of memory at most.
        while membarrier(MembarrierCommand::PrivateExpedited).is_err() {
            std::thread::yield_now();
        }
    }
}

#[cfg(any(not(target_os = "linux"), miri))]
mod system {
    pub(super) fn register() -> bool {
        false
    }

    pub(super) fn barrier() {}
}
