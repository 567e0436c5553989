#!/usr/bin/env bash
# Runs the tests of all packages as programs for other processors and systems, in an emulator, or
# here if this machine can: `cargo xtask foreign [--smoke | TARGET [PACKAGE]]`.
#
# A target's std is the installed one, or is built if its source is installed (RUSTC_BOOTSTRAP).
# Nothing is ever installed: what is missing is named, and the target is skipped. The linkers and the
# runners are here and not in `.cargo/config.toml`, where a machine of that kind would use them too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

here=tools/compat
folder=${CARGO_TARGET_DIR:-target}/foreign
[[ $folder == /* ]] || folder=$PWD/$folder
most="joint-switch joint joint-executor joint-flow joint-sim"

# A number of the harness's options.
skip() { printf -- '--skip %s ' "$@"; }

# Takes minutes in QEMU, and counts what is the same on each processor; an assertion of QEMU ends a
# child that starts threads, of a parent that has some; and QEMU takes no notice of a limit of the
# address space. The last two: a plain program in C too.
in_qemu=$(skip shutdown::dropped::a_million_resumptions_need_no_stack \
    a_child_may_drop_what_it_inherits_and_start_its_own \
    a_name_that_no_thread_looks_up_is_an_error \
    the_threads_that_there_are_do_what_others_are_refused_for \
    without_any_thread_each_call_says_so_and_later_ones_run)
# A shutdown ends no wait, a peer that has gone is not seen while there is something to read, and
# the error of a datagram that nobody gets is lost. The same holds for a plain program in C.
in_wine=$(skip tcp::a_shutdown_from_elsewhere_ends_a_read_that_waits \
    ready::a_stream_says_what_it_is_ready_for_and_if_its_peer_is_gone \
    net::both::one_program_runs_on_real_and_on_simulated_sockets)
# What the refused thread should have run panics when it is dropped.
in_wasi=$(skip parts::a_panic_in_the_drop_of_metadata_passes_through_the_last_waker)

# Sets what a target needs: the compiler, which also links; the runner, or none; a file that has to be
# installed besides these; Debian's packages; the packages that are tested; and for a std that is
# built, a small library that nobody has (how it is made, and its name) and flags.
system() {
    needs= runner= shim= made= flags= packages=$most skips=$in_qemu
    case $1 in
    aarch64-unknown-linux-gnu) # weakly ordered
        cc=aarch64-linux-gnu-gcc runner="qemu-aarch64 -L /usr/aarch64-linux-gnu"
        install="qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross" ;;
    armv7-unknown-linux-gnueabihf) # weakly ordered, 32 bits
        cc=arm-linux-gnueabihf-gcc runner="qemu-arm -L /usr/arm-linux-gnueabihf"
        install="qemu-user gcc-arm-linux-gnueabihf libc6-dev-armhf-cross" ;;
    riscv64gc-unknown-linux-gnu) # weakly ordered
        cc=riscv64-linux-gnu-gcc runner="qemu-riscv64 -L /usr/riscv64-linux-gnu"
        install="qemu-user gcc-riscv64-linux-gnu libc6-dev-riscv64-cross" ;;
    s390x-unknown-linux-gnu) # big endian
        cc=s390x-linux-gnu-gcc runner="qemu-s390x -L /usr/s390x-linux-gnu"
        install="qemu-user gcc-s390x-linux-gnu libc6-dev-s390x-cross" ;;
    i686-unknown-linux-gnu) # 32 bits
        cc=i686-linux-gnu-gcc needs=/lib/ld-linux.so.2 skips=
        install="gcc-i686-linux-gnu libc6-dev-i386-cross libc6-i386 lib32gcc-s1" ;;
    x86_64-unknown-linux-musl) # rustup's std has its own unwinder and start-up files
        cc=musl-gcc needs=/usr/lib/llvm-22/lib/libunwind.a skips= packages="$most joint-ring"
        install="musl-tools libunwind-22-dev"
        shim="musl-gcc -c $here/musl/fprintf_chk.c" made=fprintf_chk.o
        flags="-C link-self-contained=no -C relocation-model=static
            -C link-arg=-L/usr/lib/llvm-22/lib" ;;
    x86_64-pc-windows-gnu)
        cc=x86_64-w64-mingw32-gcc runner=wine skips=$in_wine
        install="wine wine64 gcc-mingw-w64-x86-64"
        shim="$cc -shared $here/wine/bcryptprimitives.c -ladvapi32" made=bcryptprimitives.dll ;;
    wasm32-wasip1) # 32 bits, no threads
        cc=wasm-ld runner="node --no-warnings $here/wasi/run.mjs" skips=$in_wasi
        needs=/usr/lib/wasm32-wasi/crt1-command.o packages="joint-switch joint"
        install="nodejs lld llvm wasi-libc"
        shim="llvm-mc -triple=wasm32 -filetype=obj $here/wasi/exception.s" made=exception.o
        flags="-C panic=unwind -C link-self-contained=no -C link-arg=-L/usr/lib/wasm32-wasi
            -C link-arg=/usr/lib/wasm32-wasi/crt1-command.o
            -C link-arg=--import-undefined -C link-arg=-zstack-size=8388608" ;;
    esac
}
targets="aarch64-unknown-linux-gnu armv7-unknown-linux-gnueabihf riscv64gc-unknown-linux-gnu
    s390x-unknown-linux-gnu i686-unknown-linux-gnu x86_64-unknown-linux-musl x86_64-pc-windows-gnu
    wasm32-wasip1"

# Prints what is missing for the target, if something is. Sets whether its std is built.
missing() {
    builds=
    for program in "$cc" ${runner%% *}; do
        command -v "$program" >/dev/null || { echo "no $program: apt-get install $install"; return; }
    done
    [[ -z $needs || -e $needs ]] || { echo "no $needs: apt-get install $install"; return; }
    local libraries source
    libraries=$(rustc --print target-libdir --target "$1") || { echo "this rustc does not know it"; return; }
    source=$(rustc --print sysroot)/lib/rustlib/src/rust/library/core
    # WASI's installed std aborts on a panic.
    if [[ $1 == wasm32-wasip1 ]] || ! compgen -G "$libraries/libstd-*" >/dev/null; then
        builds=-Zbuild-std=std,panic_unwind,proc_macro,test
        [[ -e $source ]] || echo "no std: rustup target add $1, or rustup component add rust-src"
    fi
}

# Runs cargo for the target; with the lines of debug information left out, which would be the greater
# part of what is written, and optimized, because an emulator has enough to do.
cargo_for() {
    local target=$1 command=$2 name
    shift 2
    name=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$target")
    local set=("TARGET_CC=$cc" "${name}_LINKER=$cc" "JOINT_EMULATOR=$runner")
    [[ -z $runner ]] || set+=("${name}_RUNNER=$runner")
    if [[ -n $builds ]]; then
        set+=(RUSTC_BOOTSTRAP=1)
        [[ -z $flags ]] || set+=("RUSTFLAGS=${RUSTFLAGS:-} $flags -C link-arg=$folder/shims/$made")
    fi
    if [[ $runner == wine ]]; then
        # Programs in there start others by themselves, and find libraries by a path of their own.
        local path="Z:${folder//\//\\}\\shims"
        set+=(WINEDEBUG=-all "WINEPREFIX=$folder/shims/wine" "WINEPATH=$path" JOINT_EMULATOR=)
    fi
    env "${set[@]}" "${CARGO:-cargo}" "$command" $builds --target "$target" --target-dir "$folder" \
        --config profile.dev.debug=false --config profile.dev.opt-level=1 "$@"
}

# The tests of WASI that fail because it has no threads and no programs are excused, and no others.
excused() {
    awk '/^running [0-9]+ test/ { begun++ } /^test result: / { ended++; sub(/ failed;.*/, ""); failed += $NF }
        /^---- .* stdout ----$/ { first = 1 } said { lacks += /^(failed to spawn thread|a test is a program): /; said = 0 }
        first && / panicked at / { first = 0; said = 1 } END { exit !(failed && failed == lacks && begun == ended) }' "$1"
}

