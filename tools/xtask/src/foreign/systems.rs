//! The targets whose programs run here, and what each needs.

/// A target whose programs run here.
pub(super) struct System {
    pub(super) target: &'static str,
    pub(super) system: &'static str,
    /// Compiles C, and links.
    pub(super) compiler: &'static str,
    /// Runs the programs; empty if this machine does. The first word is a program.
    pub(super) emulator: &'static str,
    /// A program that has to be installed besides these.
    pub(super) needs: Option<&'static str>,
    /// Debian's packages of all that.
    pub(super) install: &'static str,
    /// Whether the std that rustup installs serves. If not, it is always built.
    pub(super) takes_installed_std: bool,
    pub(super) packages: &'static [&'static str],
    pub(super) shim: Option<Shim>,
    /// Flags for programs whose std is built, with the path of the shim in the place of `SHIM`.
    pub(super) flags: &'static str,
    pub(super) skips: &'static [Skip],
    /// How the panic of a test begins that asked for something that the system lacks.
    pub(super) lacks: &'static [&'static str],
}

/// A small library that the target's programs need, and nobody has.
pub(super) struct Shim {
    pub(super) compiler: &'static str,
    pub(super) source: &'static str,
    pub(super) output: &'static str,
    pub(super) args: &'static [&'static str],
}

/// Tests that are not run on a target.
pub(super) struct Skip {
    pub(super) why: &'static str,
    pub(super) tests: &'static [&'static str],
}

pub(super) const PACKAGES: [&str; 5] = [
    "joint-switch",
    "joint",
    "joint-executor",
    "joint-flow",
    "joint-sim",
];

/// QEMU has no io_uring, and the crate `io-uring` does not compile for a processor of 32 bits.
pub(crate) const WITH_RING: [&str; 6] = [
    "joint-switch",
    "joint",
    "joint-executor",
    "joint-flow",
    "joint-sim",
    "joint-ring",
];

pub(super) const WINE: &str = "wine";

pub(super) const IN_QEMU: [Skip; 3] = [
    Skip {
        why: "takes minutes in QEMU, and counts what is the same on each processor",
        tests: &["shutdown::dropped::a_million_resumptions_need_no_stack"],
    },
    Skip {
        why: "an assertion of QEMU ends a child that starts threads, of a parent that has some: a \
              plain program in C too",
        tests: &["a_child_may_drop_what_it_inherits_and_start_its_own"],
    },
    Skip {
        why: "QEMU takes no notice of a limit of the address space: a plain program in C too",
        tests: &[
            "a_name_that_no_thread_looks_up_is_an_error",
            "the_threads_that_there_are_do_what_others_are_refused_for",
            "without_any_thread_each_call_says_so_and_later_ones_run",
        ],
    },
];

pub(super) const IN_WINE: [Skip; 1] = [Skip {
    why: "in Wine, a reset reads as the end, a shutdown ends no wait, a peer that has gone is not seen \
          while there is something to read, and the error of a datagram that nobody gets is lost: a \
          plain program in C too",
    tests: &[
        "tcp::a_peer_that_resets_is_an_error_of_the_read_that_waits",
        "tcp::a_shutdown_from_elsewhere_ends_a_read_that_waits",
        "ready::a_stream_says_what_it_is_ready_for_and_when_the_peer_has_gone",
        "net::both::one_program_runs_on_real_and_on_simulated_sockets",
    ],
}];

pub(super) const IN_WASI: [Skip; 1] = [Skip {
    why: "what the refused thread should have run panics when it is dropped",
    tests: &["parts::a_panic_in_the_drop_of_metadata_passes_through_the_last_waker"],
}];

