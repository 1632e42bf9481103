#!/usr/bin/env bash
# delaylab shown in two minutes: an own reflector on loopback, pinged by each method; the anatomy of a udp
# response; and two experiments in their quick form, with their tables and reports. Needs no privilege; what
# this user may not do is skipped, with the remedy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

delaylab=target/demo/delaylab
pace=(-c 200 -i 5ms)
reflectors=()
scratch=$(mktemp -d)

stop_reflectors() {
    local pid
    for pid in ${reflectors[@]+"${reflectors[@]}"}; do
        kill "$pid" 2>/dev/null || continue
        wait "$pid" 2>/dev/null || true
    done
    reflectors=()
}

finish() {
    stop_reflectors
    rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

bold="" dim="" plain=""
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
fi

say() { printf '%s\n' "$*"; }

has_ipv6() { grep -q '^00000000000000000000000000000001 ' /proc/net/if_inet6 2>/dev/null; }

answers() { # address port
    "$delaylab" ping "$1" --method udp --port "$2" -c 1 -q >"$scratch/hello" 2>&1
}

# Starts a reflector that listens on the port, and waits until it answers.
start_reflector() { # address port
    local pid
    "$delaylab" reflect --bind "$1" --port "$2" --stamp-port $(($2 + 1)) >"$scratch/reflector" 2>&1 &
    pid=$!
    reflectors+=("$pid")
    for _ in {1..50}; do
        kill -0 "$pid" 2>/dev/null || return 1
        ! answers "$1" "$2" || return 0
        sleep 0.1
    done
    return 1
}

# On a port from 20000 on that is free at every address, and the one above it for stamp; five are tried.
start_reflectors() { # address...
    local address
    for _ in {1..5}; do
        port=$((20000 + RANDOM % 10000))
        for address in "$@"; do
            start_reflector "$address" "$port" && continue
            stop_reflectors
            continue 2
        done
        return
    done
    say "demo: no reflector would start on loopback:" >&2
    cat "$scratch/reflector" >&2
    exit 1
}

# A whole number of `ping --json`: of a distribution where one is named; nothing where it is null.
count() { # file name
    grep -o "\"$2\":[0-9]*" "$1" | head -1 | grep -o '[0-9]*$' || true
}

quantile() { # file distribution quantile
    grep -o "\"$2\":{[^{}]*\"$3\":[0-9]*" "$1" | head -1 | grep -o '[0-9]*$' || true
}

microseconds() { # ns
    awk -v ns="${1:-}" 'BEGIN { if (ns == "") print "-"; else printf "%.1f\n", ns / 1000 }'
}

heading() { # literal: printf counts the bytes of µ
    say
    say "${bold}                                    round trip (µs)      network (µs)"
    say "  method  to           answered          p50       p99           p50${plain}"
}

show_result() { # method address file
    printf '  %-7s %-10s %11s %12s %9s %13s\n' "$1" "$2" \
        "$(count "$3" received) of $(count "$3" sent)" \
        "$(microseconds "$(quantile "$3" round_trip p50_ns)")" \
        "$(microseconds "$(quantile "$3" round_trip p99_ns)")" \
        "$(microseconds "$(quantile "$3" network p50_ns)")"
}

ping_quietly() { # method address
    local file=$scratch/result code=0 to=$port
    [ "$1" != stamp ] || to=$((port + 1))
    "$delaylab" ping "$2" --method "$1" --port "$to" "${pace[@]}" -q --json >"$file" 2>"$file.err" || code=$?
    case $code in
    0) show_result "$1" "$2" "$file" ;;
    3) printf '  %-7s %-10s skipped: %s\n' "$1" "$2" "$(tr '\n' ' ' <"$file.err")" ;;
    *)
        cat "$file.err" >&2
        exit "$code"
        ;;
    esac
}

# The experiment's tables, and the path of its report on the last line.
run_quickly() { # experiment
    say
    say "${dim}\$ delaylab run $1 --quick${plain}"
    say
    "$delaylab" run "$1" --quick
}

main() {
    local addresses=(127.0.0.1) method address
    ! has_ipv6 || addresses+=(::1)
    start_reflectors "${addresses[@]}"

    say "A reflector of our own answers on ${addresses[*]}, port $port. A second of each method:"
    heading
    for method in icmp tcp stamp udp; do
        for address in "${addresses[@]}"; do
            ping_quietly "$method" "$address"
        done
    done

    say
    say "And udp once more, with the anatomy of its response:"
    say "${dim}\$ delaylab ping 127.0.0.1 --method udp --port $port ${pace[*]}${plain}"
    say
    "$delaylab" ping 127.0.0.1 --method udp --port "$port" "${pace[@]}" -q

    say
    say "Two experiments of the catalogue, each less than 40 s in this form:"
    run_quickly packet-size-latency
    run_quickly wait-time-jitter

    say
    say "Next: ${bold}$delaylab doctor${plain} says what this host can measure, ${bold}ping --help${plain} how to ask;"
    say "${bold}delaylab reflect${plain} on another machine gives you a path to measure. ${bold}make build${plain} optimises"
    say "all of it, in some minutes more: target/release/delaylab."
}

main
