#!/usr/bin/env bash
# Makes a Python environment in target/NAME with these packages of PyPI, at these versions:
#
#   scripts/venv.sh NAME PACKAGE==VERSION...
#
# Does nothing where it is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=target/$1
shift
[ "$(cat "$folder/packages" 2>/dev/null)" = "$*" ] && exit 0
echo "${folder#target/}: installing $* into $folder (once, up to a minute)" >&2
mkdir -p target
python3 -m venv --clear "$folder"
# Python compiles the modules that are imported, which are few of all.
"$folder/bin/pip" install --quiet --disable-pip-version-check --no-compile "$@"
echo "$*" >"$folder/packages"
