#!/usr/bin/env python3
"""Measures what a flood of strangers does to an honest client of `delaylab reflect`.

    benches/flood.py [--binary PATH] [--seconds 20] [--rates 50000,100000,150000] [--kinds hello,data,stamp]
                     [--client udp|stamp|tcp] [--keyed] [--sources 4000]

Three network namespaces of its own: the reflector, an honest client, and a flooder that sends frames with as many
forged sources as asked for. It prints the client's loss, its median and 99th percentile of the round trip, without and
with each flood, the rate that the flood reached, and how busy the CPUs were. Everything is removed on exit.
Needs root. Kinds of flood: `hello` and `data` go to the port of sessions, `stamp` to STAMP's.

Exit: 0 measured, 1 something could not be measured, 3 this machine lacks what it takes.
"""

import argparse
import ctypes
import json
import multiprocessing
import os
import pathlib
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time

PREFIX = "dlflood"
REFLECTOR, CLIENT, FLOODER = (f"{PREFIX}-{name}" for name in ("r", "c", "f"))
ETHERTYPE_IPV4 = 0x0800
CLONE_NEWNET = 0x40000000  # os.setns comes with Python 3.12


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def build():
    """The reflector's namespace is joined to each of the others; replies to forged sources go to the flooder."""
    for name in (REFLECTOR, CLIENT, FLOODER):
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
    for peer, subnet in ((CLIENT, "10.97.1"), (FLOODER, "10.97.2")):
        run("ip", "link", "add", "v0", "netns", peer, "type", "veth", "peer", "name", f"to-{peer[-1]}", "netns", REFLECTOR)
        run("ip", "-n", peer, "addr", "add", f"{subnet}.2/24", "dev", "v0")
        run("ip", "-n", REFLECTOR, "addr", "add", f"{subnet}.1/24", "dev", f"to-{peer[-1]}")
        run("ip", "-n", peer, "link", "set", "v0", "up")
        run("ip", "-n", REFLECTOR, "link", "set", f"to-{peer[-1]}", "up")
    run("ip", "-n", REFLECTOR, "route", "add", "default", "via", "10.97.2.2")
    run("ip", "netns", "exec", REFLECTOR, "sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0")


def remove():
    for name in (REFLECTOR, CLIENT, FLOODER):
        subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)


def hardware_address(namespace, interface):
    text = subprocess.run(["ip", "-n", namespace, "-j", "link", "show", interface], capture_output=True, check=True).stdout
    return bytes.fromhex(json.loads(text)[0]["address"].replace(":", ""))


def checksum(header):
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def payload(kind, number):
    """A Hello with another nonce each, data of a session that does not exist, or a STAMP request."""
    if kind == "hello":
        return (b"delaylab\x01\x01" + struct.pack(">QBI", number, 1, 100)).ljust(256, b"\0")
    if kind == "data":
        return random.randbytes(100)
    return struct.pack(">IQ", number, number << 32).ljust(44, b"\0")


def frame(kind, number, sources, to, from_, port):
    data = payload(kind, number)
    source = number % sources
    udp = struct.pack(">HHHH", 20000 + number % 40000, port, 8 + len(data), 0)
    fields = (0x45, 0, 28 + len(data), number & 0xFFFF, 0, 64, 17)
    ends = bytes([10, 90, source >> 8, source & 0xFF]) + socket.inet_aton("10.97.2.1")
    ip = struct.pack(">BBHHHBBH", *fields, 0) + ends
    ip = struct.pack(">BBHHHBBH", *fields, checksum(ip)) + ends
    return to + from_ + struct.pack(">H", ETHERTYPE_IPV4) + ip + udp + data


def flood(kind, rate, sources, seconds, to, from_, port, sent):
    """Runs inside the flooder's namespace: frames in bursts of a millisecond."""
    frames = [frame(kind, number, sources, to, from_, port) for number in range(max(sources, 4000))]
    with open(f"/run/netns/{FLOODER}", encoding="ascii") as namespace:
        ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET)
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    raw.bind(("v0", 0))
    start, count = time.monotonic(), 0
    while (now := time.monotonic()) < start + seconds:
        due = int((now - start) * rate)
        while count < due:
            try:
                raw.send(frames[count % len(frames)])
            except OSError:
                pass  # the interface takes no more just now
            count += 1
        time.sleep(0.001)
    sent.value = count


