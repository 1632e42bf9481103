"""Does calibration find what a testbed is set to, and does its model say what a change would do?

Random paths are built, measured (`experiments/calibration.toml`, its short form) and calibrated, which does not read what they
are set to. Then some of them are changed: the model's prediction is held against the testbed that is changed in the
same way.
"""

import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from .arena import CouldNotMeasure
from .table import Heading, Row, time
from .tools import DELAYLAB

COMMANDS = ("tc",)
SEED, PATHS, CHANGES = 7, 20, 6
TIME_OUT_S = 300
RATE_WITHIN, BUFFER_WITHIN, PREDICTED_WITHIN = 0.02, 0.05, 0.20
# Share of the rate that the flood offers, and the filler.
FLOOD, FILLER = 1.4, 0.16
FILLER_BITS = (300 + 28 + 38) * 8
ACCESS_BITS = 100e6


@dataclass
class Path:
    """What a testbed is set to."""
    rate: int
    buffer: int
    discipline: str

    def name(self):
        return f"{self.rate / 1e6:.2f} Mbit/s, {self.buffer / 1e3:.1f} kB, {self.discipline}"

    def switch(self):
        return {"path.rate": f"{self.rate}bit/s", "path.switch.buffer": f"{self.buffer}B",
                "path.switch.discipline": self.discipline}

    def sets(self):
        # Until the buffer is full, and three seconds more.
        fill = self.buffer * 8 / ((FLOOD + FILLER - 1) * self.rate)
        load = {"probe.flood.pacing.load": f"{100 * FLOOD * self.rate / ACCESS_BITS:.4f}%",
                "probe.filler.pacing.poisson": f"{FILLER_BITS / (FILLER * self.rate) * 1e6:.0f}us",
                "probe.*.duration": f"{(3 + fill) * 1e3:.0f}ms"}
        return {**self.switch(), **load}


def measure(arena, options):
    few = options.seconds < 60
    draw = random.Random(SEED)
    paths = [Path(draw.randint(1_000_000, 20_000_000), draw.randint(10_000, 200_000), draw.choice(["fifo", "per-flow"]))
             for _ in range(options.rounds or (3 if few else PATHS))]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        runs = [run(folder, path.sets()) for path in paths]
        found = [delaylab("calibrate", run, "--json") for run in runs]
        rows = calibrated(paths, found)
        fifos = [pair for pair in zip(paths, runs) if pair[0].discipline == "fifo"]
        for number, (path, measured) in enumerate(fifos[:1 if few else CHANGES]):
            rows += predicted(folder, path, measured, changes(path)[number % 3])
    return rows


def changes(path):
    return [{"path.switch.discipline": "fq-codel"}, {"path.switch.discipline": "per-flow"},
            {"path.switch.buffer": f"{path.buffer * 2}B"}]


def delaylab(*words):
    """The last line that it prints, which is JSON."""
    print("calibration: " + " ".join(map(str, words)), file=sys.stderr)
    ran = subprocess.run([DELAYLAB, *words, "-q"], capture_output=True, text=True, timeout=TIME_OUT_S, check=False)
    if ran.returncode:
        raise CouldNotMeasure(f"delaylab {' '.join(map(str, words))}: {ran.stderr.strip()}")
    return json.loads(ran.stdout.splitlines()[-1])


def given(sets):
    return [word for path, value in sets.items() for word in ("--set", f"{path}={value}")]


def run(folder, sets):
    """The folder of a run in the testbed."""
    done = delaylab("run", "calibration", "--world", "testbed", "--quick", "--json", "-o", folder, *given(sets))
    return pathlib.Path(done["report"]).parent


def calibrated(paths, found):
    rows = [Heading("calibration: rate and buffer of random paths", "set", "found")]
    for path, document in zip(paths, found):
        known = document["found"]
        rate, buffer = known["rate"], known["buffer"]
        if not rate or not buffer or not buffer["limit"]:
            rows.append(Row(path.name(), "", "not identified", [], "identified", met=False))
            continue
        rate = rate["bps"]["value"]
        rows.append(within(f"{path.name()}: rate", path.rate, rate, lambda bits: f"{bits / 1e6:.3f} Mbit/s", RATE_WITHIN))
        rows.append(within(f"{path.name()}: buffer", path.buffer, buffer["limit"], lambda size: f"{size / 1e3:.2f} kB",
                           BUFFER_WITHIN))
    right = sum(document["found"]["discipline"] is not None and document["found"]["discipline"]["name"] == path.discipline
                for path, document in zip(paths, found))
    rows.append(Row("disciplines that are right", str(len(paths)), str(right), [], "all", met=right == len(paths)))
    return rows


def within(what, base, value, show, goal):
    row = Row(what, show(base), show(value), [value / base], f"within {goal:.0%}")
    row.met = abs(value / base - 1) <= goal
    return row


def predicted(folder, path, before, change):
    """Each probe's quantiles after the change, predicted and measured: the median of its overflowing trials."""
    prediction = delaylab("predict", before, "--json", *given(change))
    after = delaylab("calibrate", run(folder, {**path.sets(), **change}), "--json")
    changed = ", ".join(change.values())
    rows = [Heading(f"calibration: {path.name()} becomes {changed}", "measured", "predicted")]
    measured = {key(group): group["measured"] for group in after["overlay"]}
    for probe, measure_ in (("echo", "response"), ("echo", "network"), ("sized", "response"), ("sized", "network"),
                            ("flood", "network")):
        groups = [group for group in prediction["groups"]
                  if group["probe"] == probe and group["factors"]["case"]["label"] == "overflow"]
        sides = [(measured[key(group)], group["predicted"]) for group in groups]
        sides = [(now[measure_], then[measure_]) for now, then in sides if measure_ in now and measure_ in then]
        for quantile in ("p50", "p99"):
            if sides:
                base, value = (statistics.median(side[f"{quantile}_ns"] for side in each) for each in zip(*sides))
                rows.append(within(f"{probe}, {measure_}: {quantile}", base, value, time, PREDICTED_WITHIN))
    return rows


def key(group):
    return group["probe"], *sorted((name, level["label"]) for name, level in group["factors"].items())
