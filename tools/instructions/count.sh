#!/usr/bin/env bash
# Counts the instructions of one operation of each path with valgrind, and prints a table: with
# link-time optimization and without it, or with `--no-lto` only without. With `--mimalloc` the
# program has that allocator.
#
# Each row runs twice, with two numbers of repetitions. The difference of the two counts, divided by
# the difference of the numbers, is free of the program's start and end. The count is that of all
# threads. A worker acts by the clock in places, so a row of the executor can differ by a percent
# from run to run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

command -v valgrind >/dev/null || { echo "skipped: there is no valgrind"; exit; }
few=2000 many=22000
builds=(off)
[[ " $* " == *" --no-lto "* ]] || builds=(fat off)
features=
[[ " $* " != *" --mimalloc "* ]] || features=mimalloc

# The instructions of one run.
counted() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null |
        sed -n 's/.*Collected : //p'
}

head="| instructions of one operation |" line="|---|"
for lto in "${builds[@]}"; do
    folder=${CARGO_TARGET_DIR:-target}/instructions/$lto
    "${CARGO:-cargo}" build --quiet --profile bench --package joint-instructions \
        --features "$features" --config "profile.bench.lto=\"$lto\"" --target-dir "$folder"
    head+=" LTO $lto |" line+="---|"
done
printf '%s\n%s\n' "$head" "$line"
"$folder/release/joint-instructions" | while read -r row; do
    printf '| %s |' "$row"
    for lto in "${builds[@]}"; do
        program=${CARGO_TARGET_DIR:-target}/instructions/$lto/release/joint-instructions
        a=$(counted "$program" "$row" $few) b=$(counted "$program" "$row" $many)
        awk "BEGIN { printf \" %.0f |\", ($b - $a) / ($many - $few) }"
    done
    printf '\n'
done
