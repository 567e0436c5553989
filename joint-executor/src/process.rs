//! Which process this is. The child of a fork inherits an executor without the executor's threads,
//! and must find that out.

use std::sync::OnceLock;

/// Set in the child of a fork, so that other processes need not ask for their id, which takes a
/// system call.
static IS_CHILD: OnceLock<()> = OnceLock::new();

/// A process, by its id. The id could deceive only a grandchild that outlives both other processes
/// and is given the id of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process(u32);

impl Process {
    /// Returns the calling process. Without forks there is only one.
    pub(super) fn current() -> Self {
        system::watch();
        Self(if cfg!(unix) { std::process::id() } else { 0 })
    }

    #[inline]
    pub(super) fn is_current(self) -> bool {
        IS_CHILD.get().is_none() || self == Self::current()
    }

    /// # Panics
    /// In the child of a fork, in which nothing would ever run.
    #[inline]
    pub(super) fn check(self) {
        assert!(
            self.is_current(),
            "the threads of this executor are in the parent process, and the child of a fork has \
             none of them: build another `Executor` after the fork, and use that"
        );
    }
}

#[cfg(all(unix, not(miri)))]
mod system {
    use core::ffi::c_int;
    use std::sync::Once;

    type Handler = Option<unsafe extern "C" fn()>;

    // SAFETY: this is the declaration of POSIX.
    unsafe extern "C" {
        fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
    }

    extern "C" fn in_child() {
        let _set = super::IS_CHILD.set(());
    }

    /// Notices the forks from here on.
    pub(super) fn watch() {
        static WATCH: Once = Once::new();
        // Without memory for this, forks are not noticed.
        // SAFETY: the function may be called after a fork: it sets a word that nothing has locked.
        WATCH.call_once(|| _ = unsafe { pthread_atfork(None, None, Some(in_child)) });
    }
}

#[cfg(any(not(unix), miri))]
mod system {
    pub(super) fn watch() {}
}
