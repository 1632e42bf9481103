#!/usr/bin/env python3
"""Finds changes of level in series whose changes are known, with delaylab and with its peers, and prints two tables.

    benches/changes.py [--series 100] [--alarms 1000] [--traces FOLDER]

Peers: PELT on ranks (ruptures, penalty 3 ln n of the ranks' variance) and Apache Otava (E-divisive means, as in Hunter),
from PyPI, installed into target/change-peers. Otava, which is slow, gets every tenth series and none of more than 3000
values (`-`).

--traces: a folder of labelled traces (lines `time;rtt;change`, the change 1 or 0, a decimal comma allowed). The
published ones are dataset/ of github.com/WenqinSHAO/rtt (Shao and others, "A framework to evaluate changepoint
methods on RTT time series", 2017).

A change is found if a cut is at most five values away; each cut counts once. Nothing here watches the clock. `--series 0 --alarms 0` leaves the traces alone.
"""

import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = ROOT / "target/change-peers"
WITHIN = 5


def with_peers():
    """Goes on in an environment that has the peers."""
    python = PEERS / "bin/python"
    if pathlib.Path(sys.prefix) == PEERS:
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", PEERS], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "ruptures==1.1.10", "apache-otava==0.8.0",
                        "scipy"], check=True)
    sys.exit(subprocess.run([python, "-B", *sys.argv]).returncode)


def delaylab(many):
    """Cuts of each series, by the example that reads series from its standard input."""
    command = ["cargo", "run", "--quiet", "--release", "--package", "delaylab-stats", "--example", "change_points",
               "--", "-"]
    lines = "\n".join(" ".join(f"{x:.6f}" for x in series) for series in many) + "\n"
    answer = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, cwd=ROOT)
    return [[int(cut) for cut in line.split()] for line in answer.stdout.splitlines()]


def pelt(series):
    import numpy
    import ruptures
    from scipy.stats import rankdata
    ranks = rankdata(series) / len(series)
    penalty = 3 * numpy.log(len(series)) * ranks.var()
    return ruptures.KernelCPD(kernel="linear", min_size=2).fit(ranks.reshape(-1, 1)).predict(pen=penalty)[:-1]


def otava(series):
    from otava.analysis import compute_change_points
    found, _ = compute_change_points(list(series))
    return [change.index for change in found]


SLOW = {"Otava": otava}


def hits(cuts, changes):
    left = list(changes)
    right = 0
    for cut in cuts:
        near = [change for change in left if abs(change - cut) <= WITHIN]
        if near:
            left.remove(min(near, key=lambda change: abs(change - cut)))
            right += 1
    return right


class Score:
    def __init__(self):
        self.right = self.found = self.there = self.series = self.alarmed = 0

    def add(self, cuts, changes):
        self.right += hits(cuts, changes)
        self.found += len(cuts)
        self.there += len(changes)
        self.series += 1
        self.alarmed += bool(cuts)

    def f1(self):
        return f"{2 * self.right / max(1, self.found + self.there):.2f}" if self.series else "-"

    def alarms(self):
        return f"{100 * self.alarmed / self.series:.1f} %" if self.series else "-"


def scores(many):
    """Scores of each detector over many series, each with its changes."""
    each = {"delaylab": Score(), "PELT on ranks": Score(), **{name: Score() for name in SLOW}}
    for cuts, (_, changes) in zip(delaylab([series for series, _ in many]) if many else [], many):
        each["delaylab"].add(cuts, changes)
    for index, (series, changes) in enumerate(many):
        each["PELT on ranks"].add(pelt(series), changes)
        if index % 10 == 0 and len(series) <= 3000:
            for name, find in SLOW.items():
                each[name].add(find(series), changes)
    return each


def print_table(head, rows, show):
    print(f"\n| {head} | delaylab | PELT on ranks | " + " | ".join(SLOW) + " |")
    print("|---|" + "---|" * (2 + len(SLOW)))
    for name, many in rows:
        print(f"| {name} | " + " | ".join(show(score) for score in scores(many).values()) + " |", flush=True)


