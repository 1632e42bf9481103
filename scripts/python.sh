#!/usr/bin/env bash
# Makes a Python environment in target/python with the libraries that tests read runs and documents with, polars,
# DuckDB and pandas, and numpy, which `make accept` measures beside them.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/venv.sh" python polars==2.1.0 duckdb==2.0.0 numpy==2.4.6 pandas==3.0.0
