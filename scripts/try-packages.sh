#!/usr/bin/env bash
# Installs what `make release` made in new roots of Debian 12, and says what it takes: scripts/try-packages.sh (root)
#
# Each package is installed without a network, pings its own loopback and asks `doctor`. The Debian package, whose dependencies are
# there before, is read by lintian, pings as a user without privileges, and leaves no file when it is purged; the container image is
# unpacked and run; the program for aarch64, if it was made, simulates under qemu-aarch64 what that for x86-64 does. The last lines
# are a table of seconds and megabytes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

say() { printf '\n== %s\n' "$*" >&2; }
fail() {
    printf 'try-packages: %s\n' "$*" >&2
    exit 1
}

[ "$(id -u)" = 0 ] || fail "making a root and its mounts needs root: sudo $0"
packages=$PWD/target/packages
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
here=$(uname -m)
[ -s "$packages/SHA256SUMS" ] || fail "there is nothing in target/packages: make release"
scripts/install.sh packages

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
table=$scratch/table

# The root as Debian gives it, with what pip needs; every package gets a copy.
base=$scratch/base
new_root() { # name
    [ -d "$base" ] || {
        say "a root of Debian 12"
        mmdebstrap --quiet --variant=apt --include=python3-venv bookworm "$base"
    }
    cp -a "$base" "$scratch/$1"
}

# Runs in a root as in a container: its own processes, and a network that is loopback alone.
inside() { # root command...
    local root=$1
    shift
    unshare --mount --net --pid --ipc --uts --fork --kill-child sh -c '
        ip link set lo up
        mount -t proc proc "$0/proc" && mount -t sysfs sysfs "$0/sys" && mount -t tmpfs tmpfs "$0/tmp"
        exec chroot "$0" "$@"' "$root" "$@"
}

megabytes() { du -s --block-size=1000000 --apparent-size "$@" | awk '{ sum += $1 } END { print sum }'; }
now() { date +%s%N; }
record() { # what, file, began, installed, answered, megabytes when installed
    awk -v OFS='\t' -v CONVFMT=%.1f -v OFMT=%.1f -v took="$(($4 - $3))" -v first="$(($5 - $4))" \
        -v what="$1" -v file="$(megabytes "$2")" -v room="$6" 'BEGIN { print what, file, took / 1e9, first / 1e9, room }' >>"$table"
}

# The first thing that a user does: five packets, and what this host can do.
first_ping() { # root, delaylab
    inside "$1" "$2" ping 127.0.0.1 -c 5 -i 20ms --json | grep -q '"schema"' || fail "$2 ping gave no answer in $1"
    inside "$1" "$2" doctor >"$scratch/doctor" || true
    grep -qi 'udp' "$scratch/doctor" || fail "$2 doctor says nothing in $1"
}

try_wheel() {
    local wheel root=$scratch/wheel began installed
    wheel=$(ls "$packages"/delaylab-*manylinux*"$here".whl)
    say "the wheel"
    new_root wheel
    inside "$root" python3 -m venv /venv
    local before
    before=$(megabytes "$root")
    cp "$wheel" "$root/srv/"
    began=$(now)
    inside "$root" /venv/bin/pip install --quiet --no-index "/srv/${wheel##*/}"
    installed=$(now)
    first_ping "$root" /venv/bin/delaylab
    local answered
    answered=$(now)
    rm "$root/srv/${wheel##*/}"
    record wheel "$wheel" "$began" "$installed" "$answered" $(($(megabytes "$root") - before))
    inside "$root" /venv/bin/python -c '
import delaylab as dl
run = dl.ping("127.0.0.1", count=5, interval="20ms")
print(run.summary())'
}

