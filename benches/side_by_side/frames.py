"""The frame tester flat out beside trafgen and iperf3, and how finely it tells delays apart.

All send over veth pairs: frames of 64 bytes (iperf3: UDP of as many) as fast as they can; frames a second and
the CPU time of each. trafgen only sends; delaylab signs each frame, receives it, and leaves a record of it.
Then delaylab alone sends a frame each millisecond over the bare pair: what is left of a delay where there is
none is what it cannot tell apart.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from . import load
from .arena import CouldNotMeasure, ip
from .table import Heading, Row, compared, per_second
from .table import time as duration
from .tools import DELAYLAB, ROOT, Rate, grace

COMMANDS = ("iperf3", "trafgen")
PYTHON = ROOT / "target/python/bin/python"
PORTS = ("fa", "fb")
# As many as leave within the time that the tester may be behind.
FRAMES = 600_000
# An IP packet of 46 bytes is a frame of 64.
IP_SIZE = 46
SLOW = 3000

EXPERIMENT = """
name = "frames"
title = "Frames over a veth pair"
about = "How fast, and how finely?"
world = "live"
[[probe]]
name = "frames"
method = "frame"
frame_size = "64B"
from = "{}"
to = "{}"
pacing = {{ load = "{}" }}
count = {}
timeout = "500ms"
[path]
rate = "10Gbit/s"
"""

# Of the only trial: frames a second as sent, how many were lost, and quantiles of the delay.
LOOK = """
import json, sys, polars as pl
records = pl.read_parquet(sys.argv[1] + "/records.parquet")
start = pl.col("t_intended") + pl.col("to_t_send")
sent = records.select(start.alias("at"))["at"].drop_nulls()
delay = records["to_t_rx"].drop_nulls()
print(json.dumps({"per_second": (len(sent) - 1) / (sent.max() - sent.min()) * 1e9, "sent": len(sent),
                  "lost": len(sent) - len(delay), "p50": delay.quantile(0.5, "nearest"),
                  "iqr": delay.quantile(0.75, "nearest") - delay.quantile(0.25, "nearest")}))
"""


def measure(arena, options):
    if not PYTHON.exists():
        raise CouldNotMeasure(f"{PYTHON} is missing: scripts/python.sh makes it")
    rounds = options.rounds or 3
    ip("-n", arena.a, "link", "add", PORTS[0], "type", "veth", "peer", "name", PORTS[1])
    for port in PORTS:
        ip("-n", arena.a, "link", "set", port, "up")
    rates = {tool: [] for tool in ("iperf3", "trafgen", "delaylab")}
    lost, delays = [], []
    for number in range(rounds):
        print(f"frames: round {number + 1} of {rounds}", file=sys.stderr)
        rates["iperf3"].append(load.iperf3(arena, IP_SIZE))
        rates["trafgen"].append(load.trafgen(arena, IP_SIZE))
        rate, seen = frames(arena, "100%", FRAMES)
        rates["delaylab"].append(rate)
        lost.append(seen["lost"] / seen["sent"])
        _, seen = frames(arena, "0.00672%", SLOW)
        delays.append(seen)
    rows = []
    for peer in ("iperf3", "trafgen"):
        rows.append(Heading(f"frames: 64 B flat out over a veth pair, {rounds} ×", peer, "delaylab"))
        theirs, ours = rates[peer], rates["delaylab"]
        rows.append(compared("frames", *load.tools_of("per_second", theirs, ours), per_second))
        rows.append(compared("CPU time a frame", *load.tools_of("cpu_ns", theirs, ours), duration))
    rows.append(Heading("frames: received and recorded", "asked", "seen", ratio=False))
    rows.append(Row("lost by the tester itself, flat out", "0 %", f"{sorted(lost)[rounds // 2]:.2%}", []))
    for name, what in (("p50", "delay of a bare veth pair, p50"), ("iqr", "its interquartile range")):
        middle = sorted(seen[name] for seen in delays)[rounds // 2]
        rows.append(Row(what, "0 ns", duration(middle), []))
    return rows


def frames(arena, share, count):
    """What it sent, for the CPU time of all of it: signing, sending, receiving, recording."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "frames.toml"
        file.write_text(EXPERIMENT.format(*PORTS, share, count))
        ended = arena.run([DELAYLAB, "run", str(file), "--json", "--quiet", "-o", folder], grace(30))
        last = json.loads(ended.output().splitlines()[-1])
        run = pathlib.Path(last["report"]).parent
        looked = subprocess.run([PYTHON, "-c", LOOK, str(run)], capture_output=True, text=True, check=False)
    if looked.returncode:
        raise CouldNotMeasure(f"the records of {run} cannot be read: {looked.stderr.strip()}")
    seen = json.loads(looked.stdout)
    return Rate(seen["per_second"], ended.cpu_s * 1e9 / seen["sent"]), seen
