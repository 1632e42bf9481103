"""Does the testbed do what it is set to? The soft switch's rates and delays, what its hops say of each delay, and
kernel TCP through it beside the same experiment in the simulator.

`experiments/validation/soft-switch.toml` and `kernel-tcp.toml` are what runs.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from . import table
from .arena import CouldNotMeasure
from .table import Heading, Row
from .tools import DELAYLAB, ROOT

COMMANDS = ("tc",)
PYTHON = ROOT / "target/python/bin/python"
TIME_OUT_S = 600
EXPLAINED_NS = 100_000
WITHIN = 0.15
GOALS = {"10": "within 2 %", "100": "within 5 %", "delay": "within 1 % (20 µs)"}

# Of each trial: the median of what a probe took one way, less its waits in both queues, by polars.
UNEXPLAINED = """
import json, sys, polars as pl
folder = sys.argv[1]
records, hops, trials = (pl.read_parquet(f"{folder}/{name}.parquet") for name in ("records", "hops", "trials"))
waits = (hops.filter(pl.col("direction") == "forward").group_by("trial", "seq")
         .agg((pl.col("t_dequeue") - pl.col("t_enqueue")).sum().alias("waited"), pl.len().alias("queues")))
rest = (records.filter(pl.col("to_r_rx").is_not_null()).join(waits, on=["trial", "seq"])
        .with_columns((pl.col("to_r_rx") - pl.col("waited")).alias("rest")))
of = rest.group_by("trial").agg(pl.col("rest").median(), pl.col("to_r_rx").median(), pl.len())
print(json.dumps(trials.join(of, on="trial").select(
    "factor_discipline", "factor_streams", "rest", "to_r_rx", "len", "response_p50_ns").to_dicts()))
"""


def measure(arena, options):
    if not PYTHON.exists():
        raise CouldNotMeasure(f"{PYTHON} is missing: scripts/python.sh makes it")
    with tempfile.TemporaryDirectory() as folder:
        switch = run(folder, "soft-switch")
        measured, simulated = (run(folder, "kernel-tcp", "--world", world) for world in ("testbed", "sim"))
        return soft_switch(switch) + hops(measured) + side_by_side(measured, simulated)


def run(folder, *words):
    """The folder of a run of this experiment."""
    print("testbed: " + " ".join(words), file=sys.stderr)
    ran = subprocess.run([DELAYLAB, "run", *words, "--json", "--quiet", "-o", folder], capture_output=True, text=True,
                         timeout=TIME_OUT_S, check=False)
    if ran.returncode:
        raise CouldNotMeasure(f"delaylab run {' '.join(words)}: {ran.stderr.strip()}")
    return pathlib.Path(json.loads(ran.stdout.splitlines()[-1])["report"]).parent


def soft_switch(folder):
    rows = [Heading("testbed: the soft switch", "set", "found")]
    for finding in json.loads((folder / "findings.json").read_text()):
        for comparison in (c for part in finding["parts"] for c in part["comparisons"]):
            show = table.time if comparison["unit"] == "ns" else lambda value: f"{value:.4g} {comparison['unit']}"
            row = Row(finding["says"].split(",")[0], show(comparison["right"]), show(comparison["left"]),
                      [comparison["value"]], GOALS[finding["id"]])
            row.met = finding["verdict"] == "true"
            rows.append(row)
    return rows


# What a packet of 512 bytes takes beside its waits, in `kernel-tcp`: three lines of 20 Mbit/s, three times 5 µs,
# two switches of 12 µs.
FIXED_NS = 3 * (512 + 28 + 18 + 20) * 8 * 50 + 3 * 5_000 + 2 * 12_000


def hops(folder):
    rows = [Heading("testbed: what a probe's hops do not explain of its way there", "way there", "not explained", ratio=False)]
    for trial in trials(folder):
        rest = trial["rest"] - FIXED_NS
        row = Row(name(trial), table.time(trial["to_r_rx"]), table.time(rest), [])
        row.goal, row.met = f"median < {table.time(EXPLAINED_NS)}", abs(rest) < EXPLAINED_NS
        rows.append(row)
    return rows


def side_by_side(measured, simulated):
    rows = [Heading("testbed: median response beside kernel TCP", "simulated", "measured")]
    of = {name(trial): trial["response_p50_ns"] for trial in trials(simulated)}
    for trial in trials(measured):
        base, value = of[name(trial)], trial["response_p50_ns"]
        row = Row(name(trial), table.time(base), table.time(value), [value / base], "within 15 %")
        row.met = abs(value / base - 1) <= WITHIN
        rows.append(row)
    return rows


def trials(folder):
    """Its trials, each with what its hops leave unexplained."""
    ran = subprocess.run([PYTHON, "-c", UNEXPLAINED, folder], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise CouldNotMeasure(f"reading {folder}: {ran.stderr.strip()}")
    return sorted(json.loads(ran.stdout), key=name)


def name(trial):
    return f"{trial['factor_discipline']}, {trial['factor_streams']} streams"