try_deb() {
    local deb=("$packages"/delaylab_"$version"-*.deb) root=$scratch/deb began installed answered before
    say "the Debian package: lintian"
    lintian --fail-on error,warning "${deb[0]}"
    say "the Debian package: installed"
    new_root deb
    # What it depends on is the base's to bring.
    chroot "$root" sh -c 'apt-get update -qq && apt-get install -qq --no-install-recommends adduser libcap2-bin >/dev/null 2>&1'
    before=$(megabytes "$root")
    cp "${deb[0]}" "$root/srv/"
    began=$(now)
    inside "$root" dpkg --install "/srv/${deb[0]##*/}" >&2
    installed=$(now)
    first_ping "$root" delaylab
    answered=$(now)
    rm "$root/srv/${deb[0]##*/}"
    record deb "${deb[0]}" "$began" "$installed" "$answered" $(($(megabytes "$root") - before))
    # Capabilities let a user ping by ICMP; sysusers made the services' user.
    inside "$root" setpriv --reuid nobody --regid nogroup --clear-groups \
        delaylab ping 127.0.0.1 --method icmp -c 3 -i 20ms >&2 || fail "a user without privileges cannot ping by ICMP"
    inside "$root" getent passwd delaylab >&2 || fail "the services' user was not made"
    inside "$root" dpkg --verify delaylab >&2
    # The page of the guide with which each help ends is there.
    local command page
    for command in $(inside "$root" delaylab --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  .*/\1/p'); do
        [ "$command" != help ] || continue
        page=$(inside "$root" delaylab "$command" --help | sed -n 's/^Guide: //p')
        [ -f "$root/usr/share/doc/delaylab/$page" ] || fail "the guide of $command is not in the package: $page"
    done
    # A file that the administrator changed outlasts an upgrade and a removal, and no purge.
    echo '# changed here' >>"$root/etc/default/delaylab-reflect"
    cp "${deb[0]}" "$root/srv/"
    inside "$root" dpkg --install "/srv/${deb[0]##*/}" >&2
    grep -q '# changed here' "$root/etc/default/delaylab-reflect" || fail "an upgrade took the administrator's change away"
    inside "$root" dpkg --remove delaylab >&2
    grep -q '# changed here' "$root/etc/default/delaylab-reflect" || fail "a removal took the administrator's change away"
    inside "$root" dpkg --purge delaylab >&2
    local left
    left=$(find "$root/usr" "$root/etc" "$root/var" "$root/opt" -name '*delaylab*' ! -path '*/dpkg/*' 2>/dev/null || true)
    [ -z "$left" ] || fail "a purge leaves $left"
}

try_static() {
    local program=$packages/delaylab-$version-$here-linux root=$scratch/empty began answered
    say "the program alone, in a root that holds nothing else"
    mkdir -p "$root"/{proc,sys,tmp}
    began=$(now)
    cp "$program" "$root/delaylab"
    local installed
    installed=$(now)
    first_ping "$root" /delaylab
    answered=$(now)
    record program "$program" "$began" "$installed" "$answered" "$(megabytes "$root/delaylab")"
}

try_oci() {
    local archive=$packages/delaylab-$version-oci.tar layout=$scratch/layout root=$scratch/image/rootfs began installed answered
    say "the container image"
    mkdir -p "$layout"
    began=$(now)
    tar -C "$layout" -xf "$archive"
    umoci unpack --image "$layout:$version" "$scratch/image"
    mkdir -p "$root"/{proc,sys,tmp}
    installed=$(now)
    first_ping "$root" /usr/bin/delaylab
    answered=$(now)
    record image "$archive" "$began" "$installed" "$answered" "$(megabytes "$root/usr")"
}

# The other architecture's, where its emulator is here: what a build without a machine of it cannot see.
try_aarch64() {
    local program=$packages/delaylab-$version-aarch64-linux
    [ "$here" = x86_64 ] && [ -f "$program" ] || return 0
    say "the program for aarch64, emulated"
    qemu-aarch64 "$program" --version
    qemu-aarch64 "$program" run wait-time-jitter --quick --world sim -o "$scratch/emulated" >"$scratch/emulated.txt"
    "$packages/delaylab-$version-$here-linux" run wait-time-jitter --quick --world sim -o "$scratch/native" >"$scratch/native.txt"
    grep -E '^[✔✘?–]' "$scratch/native.txt" >"$scratch/native-findings" || fail "a simulation has no findings"
    grep -E '^[✔✘?–]' "$scratch/emulated.txt" | diff "$scratch/native-findings" - || fail "a simulation of one seed ends otherwise on aarch64"
}

try_static
try_wheel
try_deb
try_oci
try_aarch64
say "what it takes"
{
    printf 'package\tMB of its file\ts to install\ts to the first ping and doctor\tMB installed\n'
    cat "$table"
} | column -t -s $'\t'
