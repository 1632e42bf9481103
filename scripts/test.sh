#!/usr/bin/env bash
# Every check of the project, in the order that fails soonest; ends with a line that sums the tests up.
# Stops at the first step that fails. Test output is kept whole in target/test.log.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

log=target/test.log
step="nothing yet"
trap '[ $? = 0 ] || printf "\nmake test: FAILED at: %s\n" "$step" >&2' EXIT

begin() {
    step=$1
    printf '\n== %s\n' "$step"
}

# Of passed tests only the lines that say why one was skipped; of failed ones everything.
without_successes() {
    awk '/^successes:$/ { quiet = 1 }
         /^failures:$/ || /^test result:/ { quiet = 0 }
         !quiet || /^skipped: /'
}

sum_up() {
    awk '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
         /^skipped: /    { skipped++ }
         END { printf "%d tests passed (%d of them skipped, and say why above), %d failed, %d ignored",
                      passed, skipped, failed, ignored }' "$log"
}

mkdir -p target

begin "format"
cargo fmt --all --check

begin "lints"
cargo clippy --workspace --all-targets --quiet -- -D warnings

begin "a STAMP implementation that is not ours, to interwork with"
scripts/peers.sh

begin "Python libraries that read runs"
scripts/python.sh

begin "the figures' script is what its sources give"
scripts/web.sh

begin "tests"
cargo test --workspace --no-fail-fast -- --show-output 2>&1 | tee "$log" | without_successes

begin "docs"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

begin "fuzz targets, 5 s each"
scripts/fuzz.sh 5

printf '\nmake test: %s; format, lints, docs and fuzz targets are clean.\n' "$(sum_up)"
