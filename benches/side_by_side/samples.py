"""How many samples a CPU second do the statistics take, beside numpy and polars?

Count, least, largest, mean, standard deviation and six quantiles (nearest rank) of the same ten million
delays, in memory; reading the file is not counted. `crates/stats/examples/throughput.rs` and `peers/` are
what runs. What is exact must be the same in all of them; quantiles by histogram within its error.
"""

import json
import math
import tempfile
from pathlib import Path

from .arena import CouldNotMeasure
from .table import Heading, compared, meets
from .tools import ROOT, done

COMMANDS = ("cargo",)

TOOL = ROOT / "target/dist/examples/throughput"
BUILD = ["cargo", "build", "--profile", "dist", "--quiet", "--package", "delaylab-stats", "--example", "throughput"]
PYTHON = ROOT / "target/python/bin/python"
PEERS = {"numpy": "samples_numpy.py", "polars": "samples_polars.py"}
COUNT = 10**7
# Samples a CPU second.
GOALS = {"exact": 40e6, "histogram": 100e6}
HOW = {"exact": "exact quantiles", "histogram": "quantiles by histogram"}
HISTOGRAM_ERROR = 1 / 512


def measure(arena, options):
    done("samples", "cargo build", BUILD)
    done("samples", "Python packages", [ROOT / "scripts/python.sh"])
    seen = {name: [] for name in (*GOALS, *PEERS)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "delays"
        done("samples", f"{COUNT:,} delays", [TOOL, "make", file, str(COUNT)])
        for _ in range(options.rounds or 5):
            for name, figures in seen.items():
                figures.append(one(name, file))
    for name, figures in seen.items():
        agree(name, figures[0], seen["exact"][0])
    return list(rows({name: [COUNT / one["cpu_s"] for one in figures] for name, figures in seen.items()}))


def one(name, file):
    command = [PYTHON, "-B", ROOT / "benches/side_by_side/peers" / PEERS[name]] if name in PEERS else [TOOL, name]
    return json.loads(done("samples", name, [*command, file]))


def agree(name, figures, exact):
    """Speed counts only if the figures are right."""
    error = HISTOGRAM_ERROR if name == "histogram" else 0
    pairs = [*((figures[key], exact[key], 1e-9) for key in ("count", "min", "max", "mean", "sd")),
             *((value, true, error) for value, true in zip(figures["quantiles"], exact["quantiles"]))]
    for value, true, within in pairs:
        if not math.isclose(value, true, rel_tol=within):
            raise CouldNotMeasure(f"{name} says {value}, exactly it is {true}")


def rows(rates):
    for name, goal in GOALS.items():
        yield Heading(f"samples: {COUNT:,}, {HOW[name]}", "at least", "delaylab")
        row = compared("samples a CPU second", [goal], rates[name], millions, "≥ 1 ×")
        row.ratios = [rate / goal for rate in rates[name]]
        row.met = meets(row.ratio(), row.goal)
        yield row
        for peer in PEERS:
            yield Heading(f"samples: beside {peer}", peer, "delaylab")
            yield compared("samples a CPU second", rates[peer], rates[name], millions)


def millions(rate):
    return f"{rate / 1e6:.1f} M"
