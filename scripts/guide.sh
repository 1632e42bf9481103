#!/bin/sh
# Builds the user guide into target/guide, by an mdBook of its own in target/mdbook.
set -eu
cd "$(dirname "$0")/.."

version=0.4.52
mdbook=target/mdbook/bin/mdbook

if [ "$("$mdbook" --version 2>/dev/null)" != "mdbook v$version" ]; then
    cargo install mdbook --version "$version" --locked --no-default-features --features search --root target/mdbook
fi
"$mdbook" build
echo "target/guide/index.html"
