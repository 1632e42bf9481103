#!/usr/bin/env bash
# Installs the simulators that delaylab is measured beside: ns-3 and SimPy from PyPI, at fixed versions,
# into target/simulation-peers. Does nothing if they are there.
#
# ns-3's wheel needs glibc 2.28 or later on x86-64; what it calls C++ by is built here (g++, two minutes,
# half a gigabyte). Where ns-3 cannot be had, SimPy is there all the same, and what pip said of ns-3 is in
# target/simulation-peers/ns3.log.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ns3="ns3==3.44.post0"
simpy="simpy==4.1.2"
there=target/simulation-peers
[ "$(cat $there/peers 2>/dev/null)" = "$ns3 $simpy" ] && exit 0
echo "simulation-peers: installing $ns3 and $simpy into $there (once, about three minutes)" >&2
mkdir -p target
python3 -m venv --clear $there
install=("$there/bin/pip" install --quiet --disable-pip-version-check)
"${install[@]}" "$simpy"
if "${install[@]}" "$ns3" >$there/ns3.log 2>&1 && $there/bin/python -c 'from ns import ns' >>$there/ns3.log 2>&1; then
    echo "$ns3 $simpy" >$there/peers
else
    echo "simulation-peers: no ns-3: $(tail -n 1 $there/ns3.log)" >&2
fi
