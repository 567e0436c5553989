//! Names the thread of a model that has used up its stack. The system would kill the process
//! without a word.

use core::{
    cell::Cell,
    ffi::{c_int, c_void},
    ptr::null_mut,
};
use std::sync::OnceLock;

use libc::{SA_ONSTACK, SA_SIGINFO, SIGBUS, SIGSEGV, sigaction, siginfo_t};

/// The stack of the coroutine that runs on a thread of the system.
#[derive(Clone, Copy)]
pub(super) struct Running {
    /// The lowest address, with which the guard page begins.
    pub(super) limit: usize,
    /// The number of the model's thread, and its name, which lives as long as the run.
    pub(super) thread: u8,
    pub(super) name: Option<*const str>,
}

/// The guard is one page, and no page is larger.
const GUARD: usize = 64 << 10;
const SIGNALS: [c_int; 2] = [SIGSEGV, SIGBUS];

std::thread_local! {
    static RUNNING: Cell<Option<Running>> = const { Cell::new(None) };
}

/// What was done about each of the signals before.
static BEFORE: OnceLock<[sigaction; 2]> = OnceLock::new();

pub(super) fn set(running: Option<Running>) {
    RUNNING.set(running);
}

/// Handles the signals of an access to a guard page. std has given each of its threads another
/// stack for handlers.
pub(super) fn watch() {
    BEFORE.get_or_init(|| {
        let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = on_fault;
        SIGNALS.map(|signal| {
            // SAFETY: zeros are a value of each of its fields.
            let mut new: sigaction = unsafe { core::mem::zeroed() };
            new.sa_sigaction = handler as usize;
            new.sa_flags = SA_SIGINFO | SA_ONSTACK;
            // SAFETY: as above.
            let mut before: sigaction = unsafe { core::mem::zeroed() };
            // SAFETY: both pointers are valid, and the handler does nothing that a handler may not.
            unsafe { sigaction(signal, &raw const new, &raw mut before) };
            before
        })
    });
}

/// Runs between any two instructions of its thread, so it neither allocates nor locks: it reads a
/// thread-local that has no initializer and no destructor, and an atomic.
extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: the system has passed a valid pointer.
    let info = unsafe { &*info };
    // SAFETY: these signals have an address.
    let address = unsafe { info.si_addr() }.addr();
    let running = RUNNING.get();
    let is_guard = |it: &Running| (it.limit..it.limit + GUARD).contains(&address);
    if let Some(running) = running.filter(is_guard) {
        let digit = [b'0' + running.thread];
        say(b"\njoint-check: ");
        match running.name {
            // SAFETY: the run goes on, so the name lives.
            Some(name) => say(unsafe { &*name }.as_bytes()),
            None if running.thread == 0 => say(b"main"),
            None => {
                say(b"thread ");
                say(&digit);
            }
        }
        say(
            b" has used up its stack of 8 MiB. A recursion of the model has no end, or its values \
              belong into a `Box`.\n",
        );
        // SAFETY: it may be called anywhere.
        unsafe { libc::abort() };
    }
    // The instruction is repeated, and its signal handled as before.
    let before = SIGNALS.iter().position(|&other| other == signal);
    let before = before
        .zip(BEFORE.get())
        .map(|(n, before)| &raw const before[n]);
    // SAFETY: it came from the system. While it is not there yet, nothing changes.
    unsafe { sigaction(signal, before.unwrap_or(core::ptr::null()), null_mut()) };
}

fn say(text: &[u8]) {
    // SAFETY: the bytes are valid. If they cannot be written, nothing can be said.
    _ = unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}
