//! A filter of system calls that refuses io_uring.

use std::io;

/// The calls of io_uring.
pub(crate) const CALLS: [libc::c_long; 3] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// From now on these calls, at most three, fail on this thread, and in the programs that it
/// executes.
pub(crate) fn refuse(calls: &[libc::c_long], errno: i32) -> io::Result<()> {
    const NUMBER: u32 = 0;
    let statement = |code: u32, k: u32, jt: u8, jf: u8| {
        let code = u16::try_from(code).unwrap();
        libc::sock_filter { code, jt, jf, k }
    };
    let refusal = libc::SECCOMP_RET_ERRNO | u32::try_from(errno).unwrap();
    let allowed = libc::BPF_RET | libc::BPF_K;
    let mut filter = [statement(allowed, libc::SECCOMP_RET_ALLOW, 0, 0); 8];
    filter[0] = statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, NUMBER, 0, 0);
    for (place, &call) in filter[1..].chunks_exact_mut(2).zip(calls) {
        let call = u32::try_from(call).unwrap();
        let equals = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        place[0] = statement(equals, call, 0, 1);
        place[1] = statement(libc::BPF_RET | libc::BPF_K, refusal, 0, 0);
    }
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).unwrap(),
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the call takes numbers alone.
    let status = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the program is alive during the call, and has as many statements as it says.
    let status = unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const program,
        )
    };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
