//! Describes descriptors for a dump.

use alloc::{
    format,
    string::{String, ToString},
};

use socket2::{SockAddr, SockRef, Type};

use super::raw::{Raw, borrow};

/// Returns what a descriptor is: a socket with its addresses, or what the system calls it.
///
/// # Safety
/// The descriptor is open.
pub(super) unsafe fn describe(raw: Raw) -> Option<String> {
    // SAFETY: the caller promises it.
    let fd = unsafe { borrow(raw) };
    let socket = SockRef::from(&fd);
    let Ok(own) = socket.local_addr() else {
        return link(raw);
    };
    let kind = match socket.r#type() {
        _ if own.as_socket().is_none() => "Unix socket",
        Ok(Type::DGRAM) => "UDP",
        _ => "TCP",
    };
    let mut described = String::from(kind);
    if let Some(own) = address(&own) {
        described += &format!(" {own}");
    }
    if let Some(peer) = socket.peer_addr().ok().and_then(|peer| address(&peer)) {
        described += &format!(" to {peer}");
    }
    Some(described)
}

fn address(address: &SockAddr) -> Option<String> {
    if let Some(address) = address.as_socket() {
        return Some(address.to_string());
    }
    #[cfg(unix)]
    return Some(address.as_pathname()?.display().to_string());
    #[cfg(windows)]
    None
}

/// Such as `pipe:[4711]`, `anon_inode:[timerfd]`, or the path of a terminal.
fn link(raw: Raw) -> Option<String> {
    let link = cfg!(target_os = "linux").then(|| format!("/proc/self/fd/{raw}"))?;
    Some(std::fs::read_link(link).ok()?.display().to_string())
}
