#!/usr/bin/env bash
# Checks the proofs, that the theorems which docs/proof.md names assume nothing, and that
# src/tables.txt of joint is what Tables.v prints. `--write` writes that file instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
cp ./*.v "$built"

compile() {
    local file
    for file in "$@"; do
        (cd "$built" && coqc -q -R . Joint "$file.v")
    done
}

compile Common
compile Word WordProof & words=$!
compile Task TaskProof & tasks=$!
compile Rc11 Sleep
wait "$words"
wait "$tasks"
if grep -nE '\b(Admitted|admit|Axiom|Parameter|Conjecture)\b' ./*.v; then
    echo "something is assumed" >&2
    exit 1
fi

# | `theorem` | `File.v` | ...
rows=$(sed -nE 's/^\| `([A-Za-z0-9_]+)` \| `([A-Za-z0-9]+)\.v` \|.*/\2 \1/p' ../../docs/proof.md)
[ -n "$rows" ] || { echo "docs/proof.md names no theorem" >&2; exit 1; }
while read -r file theorem; do
    echo "From Joint Require $file. Print Assumptions $file.$theorem."
done <<< "$rows" > "$built/Assumptions.v"
assumed=$(cd "$built" && coqc -q -R . Joint Assumptions.v)
closed=$(grep -c '^Closed under the global context$' <<< "$assumed" || true)
count=$(wc -l <<< "$rows")
if [ "$closed" != "$count" ] || [ "$(wc -l <<< "$assumed")" != "$count" ]; then
    echo "$assumed"
    echo "a theorem of docs/proof.md has assumptions" >&2
    exit 1
fi
echo "$count theorems, each closed under the global context"

printed=$(compile Tables | grep -o '"[^"]*"' | tr -d '"')
if [ "${1-}" = --write ]; then
    echo "$printed" > ../../src/tables.txt
elif ! diff -u ../../src/tables.txt - <<< "$printed"; then
    echo "tables.txt is not what Tables.v prints: cargo xtask proof --write" >&2
    exit 1
fi
