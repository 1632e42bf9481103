"""How fast is the simulator? The same dumbbell in ns-3, SimPy and delaylab, and delaylab with cells.

A hop is a packet's or a cell's arrival at the end of a link, in all of them. CPU and wall time are those
of the simulation (delaylab's with its statistics), without building the network or loading libraries.
`crates/sim/examples/speed.rs` and `peers/` are what runs.
"""

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass

from .arena import CouldNotMeasure
from .table import Heading, Row, compared, three_digits, time
from .tools import ROOT

COMMANDS = ("cargo",)

SPEED = ROOT / "target/dist/examples/speed"
BUILD = ["cargo", "build", "--profile", "dist", "--quiet", "--package", "delaylab-sim", "--example", "speed"]
INSTALL = [ROOT / "scripts/simulation-peers.sh"]
PYTHON = ROOT / "target/simulation-peers/bin/python"
PEERS = {"ns-3": "dumbbell_ns3.py", "SimPy": "dumbbell_simpy.py"}
# What is to be known of a peer to read its figures.
NOTES = {"ns-3": " (wheel 3.44: release, with logging and assertions)", "SimPy": ""}
TIME_OUT_S = 600

# simulator.md's dumbbell: how long it is simulated, and what ns-3.44 said of the echo beside so many
# TCPs: mean and largest, in µs.
TCPS, DUMBBELL_S = 3, 10
KNOWN = {0: (355.3, 355.3), 1: (2162, 2389), 3: (9070, 9285)}
WITHIN = {"mean": 0.01, "max": 0.02}

# Simulated seconds that take seconds of CPU time.
PACKETS_S, CELLS_S = 1000, 100
SETUPS = {"packets": "packets, FIFO", "fifo": "cells, FIFO", "per-vc": "cells, per VC", "efci": "cells, ABR with EFCI"}
GOALS = {"fifo": 20e6, "per-vc": 20e6, "efci": 10e6}
FEW, MANY, MANY_QUICKLY = 10, 10_000, 1_000
# From the first flow's start to the last one's, where there are many.
ALL_BY_US = 500_000


@dataclass
class Run:
    """What one simulation did and took."""
    hops: int
    cpu_s: float
    wall_s: float
    peak_kib: int
    echo_mean_us: float | None
    echo_max_us: float | None
    setup_s: float = 0

    @property
    def rate(self):
        return self.hops / self.cpu_s


def measure(arena, options):
    prepare(BUILD)
    prepare(INSTALL)
    rounds = options.rounds or 3
    # A quick look simulates less.
    share = min(1, options.seconds / 60)
    return [*dumbbells(rounds, share), *cells(rounds, share), *growth_with_flows(share), *growth_with_time(share)]


def prepare(command):
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise CouldNotMeasure(f"`{' '.join(map(str, command))}` ended with {done.returncode}")


def delaylab(setup, flows, seconds, stagger="100ms"):
    return run([SPEED, setup, str(flows), str(seconds), stagger])


def peer(name, flows, seconds):
    return run([PYTHON, "-B", ROOT / "benches/side_by_side/peers" / PEERS[name], str(flows), str(seconds)])


def run(command):
    """Its last line is JSON with what a `Run` has, and more."""
    said = " ".join(map(str, command))
    print(f"simulation: {said.replace(f'{ROOT}/', '')}", file=sys.stderr)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_OUT_S, check=False)
    except subprocess.TimeoutExpired as late:
        raise CouldNotMeasure(f"`{said}` took over {TIME_OUT_S} s") from late
    if done.returncode != 0:
        raise CouldNotMeasure(f"`{said}`: {(done.stderr.strip() or 'no message').splitlines()[-1]}")
    figures = json.loads(done.stdout.splitlines()[-1])
    return Run(**{name: value for name, value in figures.items() if name in Run.__dataclass_fields__})


# The dumbbell

def dumbbells(rounds, share):
    """Speed beside each peer, and the echo beside ns-3's."""
    peers, absent = {name: [] for name in PEERS}, {}
    ours, long = [], []
    for _ in range(rounds):
        ours.append(delaylab("packets", TCPS, DUMBBELL_S))
        long.append(delaylab("packets", TCPS, scaled(PACKETS_S, share)))
        for name in [name for name in PEERS if name not in absent]:
            try:
                peers[name].append(peer(name, TCPS, DUMBBELL_S))
            except CouldNotMeasure as why:
                absent[name] = why
    for name, runs in peers.items():
        if name in absent:
            yield Heading(f"simulation beside {name}: not measured: {absent[name]}")
        else:
            yield Heading(f"simulation: {TCPS} TCPs beside {name}{NOTES[name]}", name, "delaylab")
            yield from beside_peer(runs, ours, long)
    if "ns-3" not in absent:
        yield from echoes({0: peer("ns-3", 0, DUMBBELL_S), 1: peer("ns-3", 1, DUMBBELL_S), TCPS: peers["ns-3"][0]})