def levels(random, lengths, level, noise):
    """Levels of these lengths, and where they change."""
    series, changes = [], []
    for index, length in enumerate(lengths):
        changes.append(len(series))
        series.extend(level(index) + noise(length))
    return series, changes[1:]


def with_changes(count, random):
    normal, student = random.standard_normal, lambda n: random.standard_t(3, n) / 3**0.5
    late = lambda n: random.standard_exponential(n)

    def many(name, lengths, level, noise):
        return name, [levels(random, lengths(), level(), noise) for _ in range(count)]

    drawn = lambda: (lambda _: 20 + 40 * random.random())
    square = lambda up: lambda: (lambda index: 20 + up * (index % 2))
    yield many("30 levels of 250, from 20 to 60 ms, sd 1 ms", lambda: [250] * 31, drawn, normal)
    yield many("30 levels of 500, from 20 to 60 ms, sd 1 ms", lambda: [500] * 31, drawn, normal)
    yield many("20 and 24 ms in turn, 50 each, sd 1 ms", lambda: [50] * 20, square(4), normal)
    for law, noise in [("normal", normal), ("Student's t of 3", student), ("exponential", late)]:
        for deviation in [0.33, 0.5, 0.7]:
            scaled = lambda n, noise=noise, deviation=deviation: deviation * noise(n)
            isolated = lambda: [int(length) for k in range(4) for length in (random.integers(150, 600), 50)] + [300]
            yield many(f"5 % for 50 values, sd {deviation} ms, {law}", isolated, square(1), scaled)
    scales = lambda: [int(5 * 10_000**random.random()) for _ in range(12)]
    yield many("levels of 5 to 50,000 values, 5 sd apart", scales, square(5), normal)


def stationary(count, random):
    import numpy
    from scipy.signal import lfilter

    def many(name, length, draw):
        return name, [(draw(length), []) for _ in range(count)]

    def ar1(phi):
        scale = (1 - phi * phi)**0.5
        return lambda n: lfilter([scale], [1, -phi], random.standard_normal(n + 500))[500:]

    def wave(period, height):
        return lambda n: (height * numpy.sin(2 * numpy.pi * (numpy.arange(n) / period + random.random()))
                          + random.standard_normal(n))

    for length in [500, 2000]:
        yield many(f"normal, {length} values", length, random.standard_normal)
        yield many(f"Student's t of 2, {length} values", length, lambda n: random.standard_t(2, n))
        for phi in [0.5, 0.95]:
            yield many(f"AR(1), φ {phi}, {length} values", length, ar1(phi))
        for period, height in [(20, 1), (100, 1), (100, 10)]:
            yield many(f"sine of {period} values, {height} sd high, {length} values", length, wave(period, height))


def labelled(folder):
    series, changes = [], []
    for path in sorted(pathlib.Path(folder).glob("*.csv")):
        series, changes = [], []
        for line in path.read_text().splitlines()[1:]:
            _, value, change = line.split(";")[:3]
            if change.strip() == "1":
                changes.append(len(series))
            try:
                value = float(value.replace(",", "."))
            except ValueError:
                continue
            if value > 0:
                series.append(value)
        yield series, changes


def main():
    parser = argparse.ArgumentParser(description="changes of level, by delaylab and its peers")
    parser.add_argument("--series", type=int, default=100, help="series of each kind with changes")
    parser.add_argument("--alarms", type=int, default=1000, help="series of each kind without")
    parser.add_argument("--traces", action="append", default=[], help="a folder of labelled traces")
    options = parser.parse_args()
    with_peers()
    import numpy
    random = numpy.random.default_rng(1)
    print_table("F1", with_changes(options.series, random), Score.f1)
    print_table("false alarms", stationary(options.alarms, random), Score.alarms)
    if options.traces:
        rows = [(pathlib.Path(folder).name, list(labelled(folder))) for folder in options.traces]
        print_table("F1 of labelled traces", rows, Score.f1)


if __name__ == "__main__":
    main()