pub(super) const SYSTEMS: [System; 8] = [
    System {
        target: "aarch64-unknown-linux-gnu",
        system: "Linux, weakly ordered",
        compiler: "aarch64-linux-gnu-gcc",
        emulator: "qemu-aarch64 -L /usr/aarch64-linux-gnu",
        install: "qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
        ..LINUX
    },
    System {
        target: "armv7-unknown-linux-gnueabihf",
        system: "Linux, weakly ordered, 32 bits",
        compiler: "arm-linux-gnueabihf-gcc",
        emulator: "qemu-arm -L /usr/arm-linux-gnueabihf",
        install: "qemu-user gcc-arm-linux-gnueabihf libc6-dev-armhf-cross",
        ..LINUX
    },
    System {
        target: "riscv64gc-unknown-linux-gnu",
        system: "Linux, weakly ordered",
        compiler: "riscv64-linux-gnu-gcc",
        emulator: "qemu-riscv64 -L /usr/riscv64-linux-gnu",
        install: "qemu-user gcc-riscv64-linux-gnu libc6-dev-riscv64-cross",
        ..LINUX
    },
    System {
        target: "s390x-unknown-linux-gnu",
        system: "Linux, big endian",
        compiler: "s390x-linux-gnu-gcc",
        emulator: "qemu-s390x -L /usr/s390x-linux-gnu",
        install: "qemu-user gcc-s390x-linux-gnu libc6-dev-s390x-cross",
        ..LINUX
    },
    System {
        target: "i686-unknown-linux-gnu",
        system: "Linux, 32 bits",
        compiler: "i686-linux-gnu-gcc",
        needs: Some("/lib/ld-linux.so.2"),
        install: "gcc-i686-linux-gnu libc6-dev-i386-cross libc6-i386 lib32gcc-s1",
        skips: &[],
        ..LINUX
    },
    System {
        target: "x86_64-unknown-linux-musl",
        system: "Linux, musl",
        compiler: "musl-gcc",
        needs: Some("/usr/lib/llvm-22/lib/libunwind.a"),
        install: "musl-tools libunwind-22-dev",
        shim: Some(Shim {
            compiler: "musl-gcc",
            source: "tools/compat/musl/fprintf_chk.c",
            output: "fprintf_chk.o",
            args: &["-c"],
        }),
        // rustup's std has its own unwinder and start-up files.
        flags: "-C link-self-contained=no -C relocation-model=static \
                -C link-arg=-L/usr/lib/llvm-22/lib -C link-arg=SHIM",
        packages: &WITH_RING,
        skips: &[],
        ..LINUX
    },
    System {
        target: "x86_64-pc-windows-gnu",
        system: "Windows",
        compiler: "x86_64-w64-mingw32-gcc",
        emulator: WINE,
        install: "wine wine64 gcc-mingw-w64-x86-64",
        shim: Some(Shim {
            compiler: "x86_64-w64-mingw32-gcc",
            source: "tools/compat/wine/bcryptprimitives.c",
            output: "bcryptprimitives.dll",
            args: &["-shared", "-ladvapi32"],
        }),
        skips: &IN_WINE,
        ..LINUX
    },
    System {
        target: "wasm32-wasip1",
        system: "WASI, 32 bits, no threads",
        compiler: "wasm-ld",
        emulator: "node --no-warnings tools/compat/wasi/run.mjs",
        needs: Some("/usr/lib/wasm32-wasi/crt1-command.o"),
        install: "nodejs lld llvm wasi-libc",
        // It aborts on a panic.
        takes_installed_std: false,
        packages: &["joint-switch", "joint"],
        shim: Some(Shim {
            compiler: "llvm-mc",
            source: "tools/compat/wasi/exception.s",
            output: "exception.o",
            args: &["-triple=wasm32", "-filetype=obj"],
        }),
        flags: "-C panic=unwind -C link-self-contained=no \
                -C link-arg=-L/usr/lib/wasm32-wasi \
                -C link-arg=/usr/lib/wasm32-wasi/crt1-command.o -C link-arg=SHIM \
                -C link-arg=--import-undefined -C link-arg=-zstack-size=8388608",
        skips: &IN_WASI,
        lacks: &["failed to spawn thread: ", "a test is a program: "],
    },
];

/// What most of them have in common.
pub(super) const LINUX: System = System {
    target: "",
    system: "",
    compiler: "",
    emulator: "",
    needs: None,
    install: "",
    takes_installed_std: true,
    packages: &PACKAGES,
    shim: None,
    flags: "",
    skips: &IN_QEMU,
    lacks: &[],
};
