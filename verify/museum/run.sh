#!/usr/bin/env bash
# Runs the tests of the museum, each against the version with the bug and the one without it:
# `verify/museum/run.sh [NAME...]`. The crates come from the registry, so CI does not run this.
set -uo pipefail
cd "$(dirname "$0")/.."

# No bug takes as long, and the repaired kanal would take longer.
export LOOM_MAX_DURATION=${LOOM_MAX_DURATION:-60}

# test; crate; with the bug; repaired, or -; options
rows='
arc_swap         arc-swap          1.8.2       1.9.1
async_executor   async-executor    1.14.0      1.14.1  --also async-task --also concurrent-queue --also crossbeam-utils --also futures-lite
async_oneshot    async-oneshot     0.5.9       -
async_task       async-task        1.1.0       1.1.1
crossbeam_channel crossbeam-channel 0.5.14     0.5.15  --also crossbeam-utils
event_listener   event-listener    5.3.0       5.3.1   --also parking
kanal            kanal             0.1.0-pre3  0.1.1
mea_oneshot      mea               0.6.3       0.6.4
oneshot          oneshot           0.1.11      -       --features std,async
oneshot_send     oneshot           0.2.1       -       --features std,async
spin_once        spin              0.9.2       0.9.3
spin_rwlock      spin              0.5.1       0.5.2
spin_try_once    spin              0.9.7       0.9.8
thingbuf         thingbuf          0.1.6       -
tokio_broadcast  tokio             1.44.1      1.44.2  --features sync
tokio_oneshot    tokio             1.13.0      1.13.1  --features sync
'

cargo build --quiet -p cargo-joint-check || exit
program=${CARGO_TARGET_DIR:-target}/debug/cargo-joint-check
wrong=0

# Runs one test. Says whether it ends as it should.
check() {
    local name=$1 crate=$2 version=$3 expected=$4
    shift 4
    local output status
    output=$("$program" "$crate@$version" --test "museum/$name.rs" "$@" 2>&1)
    status=$?
    local found='found nothing'
    [ "$status" = 0 ] || found="found: $(grep -m 1 -A 1 panicked <<<"$output" | tail -n 1 | cut -c 1-120)"
    [ "$status" = "$expected" ] || { wrong=$((wrong + 1)); found="WRONG, status $status: $found"; }
    local counts # each model's executions and seconds
    counts=$(grep -oE '[0-9,]+ executions.* in [0-9.]+ s' <<<"$output" | paste -sd ';')
    printf '%-18s %s %s: %s (%s)\n' "$name" "$crate" "$version" "$found" "$counts"
}

while read -r name crate broken repaired options; do
    [ -n "$name" ] || continue
    [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
    # shellcheck disable=SC2086 # several options
    check "$name" "$crate" "$broken" 1 $options
    # shellcheck disable=SC2086
    [ "$repaired" = - ] || check "$name" "$crate" "$repaired" 0 $options
done <<<"$rows"
exit $((wrong > 0))
