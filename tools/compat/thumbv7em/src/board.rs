//! The start of the program, interrupts, and semihosting, by which QEMU prints and exits. A board
//! support crate has these.

use core::{arch::asm, cell::UnsafeCell, panic::PanicInfo};

unsafe extern "C" {
    static _stack_top: u64;
    static mut _data: u64;
    static mut _data_end: u64;
    static _data_in_flash: u64;
    static mut _bss: u64;
    static mut _bss_end: u64;
}

#[repr(C)]
union Vector {
    stack: *const u64,
    handler: extern "C" fn() -> !,
    interrupt: extern "C" fn(),
    reserved: usize,
}

// SAFETY: it is only read, by the processor.
unsafe impl Sync for Vector {}

#[unsafe(link_section = ".vectors")]
#[used]
static VECTORS: [Vector; 16] = {
    let mut vectors = [const { Vector { handler: fault } }; 16];
    vectors[0] = Vector {
        stack: &raw const _stack_top,
    };
    vectors[1] = Vector { handler: reset };
    vectors[15] = Vector {
        interrupt: sys_tick,
    };
    vectors
};

extern "C" fn reset() -> ! {
    // SAFETY: the linker script has these symbols around the variables, which nothing has used yet.
    // They are written by assembly, which may write beyond the symbols.
    unsafe {
        asm!(
            "2: cmp {to}, {end}", "bhs 3f", "ldmia {from}!, {{{a}}}", "stmia {to}!, {{{a}}}", "b 2b", "3:",
            to = inout(reg) &raw mut _data => _, end = in(reg) &raw mut _data_end,
            from = inout(reg) &raw const _data_in_flash => _, a = out(reg) _,
        );
    }
    // SAFETY: as above.
    unsafe {
        asm!(
            "2: cmp {to}, {end}", "bhs 3f", "stmia {to}!, {{{zero}}}", "b 2b", "3:",
            to = inout(reg) &raw mut _bss => _, end = in(reg) &raw mut _bss_end,
            zero = in(reg) 0,
        );
    }
    // The timer of the core: an interrupt each millisecond, of its 25 MHz.
    for (register, value) in [
        (0xE000_E014, 25_000 - 1),
        (0xE000_E018, 0),
        (0xE000_E010, 7),
    ] {
        // SAFETY: the registers of SysTick in every Cortex-M: reload, value, control.
        unsafe { core::ptr::with_exposed_provenance_mut::<u32>(register).write_volatile(value) };
    }
    crate::main();
    exit(true)
}

extern "C" fn sys_tick() {
    crate::tick();
}

extern "C" fn fault() -> ! {
    print(c"fault\n");
    exit(false)
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    print(c"panic\n");
    exit(false)
}

/// Calls the debugger, which is QEMU.
fn semihosting(operation: usize, argument: usize) {
    // SAFETY: without a debugger it is a fault. The operations below only read what they are given.
    unsafe { asm!("bkpt 0xab", inout("r0") operation => _, in("r1") argument) };
}

/// Prints a text.
pub(crate) fn print(text: &core::ffi::CStr) {
    const SYS_WRITE0: usize = 4;
    semihosting(SYS_WRITE0, text.as_ptr().expose_provenance());
}

/// Ends the program.
pub(crate) fn exit(is_well: bool) -> ! {
    const SYS_EXIT: usize = 0x18;
    const APPLICATION_EXIT: usize = 0x20026;
    const RUN_TIME_ERROR: usize = 0x20023;
    semihosting(
        SYS_EXIT,
        if is_well {
            APPLICATION_EXIT
        } else {
            RUN_TIME_ERROR
        },
    );
    loop {}
}

/// Calls `f` without interrupts, in which it may also be called.
pub(crate) fn without_interrupts<R>(f: impl FnOnce() -> R) -> R {
    let masked: u32;
    // SAFETY: it reads a flag.
    unsafe { asm!("mrs {}, PRIMASK", out(reg) masked) };
    // SAFETY: it only keeps interrupts away. As a barrier for the compiler, it accesses memory.
    unsafe { asm!("cpsid i") };
    let result = f();
    if masked == 0 {
        // SAFETY: interrupts were allowed before.
        unsafe { asm!("cpsie i") };
    }
    result
}

/// Sleeps until the next interrupt, unless there is something to do. An interrupt that comes after
/// the look ends the sleep as well, because it is held back until then, and not lost.
pub(crate) fn sleep_unless(something_to_do: impl FnOnce() -> bool) {
    without_interrupts(|| {
        if !something_to_do() {
            // SAFETY: it only waits.
            unsafe { asm!("wfi") };
        }
    });
}

/// A value that interrupts use too.
pub(crate) struct Shared<T>(UnsafeCell<T>);

// SAFETY: the one processor uses it without interrupts.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Calls `f` with the value. `f` must not call this for the same value.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: nothing interrupts `f`, so nobody else has a reference.
        without_interrupts(|| f(unsafe { &mut *self.0.get() }))
    }
}
