//! Keeps the stacks of a model's threads from one run of the model to the next.
//!
//! loom maps a stack for each thread of each run, and unmaps it when the run ends. A long model has
//! hundreds of thousands of runs, and would spend a third of its time in the kernel: for three
//! calls a stack, and for the faults of its first pages. loom has no setting for that. This module
//! therefore defines libc's three functions, which the linker prefers to those of the shared
//! library, and answers them from the stacks that it keeps. While no model runs on the calling
//! thread, and for all other memory, they only pass the call on to the kernel.
//!
//! A kept stack has its guard page, and holds what the last run left there. Loom's stacks are not
//! promised to be zero.

use std::{
    cell::Cell,
    ffi::{c_int, c_void},
    ptr,
};

/// The size of loom's stacks with two pages more, of which one is the guard. Where pages are not of
/// 4 KiB, a stack has another size, and is not kept.
const SIZE: usize = 0x9000;
/// More than the threads of a model. If there are more stacks, the others are not kept.
const MOST: usize = 8;

#[derive(Clone, Copy)]
struct Stack {
    start: *mut c_void,
    is_guarded: bool,
    is_used: bool,
}

/// The stacks that were mapped while a model runs on this thread.
#[derive(Clone, Copy)]
struct Stacks {
    keeps: bool,
    list: [Option<Stack>; MOST],
    #[cfg(test)]
    reused: usize,
}

impl Stacks {
    const NONE: Self = Self {
        keeps: false,
        list: [None; MOST],
        #[cfg(test)]
        reused: 0,
    };

    /// Returns a stack that no thread of the model uses.
    fn take(&mut self) -> Option<*mut c_void> {
        let stack = self.list.iter_mut().flatten().find(|one| !one.is_used)?;
        stack.is_used = true;
        #[cfg(test)]
        (self.reused += 1);
        Some(stack.start)
    }

    /// Remembers a stack that was mapped, if there is room.
    fn add(&mut self, start: *mut c_void) {
        if let Some(free) = self.list.iter_mut().find(|one| one.is_none()) {
            *free = Some(Stack {
                start,
                is_guarded: false,
                is_used: true,
            });
        }
    }

    fn find(&mut self, start: *mut c_void) -> Option<&mut Stack> {
        self.list
            .iter_mut()
            .flatten()
            .find(|one| one.start == start)
    }
}

std::thread_local! {
    // Without a destructor, so that it can be used as long as the thread runs.
    static STACKS: Cell<Stacks> = const { Cell::new(Stacks::NONE) };
}

fn with<R>(f: impl FnOnce(&mut Stacks) -> R) -> R {
    let mut stacks = STACKS.get();
    let result = f(&mut stacks);
    STACKS.set(stacks);
    result
}

/// While it is alive, the models of this thread reuse their stacks.
pub(crate) struct Kept(());

impl Kept {
    pub(crate) fn new() -> Self {
        with(|stacks| stacks.keeps = true);
        Self(())
    }
}

impl Drop for Kept {
    /// Unmaps the stacks, except those that a failed model has left behind in use.
    fn drop(&mut self) {
        let stacks = STACKS.replace(Stacks::NONE);
        for stack in stacks.list.into_iter().flatten() {
            if !stack.is_used {
                // SAFETY: the whole of the mapping, which nothing uses.
                unsafe { munmap(stack.start, SIZE) };
            }
        }
    }
}

/// Takes the place of libc's function.
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    start: *mut c_void,
    size: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    let keeps = size == SIZE && flags & libc::MAP_STACK != 0 && STACKS.get().keeps;
    if let Some(kept) = keeps.then(|| with(Stacks::take)).flatten() {
        return kept;
    }
    // SAFETY: the caller's promise. The kernel takes the arguments in this order.
    let mapped =
        unsafe { libc::syscall(libc::SYS_mmap, start, size, protection, flags, file, offset) };
    let mapped = ptr::with_exposed_provenance_mut(mapped as usize);
    if keeps && mapped != libc::MAP_FAILED {
        with(|stacks| stacks.add(mapped));
    }
    mapped
}

/// Takes the place of libc's function.
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(start: *mut c_void, size: usize, protection: c_int) -> c_int {
    // The first call for a stack makes its guard, and a later call would make the same.
    let is_guarded = with(|stacks| {
        let stack = stacks.find(start);
        stack.is_some_and(|stack| std::mem::replace(&mut stack.is_guarded, true))
    });
    if is_guarded {
        return 0;
    }
    // SAFETY: the caller's promise.
    let result = unsafe { libc::syscall(libc::SYS_mprotect, start, size, protection) };
    result as c_int
}

/// Takes the place of libc's function.
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(start: *mut c_void, size: usize) -> c_int {
    let is_kept = with(|stacks| {
        let stack = stacks.find(start);
        stack.is_some_and(|stack| std::mem::replace(&mut stack.is_used, false))
    });
    if is_kept {
        return 0;
    }
    // SAFETY: the caller's promise.
    let result = unsafe { libc::syscall(libc::SYS_munmap, start, size) };
    result as c_int
}

#[cfg(test)]
mod tests {
    use loom::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        thread,
    };

    use super::*;

    /// It fails if the linker prefers libc's functions, or if loom's stacks have another size.
    #[test]
    fn each_run_of_a_model_uses_the_stacks_of_the_one_before() {
        let _kept = Kept::new();
        let runs = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = runs.clone();
        loom::model(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            let word = Arc::new(AtomicUsize::new(0));
            let other = thread::spawn({
                let word = word.clone();
                move || word.fetch_add(1, Ordering::Relaxed)
            });
            word.fetch_add(1, Ordering::Relaxed);
            other.join().expect("it does not panic");
        });
        let runs = runs.load(Ordering::Relaxed);
        assert!(runs > 1, "{runs}");
        assert_eq!(STACKS.get().reused, 2 * (runs - 1));
    }
}
