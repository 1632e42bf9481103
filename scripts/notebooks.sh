#!/usr/bin/env bash
# Carries out every notebook of docs/notebooks with the package of this tree: scripts/notebooks.sh [check|write] [NAME...]
#
# check (what `make test-all` does): none may raise an error. write: what they print is stored in them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

what=${1:-check}
[ $# = 0 ] || shift
scripts/venv.sh notebooks polars==2.1.0 altair==6.3.0 distributed==2026.8.0 nbclient==0.11.0 ipykernel==7.4.0 nbformat==5.11.1
# All of it: with some packages alone, libraries would be built again with fewer features.
cargo build --quiet --workspace
package=$PWD/target/tmp/notebooks
rm -rf "$package"
mkdir -p "$package"
cp -r python/delaylab "$package/"
cp target/debug/lib_delaylab.so "$package/delaylab/_delaylab.abi3.so"
export PYTHONPATH="$package" DELAYLAB="$PWD/target/debug/delaylab" PYTHONDONTWRITEBYTECODE=1
exec target/notebooks/bin/python scripts/notebooks.py "$what" "$@"
