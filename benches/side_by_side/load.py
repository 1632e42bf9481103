"""Load generators flat out, and what latency looks like under one.

`iperf3 -u`, trafgen (netsniff-ng) and delaylab send UDP over the veth pair as fast as they can: packets a
second, and the CPU time that each packet costs the sender. Then the same bottleneck is filled by one
TCP stream, of iperf3 with ping beside it and of `delaylab ping --load tcp:1`. Ratios are taken within a
round.
"""

import contextlib
import json
import re
import subprocess
import sys
import time

from .arena import NETWORK, CouldNotMeasure
from .table import Heading, compared, per_second
from .table import time as duration
from .tools import DELAYLAB, DELAYLAB_PORT, Rate, figure, grace, nearest_rank

COMMANDS = ("iperf3", "trafgen", "ping", "tc")
SECONDS = 3
# IP packets, and the headers that are no payload.
SIZES, HEADERS = (64, 1400), 28
LOAD_PORT, IPERF3_PORT = 8863, 5201
# More than any host can send.
FLAT_OUT = "100Gbit/s"
NO_LIMIT = "1000000000"
BOTTLENECK = "tbf rate 50mbit burst 10kb latency 50ms"


def measure(arena, options):
    rounds = options.rounds or 3
    flat_out = {(tool, size): [] for tool in GENERATORS for size in SIZES}
    latency = {tool: [] for tool in WORKING}
    for number in range(rounds):
        print(f"load: round {number + 1} of {rounds}", file=sys.stderr)
        for tool, size in flat_out:
            flat_out[tool, size].append(GENERATORS[tool](arena, size))
        with bottleneck(arena):
            for tool in WORKING:
                latency[tool].append(WORKING[tool](arena))
    title = f"load: UDP flat out over a veth pair, {rounds} × {SECONDS} s"
    rows = []
    for peer in ("iperf3", "trafgen"):
        rows += [Heading(title, peer, "delaylab"), *generator_rows(flat_out, peer)]
    title = "load: round trip beside one TCP stream, 50 Mbit/s, 50 ms of buffer"
    return [*rows, Heading(title, "iperf3 + ping", "delaylab"), *latency_rows(latency)]


def generator_rows(flat_out, peer):
    for size in SIZES:
        theirs, ours = flat_out[peer, size], flat_out["delaylab", size]
        yield compared(f"{size} B: packets", *tools_of("per_second", theirs, ours), per_second, "≥ 1 ×")
        yield compared(f"{size} B: CPU time a packet", *tools_of("cpu_ns", theirs, ours), duration)


def tools_of(name, *columns):
    return [[getattr(one, name) for one in column] for column in columns]


def latency_rows(latency):
    for index, what in enumerate(("idle, p50", "under load, p50", "under load, p99")):
        theirs, ours = ([one[index] for one in latency[tool]] for tool in ("iperf3 + ping", "delaylab"))
        yield compared(what, theirs, ours, duration)


