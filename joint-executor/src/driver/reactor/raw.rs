//! [`Raw`]: the number of a descriptor, or of a socket on Windows.

use std::io;

#[cfg(unix)]
use libc::{POLLERR, POLLHUP, POLLIN, POLLNVAL, POLLOUT, POLLPRI, c_int, c_short as Flags};
#[cfg(windows)]
use windows::*;

use super::ready::{Interest, Ready};

#[cfg(unix)]
pub(crate) use std::os::fd::{AsFd as Open, BorrowedFd as Borrowed, RawFd as Raw};
#[cfg(windows)]
pub(crate) use std::os::windows::io::{
    AsSocket as Open, BorrowedSocket as Borrowed, RawSocket as Raw,
};

#[cfg(unix)]
pub(crate) fn number(open: &impl Open) -> Raw {
    std::os::fd::AsRawFd::as_raw_fd(&open.as_fd())
}

#[cfg(windows)]
pub(crate) fn number(open: &impl Open) -> Raw {
    std::os::windows::io::AsRawSocket::as_raw_socket(&open.as_socket())
}

/// Returns the result of a system call, or its error.
#[cfg(unix)]
pub(crate) fn checked(returned: c_int) -> io::Result<c_int> {
    match returned {
        0.. => Ok(returned),
        _ => Err(io::Error::last_os_error()),
    }
}

/// # Safety
/// The descriptor is open for the whole lifetime.
pub(crate) unsafe fn borrow<'a>(raw: Raw) -> Borrowed<'a> {
    // SAFETY: the caller promises it.
    unsafe { Borrowed::borrow_raw(raw) }
}

/// Asks the system what a descriptor is ready for now.
///
/// # Errors
/// `WouldBlock` if it is ready for nothing of what was asked, or an error that says that the
/// descriptor is closed.
///
/// # Safety
/// The descriptor is open, or has been closed against its owner's promise.
#[inline]
pub(super) unsafe fn ask(raw: Raw, interest: Interest) -> io::Result<Ready> {
    let mut flags = 0;
    for (is_asked, flag) in [
        (interest.is_readable(), POLLIN | ASKED_READ_END),
        (interest.is_writable(), POLLOUT),
        // Other systems do not know it, or refuse it.
        (cfg!(target_os = "linux") && interest.is_priority(), POLLPRI),
    ] {
        flags |= if is_asked { flag } else { 0 };
    }
    // SAFETY: the caller promises it.
    let found = unsafe { poll(raw, flags) }?;
    if found & POLLNVAL != 0 {
        return Err(closed());
    }
    let ready = ready(found) & interest.ready();
    match ready.is_empty() {
        true => Err(io::ErrorKind::WouldBlock.into()),
        false => Ok(ready),
    }
}

/// Returns which of the flags the descriptor has now, and those that are never asked for.
///
/// # Safety
/// As for [`ask`].
#[inline]
#[cfg(unix)]
unsafe fn poll(raw: Raw, flags: Flags) -> io::Result<Flags> {
    let mut asked = libc::pollfd {
        fd: raw,
        events: flags,
        revents: 0,
    };
    // SAFETY: this is one descriptor's place.
    checked(unsafe { libc::poll(&raw mut asked, 1, 0) })?;
    Ok(asked.revents)
}

#[cfg(unix)]
fn closed() -> io::Error {
    io::Error::from_raw_os_error(libc::EBADF)
}

#[cfg(windows)]
mod windows {
    use std::io;

    use rustix::event::{PollFd, PollFlags, Timespec};

    use super::{Raw, borrow};

    pub(super) type Flags = i16;

    pub(super) const POLLERR: Flags = PollFlags::ERR.bits();
    pub(super) const POLLHUP: Flags = PollFlags::HUP.bits();
    pub(super) const POLLIN: Flags = PollFlags::IN.bits();
    pub(super) const POLLNVAL: Flags = PollFlags::NVAL.bits();
    pub(super) const POLLOUT: Flags = PollFlags::OUT.bits();
    pub(super) const POLLPRI: Flags = PollFlags::PRI.bits();

    /// # Safety
    /// As for `ask`.
    pub(super) unsafe fn poll(raw: Raw, flags: Flags) -> io::Result<Flags> {
        // SAFETY: the caller promises it.
        let socket = unsafe { borrow(raw) };
        let flags = PollFlags::from_bits_retain(flags);
        let mut asked = [PollFd::from_borrowed_fd(socket, flags)];
        rustix::event::poll(&mut asked, Some(&Timespec::default()))?;
        Ok(asked[0].revents().bits())
    }

    pub(super) fn closed() -> io::Error {
        rustix::io::Errno::BADF.into()
    }
}

/// The flag that is asked for together with `POLLIN`.
const ASKED_READ_END: Flags = match () {
    #[cfg(target_os = "linux")]
    () => libc::POLLRDHUP,
    #[cfg(not(target_os = "linux"))]
    () => 0,
};

/// The peer has ended its direction.
const READ_END: Flags = match cfg!(windows) {
    true => POLLHUP,
    false => ASKED_READ_END,
};

/// Both directions have ended.
const BOTH_END: Flags = match cfg!(windows) {
    true => 0,
    false => POLLHUP,
};

/// A hang-up or an error is found by operations of both directions.
fn ready(found: Flags) -> Ready {
    let any = |of: Flags| found & of != 0;
    let failed = BOTH_END | POLLERR;
    let wrote_in_vain = any(POLLOUT) && any(POLLERR);
    let all = [
        (any(POLLIN | failed), Ready::READABLE),
        (any(POLLOUT | failed), Ready::WRITABLE),
        (any(BOTH_END | READ_END), Ready::READ_CLOSED),
        (any(BOTH_END) || wrote_in_vain, Ready::WRITE_CLOSED),
        (any(POLLPRI), Ready::PRIORITY),
        (any(POLLERR), Ready::ERROR),
    ];
    let mut ready = Ready::EMPTY;
    for (_, one) in all.iter().filter(|(is, _)| *is) {
        ready = ready | *one;
    }
    ready
}
