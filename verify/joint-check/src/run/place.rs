//! Where a thread looks again: the calls that have led there. One loop is not another, although
//! both may come to the same function, and a macro may give both the same line.

use core::{
    ffi::{c_int, c_void},
    hash::{Hash, Hasher},
    panic::Location,
};
use std::hash::DefaultHasher;

use super::with;

/// Returns a name of the place to which the running thread has come.
#[inline(never)]
#[track_caller]
pub(crate) fn place() -> u64 {
    let known = with(|run| {
        let thread = usize::from(run.current);
        let lane = &run.lanes[thread];
        if lane.looks.last().is_some_and(|look| look.at == lane.at) {
            // Further hints of the same look have no effect.
            return Ok(0);
        }
        let last = usize::from(lane.at).checked_sub(1);
        let last = last.and_then(|last| run.graph.threads.get(thread)?.get(last));
        // If the look is in the graph, the thread has been here in another run.
        let look = last.map(|last| last.look).filter(|&look| look != 0);
        look.ok_or(lane.root)
    });
    let root = match known {
        Ok(look) => return look,
        Err(root) => root,
    };
    let hash = DefaultHasher::new();
    let mut calls = Calls { root, hash };
    Location::caller().hash(&mut calls.hash);
    calls.add_all();
    calls.hash.finish()
}

struct Calls {
    root: usize,
    hash: DefaultHasher,
}

#[cfg(unix)]
impl Calls {
    /// Adds the return addresses of the calls.
    fn add_all(&mut self) {
        // SAFETY: `add` gets the pointer to `self` only during the call.
        unsafe { _Unwind_Backtrace(add, (&raw mut *self).cast()) };
    }
}

#[cfg(not(unix))]
impl Calls {
    /// The line has to do.
    fn add_all(&mut self) {}
}

#[cfg(unix)]
type Add = extern "C" fn(frame: *mut c_void, calls: *mut c_void) -> c_int;

// These are part of the standard library, which unwinds with them.
#[cfg(unix)]
unsafe extern "C" {
    fn _Unwind_Backtrace(add: Add, calls: *mut c_void) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
    fn _Unwind_GetCFA(frame: *mut c_void) -> usize;
}

/// Adds a call. Returns 0 to go on with its caller.
#[cfg(unix)]
extern "C" fn add(frame: *mut c_void, calls: *mut c_void) -> c_int {
    /// The unwinder's name for the end of the stack.
    const END_OF_STACK: c_int = 5;
    // SAFETY: `add_all` has passed the pointer, and its caller waits.
    let calls = unsafe { &mut *calls.cast::<Calls>() };
    // SAFETY: the unwinder has passed the frame.
    if unsafe { _Unwind_GetCFA(frame) } >= calls.root {
        return END_OF_STACK;
    }
    // SAFETY: as above.
    unsafe { _Unwind_GetIP(frame) }.hash(&mut calls.hash);
    0
}