def busy():
    with open("/proc/stat", encoding="ascii") as stat:
        fields = [int(field) for field in stat.readline().split()[1:]]
    return sum(fields) - fields[3] - fields[4], sum(fields)


def cpu_of(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(options, key, kind, rate):
    folder = pathlib.Path(key).parent
    keyed = ["--key-file", key] if options.keyed else []
    access = keyed or ["--open", "--allow", "0.0.0.0/0"]
    command = ["ip", "netns", "exec", REFLECTOR, options.binary, "reflect", "--stamp-port", "8620", *access]
    with open(folder / "said", "w+", encoding="utf-8") as said, subprocess.Popen(command, stderr=said) as reflector:
        try:
            time.sleep(1.5)
            said.seek(0)
            if "privileges" not in said.read():
                raise RuntimeError("the reflector did not start")
            port = 8620 if options.client == "stamp" else 8862
            interval = 5
            ping = subprocess.Popen(
                ["ip", "netns", "exec", CLIENT, options.binary, "ping", "10.97.1.1", "--method", options.client,
                 "--port", str(port), *keyed, "-i", f"{interval}ms", "-c", str(options.seconds * 1000 // interval), "--json"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            time.sleep(1)
            sent, before, used = multiprocessing.Value("q", 0), busy(), cpu_of(reflector)
            if rate:
                to, from_ = hardware_address(REFLECTOR, "to-f"), hardware_address(FLOODER, "v0")
                at = 8620 if kind == "stamp" else 8862
                arguments = (kind, rate, options.sources, options.seconds - 1, to, from_, at, sent)
                flooder = multiprocessing.Process(target=flood, args=arguments)
                flooder.start()
            output = ping.communicate()[0]
            after, used = busy(), cpu_of(reflector) - used
            if rate:
                flooder.join()
        finally:
            reflector.send_signal(2)
    stats = json.loads(output)["stats"]
    packets = options.seconds * 1000 // 5
    answered = stats["round_trip"]["count"]
    reached = sent.value / (options.seconds - 1)
    share = (after[0] - before[0]) / (after[1] - before[1])
    micros = lambda name: f"{(stats['round_trip'][name] or 0) / 1000:.0f}"
    print(f"{kind if rate else 'none':6} {reached / 1000:6.0f} {100 * (1 - answered / packets):8.2f} {micros('p50_ns'):>8} "
          f"{micros('p99_ns'):>9} {100 * share:6.0f} {100 * used / options.seconds:9.0f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--binary", default="target/release/delaylab")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rates", default="50000,100000,150000")
    parser.add_argument("--kinds", default="hello,data")
    parser.add_argument("--client", default="udp")
    parser.add_argument("--keyed", action="store_true")
    parser.add_argument("--sources", type=int, default=4000)
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("flood.py makes network namespaces: run it as root", file=sys.stderr)
        return 3
    remove()
    try:
        build()
        with tempfile.TemporaryDirectory() as folder:
            key = os.path.join(folder, "key")
            with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
                file.write(os.urandom(32).hex())
            print(f"client {options.client}, {'keyed' if options.keyed else 'open'}, {options.seconds} s each, "
                  f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
            print("flood   kpps   loss %  p50 µs    p99 µs  CPU %  reflector %")
            measure(options, key, "none", 0)
            for kind in options.kinds.split(","):
                for rate in options.rates.split(","):
                    measure(options, key, kind, int(rate))
    except (subprocess.CalledProcessError, RuntimeError, ValueError) as error:
        print(f"flood.py: {error}", file=sys.stderr)
        return 1
    finally:
        remove()
    return 0


if __name__ == "__main__":
    sys.exit(main())
