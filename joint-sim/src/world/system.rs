//! The system as code inside of a world finds it: its clocks, random numbers, files and network.
//!
//! `clock_gettime` and `getrandom` are defined here, so a program that is linked with this crate
//! calls these instead of the C library's, and so does the standard library. Inside of a world they
//! give the virtual time of the host, and numbers that the run draws. Elsewhere they ask the
//! system.
//!
//! Likewise for the functions by which std changes files and opens sockets. Files are changed for
//! real, because a program may have reason to, and the run notes the first change of each kind.
//! Sockets of the internet are refused. Outside of a world, and for a panic hook, all of them make
//! the system call of the same name, and nothing else: an allocator may open a file.
//!
//! A loop that waits for the time to pass, as a channel of std does before its limit, would not
//! end: the virtual time does not pass during a poll. So a poll that has read a clock very often
//! finds that time has passed, more with each further look, and as much passes for the world once
//! the poll is over.

use std::{
    cell::Cell,
    ffi::{CStr, c_char, c_int, c_long, c_uint, c_void},
    hash::RandomState,
    mem::MaybeUninit,
    panic::Location,
    slice,
    sync::{Arc, OnceLock},
    thread,
    time::Instant,
};

use joint_executor::hosted::epoch;
use libc::{AT_FDCWD, clockid_t, mode_t, timespec};

use super::{super::record::What, entered};

type ClockGettime = unsafe extern "C" fn(clockid_t, *mut timespec) -> c_int;

const SECOND: i64 = 1_000_000_000;

/// The time of the system's monotonic clock at the epoch of the timers, in nanoseconds. It is
/// negative, so whatever waits until a time of a world by the system's clock does not wait.
static EPOCH: OnceLock<i64> = OnceLock::new();

std::thread_local! {
    static SHOWN: Cell<Shown> = const { Cell::new(Shown::World) };
}

/// The time that the clocks of a thread show.
#[derive(Clone, Copy)]
enum Shown {
    /// The time of its world. That of the system, if it is in none.
    World,
    System,
    Exactly(i64),
}

/// Must be called on a thread before it is in a world.
pub(super) fn prepare() {
    EPOCH.get_or_init(|| {
        let epoch = epoch();
        let now = system_time();
        // An `Instant` does not tell its number, so one is made whose number is known.
        let since = showing(Shown::Exactly(now), Instant::now).duration_since(epoch);
        now - since.as_nanos() as i64
    });
    // It draws once for each thread, which would make the first run differ from the others.
    let _ = RandomState::new();
}

/// Lets a call of std wait for real.
pub(super) fn in_real_time<R>(wait: impl FnOnce() -> R) -> R {
    showing(Shown::System, wait)
}

fn showing<R>(shown: Shown, f: impl FnOnce() -> R) -> R {
    let before = SHOWN.replace(shown);
    let result = f();
    SHOWN.set(before);
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let Some(shown) = virtual_time(clock) else {
        // SAFETY: passed on from the caller.
        return unsafe { ask_system(clock, time) };
    };
    let shown = timespec {
        tv_sec: shown.div_euclid(SECOND),
        tv_nsec: shown.rem_euclid(SECOND),
    };
    // SAFETY: the caller's place for the time.
    unsafe { time.write(shown) };
    0
}

fn virtual_time(clock: clockid_t) -> Option<i64> {
    let is_wall = match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => true,
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_BOOTTIME => false,
        _ => return None,
    };
    match SHOWN.try_with(Cell::get).ok()? {
        Shown::System => None,
        Shown::Exactly(time) => Some(time),
        Shown::World => entered::with(|world| {
            let (own, wall) = world?.look_at_clocks();
            Some(match is_wall {
                true => wall as i64,
                false => EPOCH.get()?.saturating_add_unsigned(own),
            })
        }),
    }
}

/// # Safety
/// As for `clock_gettime` of the C library.
unsafe fn ask_system(clock: clockid_t, time: *mut timespec) -> c_int {
    static NEXT: OnceLock<Option<ClockGettime>> = OnceLock::new();
    let next = NEXT.get_or_init(|| {
        // SAFETY: a name that ends with a zero.
        let next = unsafe { libc::dlsym(libc::RTLD_NEXT, c"clock_gettime".as_ptr()) };
        // SAFETY: the address of the library's function of this name, or null.
        unsafe { (&raw const next).cast::<Option<ClockGettime>>().read() }
    });
    match next {
        // SAFETY: passed on from the caller.
        Some(next) => unsafe { next(clock, time) },
        // SAFETY: as above.
        None => unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) as c_int },
    }
}

