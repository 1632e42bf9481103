"""Each tool: how it is called, and what it prints. Times in nanoseconds.

A tool that runs on the 1 ms grid gives a `Pass`; one that goes back to back gives a `Rate`.
"""

import json
import math
import os
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

from .arena import NETWORK, CouldNotMeasure

ROOT = pathlib.Path(__file__).resolve().parents[2]
DELAYLAB = os.environ.get("DELAYLAB", str(ROOT / "target/dist/delaylab"))

DELAYLAB_PORT, IRTT_PORT, SOCKPERF_PORT = 8862, 2112, 11111
INTERVAL_S = 0.001
# Both ends of a comparison send this many bytes: room for delaylab's stamps, so that its stamped
# and unstamped sessions are of one size too.
PAYLOAD = 64


@dataclass
class Pass:
    """One pass over the 1 ms grid. Quantiles are of what the tool itself calls the round trip."""
    due: int
    sent: int
    p50: int
    p99: int
    max: int
    network_p99: int | None = None
    lateness_p99: int | None = None
    lateness_max: int | None = None


@dataclass
class Rate:
    """Round trips back to back."""
    per_second: float
    cpu_ns: float


def done(name, what, command, cwd=ROOT, env=None):
    """What a command of the benchmark of this name prints, once it is done."""
    print(f"{name}: {what}", file=sys.stderr)
    ended = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise CouldNotMeasure(f"{what}: {(ended.stderr.strip() or 'no message').splitlines()[-1]}")
    return ended.stdout


def nearest_rank(ordered, q):
    """The smallest value with at least q of all values at or below it."""
    return ordered[max(0, math.ceil(q * len(ordered)) - 1)]


def slots(seconds):
    return round(seconds / INTERVAL_S)


def grace(seconds):
    """How long a client of so many seconds may take before it is killed."""
    return 3 * seconds + 30


def a_pass(tool, seconds, sent, round_trips):
    if not round_trips:
        raise CouldNotMeasure(f"{tool} had no answer")
    ordered = sorted(round_trips)
    quantiles = (nearest_rank(ordered, q) for q in (0.5, 0.99, 1))
    return Pass(slots(seconds), sent, *quantiles)


# ping (iputils): the kernel is its server.

def ping(arena, seconds):
    """Ends by the clock (-w): with a count it takes as long as it likes and calls nothing lost."""
    command = ["ping", "-n", "-i", str(INTERVAL_S), "-w", str(math.ceil(seconds)), arena.server]
    out = arena.run(command, grace(seconds)).output()
    round_trips = [round(float(ms) * 1e6) for ms in re.findall(r"time=([\d.]+) ms", out)]
    sent = re.search(r"(\d+) packets transmitted", out)
    return a_pass("ping", math.ceil(seconds), int(sent[1]) if sent else 0, round_trips)


# irtt

def irtt(arena, seconds):
    server = ["irtt", "server", "-b", arena.server, "-i", "0", "-d", "0"]
    client = ["irtt", "client", "-i", "1ms", "-d", f"{seconds}s", "-o", "-", "-Q", arena.server]
    with arena.serving(server, IRTT_PORT):
        document = json.loads(arena.run(client, grace(seconds)).output())
    round_trips = [r["delay"]["rtt"] for r in document["round_trips"] if "rtt" in r["delay"]]
    return a_pass("irtt", seconds, document["stats"]["packets_sent"], round_trips)


# sockperf

def sockperf_server(arena, mode):
    command = ["sockperf", "server", "-i", arena.server, *sockperf_mode(mode)]
    return arena.serving(command, SOCKPERF_PORT)


def sockperf_mode(mode):
    return ["--nonblocked"] if mode == "spin" else []


def sockperf(arena, seconds):
    """Its own open loop: `under-load`, every message answered."""
    client = ["sockperf", "under-load", "-i", arena.server, "--mps", str(slots(1)), "--reply-every", "1",
              "--full-rtt", "-m", str(PAYLOAD), "-t", str(math.ceil(seconds))]
    with sockperf_server(arena, "block"):
        out = arena.run(client, grace(seconds)).output()
    run_s, sent, _ = sockperf_counts(out, "Valid Duration")
    names = ("percentile 50.000", "percentile 99.000", "<MAX> observation")
    quantiles = (sockperf_quantile(out, name) for name in names)
    return Pass(slots(run_s), sent, *quantiles)


def sockperf_rate(arena, seconds, mode):
    client = ["sockperf", "ping-pong", "-i", arena.server, "--full-rtt", "-m", str(PAYLOAD),
              "-t", str(seconds), *sockperf_mode(mode)]
    with sockperf_server(arena, mode):
        ended = arena.run(client, grace(seconds))
    run_s, _, received = sockperf_counts(ended.output(), "Valid Duration")
    _, _, in_all = sockperf_counts(ended.out, "Total Run")
    return Rate(received / run_s, ended.cpu_s * 1e9 / in_all)


def sockperf_counts(out, which):
    """RunTime, SentMessages, ReceivedMessages of `[Total Run]` or `[Valid Duration]` (less warm-up)."""
    found = re.search(rf"\[{which}\] RunTime=([\d.]+) sec;.*?SentMessages=(\d+); ReceivedMessages=(\d+)", out)
    if not found or found[3] == "0":
        raise CouldNotMeasure("sockperf had no answer")
    return float(found[1]), int(found[2]), int(found[3])


def sockperf_quantile(out, name):
    found = re.search(rf"{re.escape(name)} =\s*([\d.]+)", out)
    if not found:
        raise CouldNotMeasure(f"sockperf printed no {name}")
    return round(float(found[1]) * 1e3)


# delaylab

def reflector(arena, mode="block"):
    command = [DELAYLAB, "reflect", "--bind", arena.server, "--port", str(DELAYLAB_PORT),
               "--open", "--allow", NETWORK, "--wait-mode", mode]
    return arena.serving(command, DELAYLAB_PORT)


def delaylab_ping(arena, *flags):
    """The command of a udp probe to the reflector."""
    return [DELAYLAB, "ping", arena.server, "--method", "udp", "--port", str(DELAYLAB_PORT),
            "-s", f"{PAYLOAD}B", "--allow-load", *flags]


def delaylab(arena, seconds):
    client = delaylab_ping(arena, "-i", "1ms", "-c", str(slots(seconds)), "-q", "--json")
    with reflector(arena):
        document = json.loads(arena.run(client, grace(seconds)).output())
    names = ("round_trip.p50_ns", "round_trip.p99_ns", "round_trip.max_ns",
             "network.p99_ns", "lateness.p99_ns", "lateness.max_ns")
    quantiles = (figure(document, f"stats.{name}") for name in names)
    return Pass(slots(seconds), figure(document, "stats.sent"), *quantiles)


def delaylab_rate(arena, seconds, mode, stamps):
    """From the summary: a document has every packet, and writing them takes CPU time that is not the probe's."""
    client = delaylab_ping(arena, "--wait", "0s", "--wait-mode", mode, "--stamps", stamps, "--duration", f"{seconds}s", "-q")
    with reflector(arena, mode):
        ended = arena.run(client, grace(seconds))
    found = re.search(r"\b(\d+) received", ended.output())
    if not found or found[1] == "0":
        raise CouldNotMeasure("delaylab had no answer")
    received = int(found[1])
    return Rate(received / seconds, ended.cpu_s * 1e9 / received)


def figure(document, path):
    """A number of delaylab's JSON by its path; a null or a missing name cannot be measured."""
    value = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, (int, float)):
        raise CouldNotMeasure(f"delaylab's JSON has no {path}")
    return value
