#!/usr/bin/env bash
# Type-checks the packages for the systems that they are written for: for each target whose standard
# library is installed here. And with the oldest Rust that they promise. What a machine without
# atomics of 64 bits has instead is run here. `cargo xtask portable` calls it.
#
# Only the library is checked, because the dependencies of its tests need a C compiler for each
# target. The examples that need little are checked in a package of their own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

cargo=${CARGO:-cargo}
folder=${CARGO_TARGET_DIR:-$PWD/target}
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
before=${RUSTFLAGS:-}
# The versions of the repository.
cp Cargo.lock tools/compat/portable/

step() {
    echo "portable: ${*/#$cargo/cargo}"
    "$@"
}

# Whether a target has this part of its standard library here.
has() {
    compgen -G "$(rustc --print target-libdir --target "$1")/$2-*" >/dev/null
}

for target in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu aarch64-linux-android \
    x86_64-pc-windows-gnu x86_64-pc-windows-msvc aarch64-apple-darwin x86_64-unknown-freebsd; do
    if ! has $target libstd; then
        echo "portable: $target skipped: rustup target add $target"
        continue
    fi
    export RUSTFLAGS="$before -D warnings"
    for part in "-p joint --lib" "-p joint --lib --no-default-features" \
        "-p joint --lib --no-default-features --features alloc" \
        "-p joint-executor --lib --all-features" "-p joint-executor --lib --no-default-features" \
        "-p joint-ring --lib" "-p joint-hyper --lib --all-features" \
        "--manifest-path tools/compat/portable/Cargo.toml"; do
        step "$cargo" check --target $target --target-dir "$folder" $part
    done
done

# `joint` alone, for a target, with the parts of its library that are built if there is only their
# source.
small() {
    local target=$1 part=$2 parts=$3
    shift 3
    if has "$target" "$part"; then
        step "$cargo" check --target "$target" -p joint --lib "$@"
    elif [[ -e $(rustc --print sysroot)/lib/rustlib/src/rust/library/core ]]; then
        RUSTC_BOOTSTRAP=1 step "$cargo" check "-Zbuild-std=$parts" --target "$target" -p joint --lib "$@"
    else
        echo "portable: $target skipped: rustup target add $target, or rustup component add rust-src"
    fi
}
# A Cortex-M0 has no compare-exchange.
RUSTFLAGS="$before -D warnings --cfg portable_atomic_unsafe_assume_single_core" small \
    thumbv6m-none-eabi liballoc core,alloc --no-default-features --features alloc,portable-atomic
RUSTFLAGS="$before -D warnings" small wasm32-unknown-unknown libstd std,panic_abort

export RUSTFLAGS=$before
# In a folder of its own, whose builds would not serve another Rust.
if RUSTUP_AUTO_INSTALL=0 rustup run "$oldest" rustc --version >/dev/null 2>&1; then
    check=(env -u CARGO rustup run "$oldest" cargo check --locked --all-features --lib --bins
        --target-dir "$folder/oldest")
    step "${check[@]}" -p joint-switch -p joint -p joint-executor -p joint-flow -p joint-sim -p joint-ring -p joint-hyper
    (cd verify && step "${check[@]}" -p joint-lab -p joint-check -p joint-mutants)
else
    echo "portable: Rust $oldest skipped: rustup toolchain install $oldest --profile minimal"
fi

RUSTFLAGS="$before --cfg joint_narrow" step "$cargo" test -p joint --test joint task::
(cd loom-tests && CARGO_TARGET_DIR=$folder/loom \
    RUSTFLAGS="$before --cfg joint_loom --cfg joint_narrow" step "$cargo" test --release --test models task::)
tools/compat/thumbv7em/run.sh
