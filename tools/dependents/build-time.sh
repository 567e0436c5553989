#!/usr/bin/env bash
# Measures the processor time that it takes to build joint-executor from an empty folder, by turns
# with tokio with the same features, and then both with those of most programs: dumps, which tokio
# has only by a cfg, and tokio's macros, which bring a parser. Prints the medians of the rounds, and
# the multiples that joint-executor's takes of each: `build-time.sh [ROUNDS]`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
out=${CARGO_TARGET_DIR:-target}/dependents
mkdir -p "$out"

joint="joint-executor = { path = '$root/joint-executor', default-features = false, features"
tokio="tokio = { version = '1', default-features = false, features"
builds=(
    "joint-executor            | $joint = ['io'] }"
    "tokio                     | $tokio = ['io-util', 'net', 'rt-multi-thread', 'sync', 'time'] }"
    "joint-executor with dumps | $joint = ['dump', 'io'] }"
    "tokio with macros         | $tokio = ['io-util', 'macros', 'net', 'rt-multi-thread', 'sync', 'time'] }"
)

# Builds a package that depends on this alone, as cargo builds what comes from a registry. Prints the
# seconds of processor time.
build() {
    local dependency=$1 folder=$out/build-time TIMEFORMAT='%U %S'
    shift
    rm -rf "$folder"
    mkdir -p "$folder/src"
    touch "$folder/src/lib.rs"
    cp Cargo.lock "$folder"
    printf '[package]\nname = "build-time"\nedition = "2024"\n\n[dependencies]\n%s\n\n[workspace]\n' \
        "$dependency" >"$folder/Cargo.toml"
    { time "${CARGO:-cargo}" build --quiet --offline --manifest-path "$folder/Cargo.toml" \
        --target-dir "$folder/target" --config 'build.incremental=false' \
        --config "build.rustflags=['--cap-lints=allow']" "$@" >&2; } 2>&1 | awk '{ print $1 + $2 }'
}

median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

echo "| profile | build | seconds (user and system) | joint-executor's multiple of it |"
echo "|---|---|---|---|"
for profile in dev release; do
    seconds=()
    for ((round = 0; round < ${1:-1}; round++)); do
        for n in "${!builds[@]}"; do
            seconds[n]+="$(build "${builds[n]#*| }" --profile $profile) "
        done
    done
    own=$(tr ' ' '\n' <<<"${seconds[0]% }" | median)
    for n in "${!builds[@]}"; do
        name=$(cut -d'|' -f1 <<<"${builds[n]}" | sed 's/ *$//')
        tr ' ' '\n' <<<"${seconds[n]% }" | median |
            awk -v own="$own" '{ printf "| '"$profile | $name"' | %.1f | %.2f |\n", $1, own / $1 }'
    done
done
