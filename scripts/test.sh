#!/usr/bin/env bash
# The checks of the project: scripts/test.sh [all]
#
# Without an argument: what a change can break, in a quarter of an hour on two cores. With `all`: what is long and
# seldom breaks too, in about an hour more (docs/development.md has a table of what runs where).
# Stops at the first step that fails. At the end: how long each step took, the slowest tests, and what was skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

what=${1:-changes}
[ "$what" = changes ] || [ "$what" = all ] || { echo "usage: scripts/test.sh [all]" >&2; exit 2; }

mkdir -p target
times=target/test-times.tsv
: >"$times"
step="" began=0
# The process that works beside a step.
beside=""

end_step() {
    [ -z "$step" ] || printf '%s\t%s\n' "$step" "$(($(date +%s) - began))" >>"$times"
    step=""
}

begin() {
    end_step
    step=$1 began=$(date +%s)
    printf '\n== %s\n' "$step"
}

# What mostly waits for a registry runs while the compiler works.
prepare() {
    scripts/python.sh
    scripts/web.sh
    [ "$what" != all ] || scripts/peers.sh
}

# What waits for nothing takes the CPU that tests leave, behind all other processes.
compile_units() {
    chrt --idle --pid 0 "$BASHPID"
    cargo nextest run --workspace --lib --bins --no-run --cargo-quiet
}
document() {
    chrt --idle --pid 0 "$BASHPID"
    RUSTDOCFLAGS="-D warnings" cargo doc "${documented[@]}" --no-deps --quiet
    cargo test --workspace --doc --quiet
}

# Lists the programs of tests among these targets, for run_tests. Cargo locks what it builds: by such a list tests run without
# it, beside what it builds.
list_tests() { # profile, targets
    local profile=$1
    shift
    cargo nextest list --workspace "$@" --list-type binaries-only --message-format json --cargo-quiet \
        >"target/$profile.json"
}
run_tests() { # profile, filter
    cargo nextest run --cargo-metadata target/metadata.json --binaries-metadata "target/$1.json" --profile "$1" \
        "${filter[@]}" -E "$2" --test-threads "$slots"
}

# Begins a function beside the steps, in a group of processes of its own: it ends with all that it started.
begin_beside() {
    set -m
    "$1" >"$2" 2>&1 &
    beside=$!
    set +m
}

# Waits for what works beside the steps; LOG is shown where it failed. Its number may be another process's then.
end_beside() {
    local code=0
    wait "$beside" || code=$?
    beside=""
    [ "$code" = 0 ] || { cat "$1" >&2; exit 1; }
}

finish() {
    local code=$?
    if [ "$code" != 0 ]; then
        printf '\nmake test: FAILED at: %s\n' "${step:-the start}" >&2
        [ -z "$beside" ] || kill -- "-$beside" 2>/dev/null || true
    fi
}
trap finish EXIT

# Three slots a CPU, and one: .config/nextest.toml says which test takes how many.
slots=$((3 * $(nproc) + 1))
# The random cases of properties: the same in every run, and with `all` others every day. The crates that others use
# are documented in every run.
export PROPTEST_RNG_SEED=1
filter=()
documented=(-p delaylab-wire -p delaylab-stats -p delaylab-switch -p delaylab-sim)
if [ "$what" = all ]; then
    filter=(--ignore-default-filter)
    PROPTEST_RNG_SEED=$(date +%Y%m%d)
    documented=(--workspace)
fi
alone='test(/(^|::)alone::/) or binary(lockdown)'

begin "tools"
scripts/tools.sh
export PATH="$PWD/target/tools/bin:$PATH"

begin "format"
cargo fmt --all --check

begin "dependencies"
scripts/deny.sh

begin_beside prepare target/prepare.log

# Clippy is the compiler with more lints: where it compiles the tests, nothing is compiled once for the lints and once
# more to run. The two words are how `cargo clippy -- -D warnings` calls it, each argument with its mark behind.
export RUSTC_WORKSPACE_WRAPPER=clippy-driver
export CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
begin "build the programs and their tests, with every lint"
cargo nextest run --workspace --test '*' --no-run --cargo-quiet
# Benchmarks and examples are only compiled, and seldom break.
[ "$what" != all ] || cargo check --workspace --benches --examples --quiet

begin "Python libraries, and the figures' script is what its sources give"
end_beside target/prepare.log

begin "tests of programs, and beside them the unit tests are built"
rm -f target/nextest/*/junit.xml
cargo metadata --format-version 1 >target/metadata.json
list_tests programs --test '*'
begin_beside compile_units target/units.log
run_tests programs "not ($alone)"
end_beside target/units.log

begin "tests of units, those that run alone, and beside them the documentation of code"
list_tests units --lib --bins --test '*'
begin_beside document target/doc.log
run_tests units "not kind(test) or $alone"
end_beside target/doc.log

if [ "$what" = all ]; then
    begin "crates, as they would be published"
    scripts/crates.sh

    begin "notebooks"
    scripts/notebooks.sh check

    begin "fuzz targets, ${FUZZ_SECONDS:-60} s each"
    scripts/fuzz.sh "${FUZZ_SECONDS:-60}"

    begin "make accept, in its short form"
    make --no-print-directory accept SECONDS=5 ROUNDS=3
fi

end_step
python3 -B scripts/test_times.py "$times" scripts/test-times.tsv target/nextest/*/junit.xml
