#!/usr/bin/env bash
# Checks by deny.toml what the product and the fuzz targets depend on: licences, crates that are banned or there
# in two versions, and where crates come from. Checks them for known vulnerabilities too, and for versions that their
# authors withdrew, where the RustSec advisory database can be fetched or was fetched before; else says "skipped" and
# why. cargo-deny comes from PATH or from target/tools/bin, where scripts/tools.sh puts it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PATH="$PATH:$PWD/target/tools/bin"
# Seconds for a fetch of the database. Git asks nobody for a password.
patience=30
export GIT_TERMINAL_PROMPT=0

deny() { # workspace, cargo-deny's global options, --, its command
    local manifest="$1/Cargo.toml"
    shift
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    cargo deny --manifest-path "$manifest" --config deny.toml --locked "${options[@]}" "$@"
}

# The day of the newest advisory in the fetched database.
database_day() {
    local folder
    for folder in "${CARGO_HOME:-$HOME/.cargo}"/advisory-dbs/advisory-db-*/; do
        git -C "$folder" log -1 --format=%cs 2>/dev/null && return
    done
    return 1
}

advisories() {
    local mode=() day
    timeout "$patience" cargo deny --config deny.toml fetch db >/dev/null 2>&1 || mode=(--offline)
    if ! day=$(database_day); then
        echo "skipped: advisories: the RustSec database is not here, and cannot be fetched"
        return
    fi
    echo "deny: advisories up to $day"
    deny . "${mode[@]}" -- check advisories
    deny fuzz "${mode[@]}" -- check advisories
}

if ! command -v cargo-deny >/dev/null; then
    echo "deny: cargo-deny is missing. Run scripts/tools.sh, then try again." >&2
    exit 3
fi
deny . -- check -D warnings licenses bans sources
# The fuzz targets need less, so some of what deny.toml allows is not there.
deny fuzz -- check -D warnings -A license-not-encountered -A unmatched-skip -A unnecessary-skip licenses bans sources
advisories