@contextlib.contextmanager
def started(arena, command):
    """A server in `b`, given time to listen."""
    process = arena.start(arena.b, command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        if process.poll() is not None:
            raise CouldNotMeasure(f"`{' '.join(command)}` ended with {process.returncode}")
        yield
    finally:
        arena.end(process)


@contextlib.contextmanager
def bottleneck(arena):
    tc(arena, "replace", *BOTTLENECK.split())
    try:
        yield
    finally:
        tc(arena, "del")


def tc(arena, action, *words):
    command = ["tc", "-n", arena.a, "qdisc", action, "dev", arena.veth, "root", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CouldNotMeasure(f"`{' '.join(command)}`: {done.stderr.strip()}")


# Flat out

def iperf3(arena, size):
    client = ["iperf3", "-u", "-b", "0", "-l", str(size - HEADERS), "-c", arena.server, "-t", str(SECONDS), "-J"]
    with iperf3_server(arena):
        ended = arena.run(client, grace(SECONDS))
    total = json.loads(ended.output())["end"]["sum"]
    return Rate(total["packets"] / total["seconds"], ended.cpu_s * 1e9 / total["packets"])


def iperf3_server(arena):
    return started(arena, ["iperf3", "-s", "-B", arena.server, "-p", str(IPERF3_PORT)])


def trafgen(arena, size):
    """It has no clock to stop by: so many packets as take it about as long."""
    count = 150_000 * SECONDS
    address = subprocess.run(["ip", "-n", arena.b, "-j", "link", "show", "vb"],
                             capture_output=True, text=True, check=True).stdout
    frame = (f"{{ eth(da={json.loads(address)[0]['address']}), ipv4(saddr={arena.client}, daddr={arena.server}, "
             f"ttl=64), udp(sp=9, dp=9), fill('B', {size - HEADERS}) }}")
    ended = arena.run(["trafgen", "-o", arena.veth, "-n", str(count), "-P", "1", frame], grace(SECONDS))
    took = re.search(r"(\d+) sec, (\d+) usec on CPU", ended.output())
    if not took:
        raise CouldNotMeasure("trafgen does not say how long it took")
    seconds = int(took[1]) + int(took[2]) / 1e6
    return Rate(count / seconds, ended.cpu_s * 1e9 / count)


def delaylab(arena, size):
    """The probes beside it are ten a second; their CPU time is in the figure."""
    client = ping_under(arena, f"cbr:{FLAT_OUT}:{size - HEADERS}B", "-w", f"{SECONDS}s")
    with reflector(arena):
        ended = arena.run(client, grace(4 * SECONDS))
    stream = json.loads(ended.output())["under_load"]["streams"][0]
    sent = stream["sent_packets"]
    return Rate(sent * 1e9 / stream["duration_ns"], ended.cpu_s * 1e9 / sent)


GENERATORS = {"iperf3": iperf3, "trafgen": trafgen, "delaylab": delaylab}


# Beside one TCP stream: idle p50, loaded p50, loaded p99

def iperf3_and_ping(arena):
    idle = ping(arena)
    with iperf3_server(arena):
        client = ["iperf3", "-C", "cubic", "-c", arena.server, "-t", str(SECONDS + 4)]
        process = arena.start(arena.a, client, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(2)
            loaded = ping(arena)
        finally:
            arena.end(process)
    return nearest_rank(idle, 0.5), nearest_rank(loaded, 0.5), nearest_rank(loaded, 0.99)


def ping(arena):
    """Round trips in order of size."""
    out = arena.run(["ping", "-n", "-i", "0.05", "-w", str(SECONDS), arena.server], grace(SECONDS)).output()
    round_trips = [round(float(ms) * 1e6) for ms in re.findall(r"time=([\d.]+) ms", out)]
    if not round_trips:
        raise CouldNotMeasure("ping had no answer")
    return sorted(round_trips)


def delaylab_under_load(arena):
    """By icmp, as ping is."""
    client = ping_under(arena, "tcp:1:cubic", "-w", f"{SECONDS}s", "-i", "50ms", "--method", "icmp")
    with reflector(arena):
        document = json.loads(arena.run(client, grace(4 * SECONDS)).output())
    names = ("stats.round_trip.p50_ns", "under_load.stats.round_trip.p50_ns", "under_load.stats.round_trip.p99_ns")
    return tuple(figure(document, name) for name in names)


WORKING = {"iperf3 + ping": iperf3_and_ping, "delaylab": delaylab_under_load}


def ping_under(arena, load, *flags):
    return [DELAYLAB, "ping", arena.server, "--allow-load", "--load", load, "--load-port", str(LOAD_PORT),
            "-q", "--json", *flags]


def reflector(arena):
    return started(arena, [DELAYLAB, "reflect", "--bind", arena.server, "--port", str(DELAYLAB_PORT), "--no-stamp",
                           "--open", "--allow", NETWORK, "--accept-load", "--load-port", str(LOAD_PORT),
                           "--max-rate", NO_LIMIT, "--max-total-rate", NO_LIMIT, "--max-bandwidth", FLAT_OUT])
