#!/usr/bin/env bash
# Builds the example for a Cortex-M4, looks for an allocator in it, and runs it in QEMU if that is
# installed. `cargo xtask portable` calls it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

target=thumbv7em-none-eabi
sysroot=$(rustc --print sysroot)
build=(--release --target-dir "${CARGO_TARGET_DIR:-$PWD/../../../target}/thumbv7em")
# The versions of the repository.
cp ../../../Cargo.lock .
if ! compgen -G "$(rustc --print target-libdir --target $target)/libcore-*" >/dev/null; then
    if [[ ! -e $sysroot/lib/rustlib/src/rust/library/core ]]; then
        echo "$target skipped: rustup target add $target, or rustup component add rust-src"
        exit
    fi
    export RUSTC_BOOTSTRAP=1
    build+=(-Zbuild-std=core)
fi
if [[ ! -e $sysroot/lib/rustlib/$(rustc --print host-tuple)/bin/rust-lld ]]; then
    # Debian has the compiler's linker under another name.
    command -v ld.lld >/dev/null || { echo "$target skipped: apt-get install lld"; exit; }
    export CARGO_TARGET_THUMBV7EM_NONE_EABI_LINKER=ld.lld
fi
cargo=${CARGO:-cargo}
"$cargo" build "${build[@]}"
program=${build[2]}/$target/release/thumbv7em
# An allocator, or code that formats text.
if grep -aoE '__rust_(alloc|dealloc)|4core3fmt|core\.\.fmt' "$program"; then
    echo "$program has what it must not have"
    exit 1
fi
if ! command -v qemu-system-arm >/dev/null; then
    echo "$target built, and not run: apt-get install qemu-system-arm"
    exit
fi
# Two tasks wait for timers, while a fourth finds the pool full.
diff <(printf '%s\n' full tick tock tick tick tock late done) <("$cargo" run "${build[@]}")