fn system_time() -> i64 {
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: it has room for the time.
    unsafe { ask_system(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec * SECOND + time.tv_nsec
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    let drawn = entered::with(|world| {
        let world = world.filter(|_| !buffer.is_null())?;
        // SAFETY: the caller's buffer has this many bytes.
        let bytes = unsafe { slice::from_raw_parts_mut(buffer.cast::<MaybeUninit<u8>>(), length) };
        for part in bytes.chunks_mut(8) {
            let drawn = world.draw(Location::caller()).to_ne_bytes();
            for (byte, drawn) in part.iter_mut().zip(drawn) {
                byte.write(drawn);
            }
        }
        Some(length as isize)
    });
    // SAFETY: passed on from the caller.
    drawn.unwrap_or_else(|| unsafe {
        libc::syscall(libc::SYS_getrandom, buffer, length, flags) as isize
    })
}

/// Notes that code of a world does something for real, if this is the first of its kind. Returns
/// whether it is code of a world. A panic hook is not, nor is a destructor while a panic unwinds.
fn acts_for_real(kind: &'static str, text: impl FnOnce() -> String) -> bool {
    !thread::panicking()
        && entered::with(|world| {
            let is_first = |world: &super::World| world.ending.real.borrow_mut().insert(kind);
            if let Some(world) = world.filter(|world| is_first(world)) {
                world.note_last(What::Real(Arc::new(text())));
            }
            world.is_some()
        })
}

/// Notes that a file is changed. Devices keep nothing.
///
/// # Safety
/// The path is a C string, or null.
unsafe fn changes_file(how: &'static str, path: *const c_char) {
    // SAFETY: passed on from the caller.
    let path = (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) });
    if let Some(path) = path.filter(|path| !path.to_bytes().starts_with(b"/dev/")) {
        let text = || {
            format!(
                "{how} {path:?} in the real file system: `std::fs` acts for real in a simulation, \
                 use `joint_sim::fs`"
            )
        };
        acts_for_real(how, text);
    }
}

/// The third argument is set if a file may be created. Otherwise nobody reads it.
#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    let writes = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC;
    if flags & writes != libc::O_RDONLY {
        // SAFETY: passed on from the caller.
        unsafe { changes_file("opened to write", path) };
    }
    let flags = flags | libc::O_LARGEFILE;
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_openat, AT_FDCWD, path, flags, mode) as c_int }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: passed on from the caller.
    unsafe { changes_file("created the folder", path) };
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_mkdirat, AT_FDCWD, path, mode) as c_int }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: passed on from the caller.
    unsafe { changes_file("removed", path) };
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_unlinkat, AT_FDCWD, path, 0) as c_int }
}

/// Some systems have only the newer call. Others may be too old for it.
const RENAME: c_long = {
    #[cfg(any(target_arch = "riscv64", target_arch = "loongarch64"))]
    let call = libc::SYS_renameat2;
    #[cfg(not(any(target_arch = "riscv64", target_arch = "loongarch64")))]
    let call = libc::SYS_renameat;
    call
};

#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: passed on from the caller.
    unsafe { changes_file("renamed", from) };
    // SAFETY: as above.
    unsafe { libc::syscall(RENAME, AT_FDCWD, from, AT_FDCWD, to, 0) as c_int }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let text = || "was refused a socket of the real network: use those of `joint_executor::io`";
    let is_internet = [libc::AF_INET, libc::AF_INET6].contains(&domain);
    if is_internet && acts_for_real("socket", || text().into()) {
        // SAFETY: the function has no conditions.
        let error = unsafe { libc::__errno_location() };
        // SAFETY: the place of this thread's error.
        unsafe { *error = libc::EOPNOTSUPP };
        return -1;
    }
    // SAFETY: passed on from the caller.
    unsafe { libc::syscall(libc::SYS_socket, domain, kind, protocol) as c_int }
}
