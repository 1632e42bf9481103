#!/usr/bin/env bash
# Makes a Python environment in target/python: the libraries that tests read runs and documents with (polars, DuckDB,
# pandas with pyarrow), numpy, which `make accept` measures beside them, and what the tests of the Python package need.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/venv.sh" python polars==2.1.0 duckdb==2.0.0 numpy==2.4.6 pandas==3.0.0 pyarrow==26.0.1 \
    altair==6.3.0 distributed==2026.8.0 pytest==9.2.0 mypy==2.4.1 pyright==1.1.414
