#!/usr/bin/env bash
# Installs from Debian what is missing here: scripts/install.sh [demo|test|accept|release|packages]
#
# What is there already is left alone, and then nothing is downloaded either. As root, or with a sudo
# that asks no password, it installs; else it prints the command that would and exits 3. Rust is taken for
# granted; only its rustfmt and clippy are added where rustup can.
set -euo pipefail

# Tools that only root uses may be missing from a user's PATH.
PATH="$PATH:/usr/sbin:/sbin"

say() { printf 'install: %s\n' "$*" >&2; }

needs() { # purpose: command=package of each that it needs
    case $1 in
    # cc: SQLite, zstd and QuickJS are compiled. The others build the testbed of an experiment.
    demo) printf '%s\n' cc=build-essential ip=iproute2 tc=iproute2 nft=nftables ;;
    test)
        needs demo
        # c++: libFuzzer is compiled.
        printf '%s\n' c++=build-essential tcpdump=tcpdump ping=iputils-ping python3=python3 unshare=util-linux mount=mount \
            node=nodejs npm=npm iperf3=iperf3 jq=jq rsvg-convert=librsvg2-bin nginx=nginx-light unbound=unbound \
            haproxy=haproxy apache2=apache2 systemd-analyze=systemd
        # Without windows it starts sooner.
        command -v chromium >/dev/null || echo chromium-headless-shell=chromium-headless-shell
        needs_venv
        ;;
    accept) printf '%s\n' ip=iproute2 ping=iputils-ping irtt=irtt sockperf=sockperf tcpdump=tcpdump python3=python3 \
        iperf3=iperf3 trafgen=netsniff-ng chromium=chromium nginx=nginx-light unbound=unbound curl=curl \
        httping=httping wrk=wrk hey=hey dnsperf=dnsperf pg_createcluster=postgresql \
        prometheus-blackbox-exporter=prometheus-blackbox-exporter ;;
    # umoci puts a container image together, without a daemon.
    release)
        printf '%s\n' cc=build-essential python3=python3 git=git umoci=umoci
        needs_venv
        ;;
    # What scripts/try-packages.sh installs packages into, and looks at them with.
    packages) printf '%s\n' mmdebstrap=mmdebstrap lintian=lintian umoci=umoci qemu-aarch64=qemu-user ip=iproute2 unshare=util-linux ;;
    *)
        say "usage: scripts/install.sh [demo|test|accept|release|packages]"
        exit 2
        ;;
    esac
}

needs_venv() { # Debian keeps what makes virtual environments apart.
    python3 -c 'import ensurepip' 2>/dev/null || echo no-such-command=python3-venv
}

require_rust() {
    command -v cargo >/dev/null && return
    say "cargo is missing. Install Rust with rustup, then try again."
    exit 3
}

require_components() { # cargo subcommand=rustup component...
    local pair
    for pair in "$@"; do
        cargo "${pair%%=*}" --version >/dev/null 2>&1 && continue
        if ! command -v rustup >/dev/null; then
            say "cargo ${pair%%=*} is missing: install this Rust's ${pair#*=}."
            exit 3
        fi
        rustup component add "${pair#*=}"
    done
}

missing_packages() { # reads command=package lines
    local command package
    while IFS='=' read -r command package; do
        [ -z "$command" ] || command -v "$command" >/dev/null || printf '%s\n' "$package"
    done | sort -u
}

become_root() { # the words that let the rest of a command line run as root
    if [ "$(id -u)" = 0 ]; then
        echo "env"
    elif sudo -n true 2>/dev/null; then
        echo "sudo -n env"
    else
        return 1
    fi
}

install_packages() { # package...
    local as_root
    if ! command -v apt-get >/dev/null; then
        say "missing: $*. This is not Debian: install them by this system's own means."
        exit 3
    fi
    if ! as_root=$(become_root); then
        say "missing: $*. Run as root, then try again:"
        say "    apt-get update && apt-get install -y --no-install-recommends $*"
        exit 3
    fi
    say "missing: $*"
    without_services "$as_root"
    $as_root apt-get update -qq
    $as_root DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
    # Nor at the next start of the machine.
    local package
    for package in "$@"; do
        case $package in
        nginx-light | apache2 | haproxy | unbound | postgresql | prometheus-blackbox-exporter)
            [ ! -d /run/systemd/system ] || $as_root systemctl disable --quiet "${package%-light}"
            ;;
        esac
    done
}

# Testbeds start servers of their own: none of the packages is to take this machine's ports. A policy that is there already
# decides itself.
without_services() { # the words that run as root
    local policy=/usr/sbin/policy-rc.d
    [ ! -e "$policy" ] || return 0
    # shellcheck disable=SC2064 # these words, and not those of later
    trap "$1 rm -f $policy" EXIT
    printf '#!/bin/sh\nexit 101\n' | $1 tee "$policy" >/dev/null
    $1 chmod 755 "$policy"
}

main() {
    local purpose=${1:-demo} needed packages
    needed=$(needs "$purpose")
    require_rust
    [ "$purpose" != test ] || require_components fmt=rustfmt clippy=clippy
    mapfile -t packages < <(missing_packages <<<"$needed")
    [ ${#packages[@]} = 0 ] || install_packages "${packages[@]}"
}

main "$@"
