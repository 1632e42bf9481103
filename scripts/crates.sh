#!/usr/bin/env bash
# Checks the crates that other projects may use as crates.io would, and their promises: scripts/crates.sh [REVISION]
#
# Each is packaged, unpacked and built from its package (`cargo publish --dry-run`: nothing is sent). None breaks what REVISION
# promised, which is the last release unless it is said (cargo-semver-checks): a break asks for another version.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo publish --dry-run --workspace --quiet

before=${1:-$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true)}
if [ -z "$before" ]; then
    echo "crates: no release yet, so there is nothing to be compatible with" >&2
    exit 0
fi
version=0.51.0
[ "$(target/semver/bin/cargo-semver-checks --version 2>/dev/null | grep -o '[0-9][0-9.]*' | head -1)" = "$version" ] ||
    cargo install cargo-semver-checks --version "$version" --locked --quiet --root target/semver
PATH="$PWD/target/semver/bin:$PATH" cargo semver-checks --baseline-rev "$before" \
    --package delaylab-wire --package delaylab-stats --package delaylab-switch --package delaylab-sim
