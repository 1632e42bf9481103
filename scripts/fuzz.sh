#!/usr/bin/env bash
# Builds every fuzz target with libFuzzer's instrumentation, on stable Rust and without cargo-fuzz,
# and runs each for SECONDS (default 10) from valid packets of its format. Fails on the first crash;
# the input that caused it is kept in fuzz/artifacts.
#
#   scripts/fuzz.sh [SECONDS] [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-10}
shift || true
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for file in fuzz/fuzz_targets/*.rs; do
        targets+=("$(basename "$file" .rs)")
    done
fi

triple=$(rustc -vV | sed -n 's/^host: //p')
flags=(
    -Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares
    -Clink-dead-code
    --cfg=fuzzing
)

rm -rf fuzz/corpus
cargo run --quiet --package delaylab-wire --example seeds -- fuzz/corpus
mkdir -p fuzz/corpus/experiment
cp crates/lab/tests/small.toml fuzz/corpus/experiment/
mkdir -p fuzz/corpus/import
cp crates/explain/tests/data/import/* fuzz/corpus/import/
mkdir -p fuzz/corpus/http
printf 'GET /run/a%%20b/window?from=1&to=2 HTTP/1.1\r\nHost: localhost:8864\r\n\r\n' >fuzz/corpus/http/window
mkdir -p fuzz/corpus/finding_check
sed -n 's/^check = "\([^"].*\)"$/\1/p' experiments/*.toml | split -l 1 - fuzz/corpus/finding_check/
mkdir -p fuzz/corpus/units
printf '%s\n' 20ms '0.2 s' 1.5h 5us 64B '1.5 KiB' 2GiB '10 Mbit/s' 155.52mbit 1Gbit/s | split -l 1 - fuzz/corpus/units/

# --target keeps the flags off build scripts, which have no libFuzzer to call.
RUSTFLAGS="${flags[*]}" cargo build --quiet --release --manifest-path fuzz/Cargo.toml \
    --target "$triple" --target-dir fuzz/target

mkdir -p fuzz/artifacts
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for target in "${targets[@]}"; do
    mkdir -p "fuzz/corpus/$target"
    if ! "fuzz/target/$triple/release/$target" -max_total_time="$seconds" -max_len=1024 \
        -artifact_prefix="fuzz/artifacts/$target-" "fuzz/corpus/$target" >"$log" 2>&1; then
        cat "$log"
        echo "fuzz: $target crashed; its input is in fuzz/artifacts" >&2
        exit 1
    fi
    echo "fuzz: $target: $(grep -E '^#[0-9]+.*DONE' "$log" || tail -n 1 "$log")"
done
