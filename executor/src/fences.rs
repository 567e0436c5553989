//! [`Fences`]: the two fences of a store-load race between workers, of which one side is frequent
//! and the other is rare.
//!
//! After the fences, the rare side sees what the frequent side wrote before, or the frequent side
//! sees what the rare side wrote before. By default both are `SeqCst` fences, which is what the
//! models run.
//!
//! An executor of one worker has no other side, so its fences are left out ([`among`]).
//!
//! If the user asks for it, the rare side makes the fence for both, by the system call `membarrier`
//! (Linux). The kernel makes each processor that runs a thread of the program pass a full barrier
//! before the call returns, so the frequent side only has to keep the compiler from moving accesses
//! across. No formal model of Rust's memory knows that call, and no model of this crate runs it.
//!
//! [`among`]: Fences::among

use core::sync::atomic::Ordering;
use std::io;

use joint_switch::{compiler_fence, fence};

/// Which fences an executor uses. Chosen before its threads start.
#[derive(Clone, Copy)]
pub(crate) struct Fences {
    is_asymmetric: bool,
    /// Whether there is only one worker, and so no other side.
    is_alone: bool,
}

impl Fences {
    pub(crate) const fn ordinary() -> Self {
        Self {
            is_asymmetric: false,
            is_alone: false,
        }
    }

    /// Registers for the system call, which takes milliseconds in a program of several threads, and
    /// tries it.
    ///
    /// # Errors
    /// Returns an error if the system does not have the call, or refuses it.
    pub(crate) fn asymmetric() -> io::Result<Self> {
        let tried = system::register().and_then(|()| system::barrier());
        tried.map_err(|error| {
            let message = alloc::format!(
                "the system has no asymmetric fences, or refuses them ({error}); build the executor \
                 without `Builder::asymmetric_fences`"
            );
            io::Error::new(io::ErrorKind::Unsupported, message)
        })?;
        Ok(Self {
            is_asymmetric: true,
            is_alone: false,
        })
    }

    /// Returns the fences of races in which only workers take part.
    pub(crate) const fn among(self, workers: usize) -> Self {
        let is_alone = workers == 1;
        Self { is_alone, ..self }
    }

    /// Returns the fences of races in which other threads take part as well.
    pub(crate) const fn with_others(self) -> Self {
        let is_alone = false;
        Self { is_alone, ..self }
    }

    /// The fence of the frequent side.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn light(self, order: Ordering) {
        if self.is_alone {
            return;
        }
        match self.is_asymmetric {
            true => compiler_fence(order),
            false => fence(order),
        }
    }

    /// The fence of the rare side.
    #[track_caller]
    pub(crate) fn heavy(self, order: Ordering) {
        #[cfg(test)]
        HEAVY_FENCES.set(HEAVY_FENCES.get() + 1);
        fence(order);
        if self.is_asymmetric {
            system::barrier().unwrap_or_else(|error| end(&error));
            fence(order);
        }
    }
}

/// Ends the program. The light side of the race may be past its compiler fence, with its write
/// still in its processor's store buffer, so no ordinary fence on this side helps any more. Without
/// the barrier two workers could run the same side of a join, or all workers could sleep with work
/// in a queue.
#[cold]
fn end(error: &io::Error) -> ! {
    use io::Write;
    let message = format_args!(
        "`joint-executor` cannot continue: the system call `membarrier`, which an executor with \
         `Builder::asymmetric_fences` relies on, is refused now ({error}). Allow it in the seccomp \
         filter, or build the executor without asymmetric fences"
    );
    // An error of writing the message does not matter.
    let _ = writeln!(io::stderr(), "{message}");
    std::process::abort()
}

// Miri ends a program that makes the call.
#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use std::{io, thread};

    use rustix::{
        io::Errno,
        thread::{MembarrierCommand, membarrier},
    };

    pub(super) fn register() -> io::Result<()> {
        Ok(membarrier(MembarrierCommand::RegisterPrivateExpedited)?)
    }

    /// Tries again while the kernel has no memory for the call.
    pub(super) fn barrier() -> io::Result<()> {
        loop {
            match membarrier(MembarrierCommand::PrivateExpedited) {
                Err(Errno::NOMEM) => thread::yield_now(),
                result => return Ok(result?),
            }
        }
    }
}

#[cfg(any(not(target_os = "linux"), miri))]
mod system {
    use std::io;

    pub(super) fn register() -> io::Result<()> {
        Err(io::Error::other("only Linux has `membarrier`"))
    }

    pub(super) fn barrier() -> io::Result<()> {
        register()
    }
}

#[cfg(test)]
std::thread_local! {
    /// The number of heavy fences that this thread has made.
    pub(crate) static HEAVY_FENCES: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

#[cfg(all(test, any(not(target_os = "linux"), miri)))]
#[test]
fn a_system_without_the_call_is_an_error_that_says_so() {
    let error = Fences::asymmetric().err().expect("only Linux has the call");
    assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    assert!(alloc::string::ToString::to_string(&error).contains("only Linux has `membarrier`"));
}
