"""The Python package: reading records beside polars, `dl.ping` beside the command, sweeps on Dask beside one process.

What runs in Python is `peers/package_tasks.py`, with the package built as it is handed out. Each pair is interleaved in rounds.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path

from .records import a_real_run, recorded
from .table import Heading, compared, time
from .tools import DELAYLAB, ROOT, done

COMMANDS = ("cargo",)

PYTHON = ROOT / "target/python/bin/python"
TASKS = ROOT / "benches/side_by_side/peers/package_tasks.py"
BUILD = ["cargo", "build", "--profile", "dist", "--quiet", "--package", "delaylab-python"]
MODULE = ROOT / "target/dist/lib_delaylab.so"
COUNT = 10**7
# Trials of a sweep, and how long each is on its own clock.
TRIALS = {"1,000 trials of 1 s": (1000, "1s"), "1,000 trials of 10 s": (1000, "10s"),
          "10,000 trials of 50 ms": (10_000, "50ms")}


def measure(arena, options):
    done("package", "cargo build", BUILD)
    done("package", "Python packages", [ROOT / "scripts/python.sh"])
    rounds = options.rounds or 3
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        tasks = Tasks(folder)
        run = recorded("package", a_real_run("package", folder, options.seconds), folder / "large", COUNT)["run"]
        pairs = [(tasks("polars", run), tasks("records", run)) for _ in range(rounds)]
        ours = [(tasks("command"), tasks("ping")) for _ in range(rounds)]
        swept = {name: [tasks.sweep(*trials) for _ in range(min(rounds, 2))] for name, trials in TRIALS.items()}
    return list(rows(pairs, ours, swept))


class Tasks:
    """Runs a task in a Python of its own: the figures that it prints."""

    def __init__(self, folder):
        self.folder = folder
        package = folder / "package"
        shutil.copytree(ROOT / "python/delaylab", package / "delaylab")
        (package / "delaylab/_delaylab.abi3.so").symlink_to(MODULE)
        self.environment = dict(os.environ, PYTHONPATH=str(package), DELAYLAB=str(DELAYLAB), PYTHONDONTWRITEBYTECODE="1")

    def __call__(self, task, *words):
        command = [PYTHON, TASKS, task, *map(str, words)]
        return json.loads(done("package", task, command, env=self.environment, cwd=self.folder))

    def sweep(self, trials, length):
        # dask-W/C: W workers, and all else of the sweep, on C CPUs.
        return {how: self("sweep", how, trials, length)["wall_s"] for how in ("process", "dask-1", "dask-1/1", "dask-2")}


def rows(pairs, ours, swept):
    yield Heading(f"package: {COUNT:,} records into polars", "read_parquet", "records()")
    yield compared("all columns", *seconds(pairs), time, "≤ 1.3 ×")
    yield Heading("package: 1,000 pings of this host", "command", "dl.ping")
    medians = [[one["p50_ns"] for one in side] for side in zip(*ours)]
    yield compared("median round trip", *medians, time)
    for name, sweeps in swept.items():
        of = {how: [one[how] * 1e9 for one in sweeps] for how in sweeps[0]}
        yield Heading(f"package: {name}, two workers", "a worker", "two")
        yield compared("wall time of a sweep on Dask", of["dask-1"], of["dask-2"], time, "≤ 0.56 ×")
        yield Heading(f"package: {name}, two CPUs", "one CPU", "two")
        yield compared("a worker for each CPU, which all else shares", of["dask-1/1"], of["dask-2"], time)
        yield Heading(f"package: {name}, one process", "2 threads", "2 workers")
        yield compared("wall time", of["process"], of["dask-2"], time, "≤ 1.15 ×")


def seconds(pairs):
    return [[one["wall_s"] * 1e9 for one in side] for side in zip(*pairs)]
