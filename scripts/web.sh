#!/usr/bin/env bash
# Builds the figures' script from web/ and compares it with the committed web/dist:
#
#   scripts/web.sh          build; fail where the committed script is not what the sources give
#   scripts/web.sh update   build; the result replaces the committed script
#
# Needs Node and npm; downloads what web/package-lock.json pins. `cargo build` needs neither.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../web"

say() { printf 'web: %s\n' "$*" >&2; }

if ! command -v npm >/dev/null; then
    [ "${CI:-}" != true ] || { say "npm is missing"; exit 1; }
    say "skipped: npm is missing, so web/dist is taken as it is"
    exit 0
fi

committed=$(mktemp)
trap 'rm -f "$committed"' EXIT
[ ! -e dist/figures.js ] || cp dist/figures.js "$committed"

# The versions of the lock file, as `npm ci` would take them; but that wants the builds of a package for every
# other system in it, too, which not every registry has.
npm install --no-save --no-audit --no-fund --loglevel=error
npm run --silent check
npm run --silent build

[ "${1:-}" != update ] || exit 0
if ! cmp --silent dist/figures.js "$committed"; then
    cp "$committed" dist/figures.js
    say "web/dist/figures.js is not what web/ gives: run scripts/web.sh update and commit it"
    exit 1
fi