def beside_peer(peer_runs, ours, long):
    """delaylab's rate is that of a longer run: in the short one it hardly begins."""
    yield compared("packet-hops a CPU second", rates(peer_runs), rates(long), millions)
    yield compared(f"wall time of {DUMBBELL_S} simulated seconds", walls(peer_runs), walls(ours), time)
    yield compared("peak memory", peaks(peer_runs), peaks(ours), mebibytes)


def echoes(theirs):
    yield Heading("simulation: the echo's round trip beside ns-3's", "ns-3", "delaylab")
    for flows, known in KNOWN.items():
        ours = delaylab("packets", flows, DUMBBELL_S)
        for which, expected in zip(WITHIN, known):
            yield echo_row(flows, which, expected, theirs[flows], ours)


def echo_row(flows, which, expected, theirs, ours):
    base, value = (getattr(one, f"echo_{which}_us") for one in (theirs, ours))
    row = Row(f"beside {flows} TCPs, {which} (known: {expected:g} µs)", micros(base), micros(value), [value / base])
    row.goal, row.met = f"± {WITHIN[which]:.0%}", abs(value / base - 1) <= WITHIN[which]
    return row


# Cells

def cells(rounds, share):
    seconds = scaled(CELLS_S, share)
    runs = {setup: [] for setup in GOALS}
    for _ in range(rounds):
        for setup, those in runs.items():
            those.append(delaylab(setup, TCPS, seconds))
    yield Heading(f"simulation: {TCPS} TCPs, AAL5, {seconds} simulated seconds", "goal", "delaylab")
    for setup, those in runs.items():
        name = SETUPS[setup]
        yield compared(f"{name}: cell-hops a CPU second", [GOALS[setup]] * rounds, rates(those), millions, "≥ 1 ×")
        yield alone(f"{name}: wall time", walls(those), time)
        yield alone(f"{name}: peak memory", peaks(those), mebibytes)


def alone(what, values, show):
    return Row(what, "", show(statistics.median(values)), [])


# Growth

def growth_with_flows(share):
    many = MANY if share == 1 else MANY_QUICKLY
    yield Heading("simulation: delaylab with more flows, 1 simulated second", f"{FEW} flows", f"{many:,} flows")
    for setup in SETUPS:
        yield from grown(setup, [(flows, 1, f"{ALL_BY_US // flows}us") for flows in (FEW, many)], built=True)


def growth_with_time(share):
    seconds = scaled(CELLS_S, share)
    yield Heading(f"simulation: delaylab for longer, {TCPS} TCPs", "1 s", f"{seconds} s")
    for setup in SETUPS:
        yield from grown(setup, [(TCPS, length, "100ms") for length in (1, seconds)])


def grown(setup, sizes, built=False):
    """The rows of one set-up, or the one that says why there are none."""
    name = SETUPS[setup]
    try:
        few, many = ([delaylab(setup, *size)] for size in sizes)
    except CouldNotMeasure as why:
        return [Row(f"{name}: not measured: {why}", "", "", [])]
    building = compared(f"{name}: CPU time to build it", setups(few), setups(many), time)
    return [compared(f"{name}: hops a CPU second", rates(few), rates(many), millions),
            compared(f"{name}: peak memory", peaks(few), peaks(many), mebibytes),
            *([building] if built else [])]


# Columns, and how they are shown

def scaled(seconds, share):
    return max(1, round(seconds * share))


def rates(runs):
    return [one.rate for one in runs]


def walls(runs):
    return [one.wall_s * 1e9 for one in runs]


def setups(runs):
    return [one.setup_s * 1e9 for one in runs]


def peaks(runs):
    return [one.peak_kib for one in runs]


def millions(rate):
    return f"{three_digits(rate / 1e6)} M/s"


def mebibytes(kib):
    return f"{kib / 1024:.1f} MiB"


def micros(value):
    return f"{value:,.1f} µs"
