//! [`Raw`]: the number of a descriptor, or of a socket on Windows.

use std::io;

#[cfg(unix)]
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::source::Interest;

#[cfg(unix)]
pub(crate) use std::os::fd::{BorrowedFd as Borrowed, RawFd as Raw};
#[cfg(windows)]
pub(crate) use std::os::windows::io::{BorrowedSocket as Borrowed, RawSocket as Raw};

/// # Safety
/// The descriptor is open for the whole lifetime.
pub(super) unsafe fn borrow<'a>(raw: Raw) -> Borrowed<'a> {
    // SAFETY: the caller promises it.
    unsafe { Borrowed::borrow_raw(raw) }
}

/// Whether [`ask`] queries the system. If not, it always answers yes.
pub(super) const CAN_ASK: bool = cfg!(unix);

/// Asks the system whether a direction is ready now.
///
/// # Errors
/// `WouldBlock` if it is not ready, or an error that says that the descriptor is closed.
///
/// # Safety
/// The descriptor is open, or has been closed against its owner's promise.
#[cfg(unix)]
pub(super) unsafe fn ask(raw: Raw, interest: Interest) -> io::Result<()> {
    // SAFETY: the caller promises it.
    let fd = unsafe { borrow(raw) };
    let flag = match interest {
        Interest::Read => PollFlags::IN,
        Interest::Write => PollFlags::OUT,
    };
    let mut asked = [PollFd::from_borrowed_fd(fd, flag)];
    match poll(&mut asked, Some(&Timespec::default()))? {
        0 => Err(io::ErrorKind::WouldBlock.into()),
        _ if asked[0].revents().contains(PollFlags::NVAL) => Err(rustix::io::Errno::BADF.into()),
        _ => Ok(()),
    }
}

/// # Safety
/// None. It has the signature of its namesake.
#[cfg(not(unix))]
pub(super) unsafe fn ask(_raw: Raw, _interest: Interest) -> io::Result<()> {
    Ok(())
}
