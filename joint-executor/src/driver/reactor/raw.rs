//! [`Raw`]: the number of a descriptor, or of a socket on Windows.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

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

/// # Safety
/// The descriptor is open for the whole lifetime.
pub(super) unsafe fn borrow<'a>(raw: Raw) -> Borrowed<'a> {
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
pub(super) unsafe fn ask(raw: Raw, interest: Interest) -> io::Result<Ready> {
    // SAFETY: the caller promises it.
    let fd = unsafe { borrow(raw) };
    let mut flags = PollFlags::empty();
    flags.set(PollFlags::IN, interest.is_readable());
    flags.set(PollFlags::OUT, interest.is_writable());
    // Other systems do not know these, or refuse them.
    #[cfg(target_os = "linux")]
    {
        flags.set(PollFlags::RDHUP, interest.is_readable());
        flags.set(PollFlags::PRI, interest.is_priority());
    }
    let mut asked = [PollFd::from_borrowed_fd(fd, flags)];
    poll(&mut asked, Some(&Timespec::default()))?;
    let found = asked[0].revents();
    if found.contains(PollFlags::NVAL) {
        return Err(rustix::io::Errno::BADF.into());
    }
    let ready = ready(found) & interest.ready();
    match ready.is_empty() {
        true => Err(io::ErrorKind::WouldBlock.into()),
        false => Ok(ready),
    }
}

/// The peer has ended its direction.
const READ_END: PollFlags = match () {
    #[cfg(target_os = "linux")]
    () => PollFlags::RDHUP,
    #[cfg(windows)]
    () => PollFlags::HUP,
    #[cfg(not(any(target_os = "linux", windows)))]
    () => PollFlags::empty(),
};

/// Both directions have ended.
const BOTH_END: PollFlags = match cfg!(windows) {
    true => PollFlags::empty(),
    false => PollFlags::HUP,
};

/// A hang-up or an error is found by operations of both directions.
fn ready(found: PollFlags) -> Ready {
    let failed = BOTH_END.union(PollFlags::ERR);
    let wrote_in_vain = found.contains(PollFlags::OUT | PollFlags::ERR);
    [
        (found.intersects(PollFlags::IN | failed), Ready::READABLE),
        (found.intersects(PollFlags::OUT | failed), Ready::WRITABLE),
        (found.intersects(BOTH_END | READ_END), Ready::READ_CLOSED),
        (
            found.intersects(BOTH_END) || wrote_in_vain,
            Ready::WRITE_CLOSED,
        ),
        (found.contains(PollFlags::PRI), Ready::PRIORITY),
        (found.contains(PollFlags::ERR), Ready::ERROR),
    ]
    .into_iter()
    .filter_map(|(is, ready)| is.then_some(ready))
    .fold(Ready::EMPTY, |all, ready| all | ready)
}
