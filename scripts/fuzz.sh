#!/usr/bin/env bash
# Builds the fuzzers with libFuzzer's instrumentation, on stable Rust and without cargo-fuzz, and runs each for SECONDS
# (default 10), from its seeds and from the inputs in fuzz/regressions. Stops at the first crash; the input that caused
# it stays in fuzz/artifacts.
#
#   scripts/fuzz.sh [SECONDS] [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-10}
shift || true
all=()
for file in fuzz/src/bin/*.rs; do
    all+=("$(basename "$file" .rs)")
done
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    targets=("${all[@]}")
fi
for target in "${targets[@]}"; do
    if [ ! -f "fuzz/src/bin/$target.rs" ]; then
        echo "fuzz: there is no target \`$target\`. The targets are: ${all[*]}" >&2
        exit 2
    fi
done

# Code that a fuzzer does not use is left out of it (no -Clink-dead-code): after every input, libFuzzer looks at the
# counters of all code.
triple=$(rustc -vV | sed -n 's/^host: //p')
flags=(
    -Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares
    --cfg=fuzzing
)
bins=()
for target in "${targets[@]}"; do
    bins+=(--bin "$target")
done

# --target keeps the flags off build scripts, which have no libFuzzer to call.
RUSTFLAGS="${flags[*]}" cargo build --quiet --release --manifest-path fuzz/Cargo.toml \
    --target "$triple" --target-dir fuzz/target "${bins[@]}"

mkdir -p fuzz/artifacts
log=$(mktemp)
trap 'rm -f "$log"' EXIT
total=0
for target in "${targets[@]}"; do
    corpus=fuzz/corpus/$target
    rm -rf "$corpus"
    mkdir -p "$corpus"
    if [ -d "fuzz/regressions/$target" ]; then
        cp -r "fuzz/regressions/$target/." "$corpus"
    fi
    # Without -max_len, libFuzzer takes the length of the longest input in the corpus, and 4096 bytes at least.
    if ! FUZZ_SEEDS=$corpus "fuzz/target/$triple/release/$target" -max_total_time="$seconds" \
        -artifact_prefix="fuzz/artifacts/$target-" "$corpus" >"$log" 2>&1; then
        cat "$log"
        echo "fuzz: $target crashed. To keep its input as a regression, copy it from fuzz/artifacts to fuzz/regressions/$target" >&2
        exit 1
    fi
    inputs=$(sed -n 's/^#\([0-9]*\)[[:space:]]*DONE.*/\1/p' "$log")
    if [ -z "$inputs" ]; then
        cat "$log"
        echo "fuzz: $target does not say how many inputs it ran" >&2
        exit 1
    fi
    echo "fuzz: $target: $inputs inputs"
    total=$((total + inputs))
done
echo "fuzz: ${#targets[@]} targets, $total inputs in all, no crash"