run() {
    local target=$1 all=()
    mkdir -p "$folder/shims"
    [[ -z $shim ]] || $shim -o "$folder/shims/$made" || return 1
    for package in $packages; do
        [[ -n $2 && $2 != "$package" ]] || all+=(--package "$package")
    done
    [[ ${#all[@]} -gt 0 ]] || return 0
    # As programs, which some tests run.
    cargo_for "$target" build --all-features --examples "${all[@]}" || return 1
    local log=$folder/$target.log
    cargo_for "$target" test --all-features --lib --bins --tests --no-fail-fast "${all[@]}" -- \
        --exact --test-threads=2 $skips 2>&1 | tee "$log" && return 0
    [[ $target == wasm32-wasip1 ]] && excused "$log"
}

status=0 table=
for target in $targets; do
    [[ ${1:-} == --smoke || $target == *"${1:-}"* ]] || continue
    system "$target"
    mkdir -p "$folder"
    missing "$target" >"$folder/missing"
    lacks=$(<"$folder/missing")
    if [[ ${1:-} == --smoke ]]; then
        # The unit tests of joint, on the first target that is installed. No std is built for that.
        [[ -z $lacks && -z $builds ]] || continue
        cargo_for "$target" test --all-features --package joint --lib
        exit
    fi
    if [[ -n $lacks ]]; then
        table+="| $target | skipped: $lacks |"$'\n'
    elif run "$target" "${2:-}"; then
        table+="| $target | passed |"$'\n'
    else
        status=1 table+="| $target | failed |"$'\n'
    fi
done
if [[ ${1:-} == --smoke ]]; then
    echo "skipped: no other target is installed whose programs run here; \`cargo xtask foreign\` says why"
    exit
fi
printf '| target | tests |\n|---|---|\n%s' "$table"
exit $status
