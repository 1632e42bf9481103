#!/usr/bin/env bash
# Makes a Python environment in target/python with the libraries that tests read runs with, polars and
# DuckDB, and numpy, which `make accept` measures beside them: from PyPI, at fixed versions. Does nothing
# if it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

libraries="polars==2.1.0 duckdb==2.0.0 numpy==2.4.6"
[ "$(cat target/python/libraries 2>/dev/null)" = "$libraries" ] && exit 0
echo "python: installing $libraries into target/python (once, about a minute)" >&2
mkdir -p target
python3 -m venv --clear target/python
# shellcheck disable=SC2086 # each is a word
target/python/bin/pip install --quiet --disable-pip-version-check $libraries
echo "$libraries" >target/python/libraries
