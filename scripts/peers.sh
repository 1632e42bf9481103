#!/usr/bin/env bash
# Gets what only `make test-all` needs of others; does nothing where it is there:
#
# - Ray, into the Python environment that scripts/python.sh made (a quarter of a GB).
# - The STAMP implementation that is not ours, for the interworking tests: stamp-suite from crates.io, into target/peers.
#
# stamp-suite:
# One program is both ends, and needs no privilege above port 1023:
#
#   stamp-suite --remote-addr 127.0.0.1 --remote-port 8620 --count 20 --send-delay 5 --timeout 1 \
#       --output-format json                  sender: a JSON object of type "summary" on stdout, its log
#                                             on stderr. Exits 0 even where every probe was lost: look
#                                             at packets_sent, packets_received, avg_rtt_ms.
#   stamp-suite --is-reflector --local-addr 127.0.0.1 --local-port 8620      reflector, until SIGTERM
#
#   --auth-mode A --hmac-key-file FILE        either: authenticated. FILE holds the key in hex, at least
#                                             16 bytes, and must be readable by its owner only
#   --stateful-reflector                      reflector: counts by session, for the direction of loss
#   --timestamp-info, --cos --dscp 46, --follow-up-telemetry, --extra-padding 64
#                                             sender: TLVs of RFC 8972
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python="ray==2.60.0"
[ "$(cat target/python/peers 2>/dev/null)" = "$python" ] || {
    echo "peers: installing $python" >&2
    target/python/bin/pip install --quiet --disable-pip-version-check "$python"
    echo "$python" >target/python/peers
}

version=1.0.0
[ -x target/peers/bin/stamp-suite ] && exit 0
echo "peers: building stamp-suite $version (once, about a minute)" >&2
cargo install stamp-suite --version "$version" --locked --quiet --root target/peers --target-dir target/peers/build
