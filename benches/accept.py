#!/usr/bin/env python3
"""Measures delaylab side by side with the tools that engineers use today, and prints one table.

    benches/accept.py [--only busy|rate|memory|capture|load|frames|simulation|records|samples|
                       serve|testbed|calibration|planted|servers|package] [--seconds 60] [--rounds N]

Everything runs between two network namespaces of its own, joined by a veth pair, and is removed on
exit. Rounds are interleaved, so that a slow drift of the machine falls on every tool alike; figures
are medians over rounds. It asserts nothing about time: it prints goal, figure and whether it was met.

Exit: 0 measured, 1 something could not be measured, 3 this machine lacks what it takes.

The parts, in `side_by_side/`: `arena` is the two namespaces, `tools` each tool's command and what it
prints, `noise` how far the machine can be trusted, `table` what is printed; `busy`, `rate`, `memory`,
`capture`, `load`, `frames`, `simulation`, `records`, `samples`, `serve`, `testbed`, `calibration`, `planted`, `servers` and `package`
are the measurements. `calibration` and `planted` build their own network; `simulation`, `records`, `samples`, `serve` and `package` need none and no root: `peers/`
has what runs in other simulators and libraries.
"""

import argparse
import contextlib
import os
import shutil
import signal
import sys

from side_by_side import (busy, calibration, capture, frames, load, memory, noise, package, planted, rate, records, samples,
                          serve, servers, simulation, table, testbed)
from side_by_side.arena import Arena, CouldNotMeasure
from side_by_side.tools import DELAYLAB

MEASUREMENTS = {"busy": busy, "rate": rate, "memory": memory, "capture": capture, "load": load, "frames": frames,
                "simulation": simulation, "records": records, "samples": samples, "serve": serve,
                "testbed": testbed, "calibration": calibration, "planted": planted, "servers": servers,
                "package": package}
WITHOUT_NETWORK = {"simulation", "records", "samples", "serve", "calibration", "planted", "package"}
WITHOUT_DELAYLAB = {"simulation", "samples"}


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def arguments():
    parser = argparse.ArgumentParser(description="delaylab side by side with its peers")
    parser.add_argument("--only", choices=MEASUREMENTS, help="one measurement instead of all")
    parser.add_argument("--seconds", type=positive, default=60, metavar="S",
                        help="seconds a tool runs at 1 ms, idle and busy each, in all (60; 10 for a quick look)")
    parser.add_argument("--rounds", type=positive, metavar="N",
                        help="interleaved rounds (busy, load, simulation 3, rate, samples 5); calibration: paths (20)")
    return parser.parse_args()


def network(names):
    """Does any of these need the two namespaces?"""
    return not WITHOUT_NETWORK.issuperset(names)


def missing(names):
    """What this machine lacks for these measurements, one sentence each."""
    needed = set().union(*(MEASUREMENTS[name].COMMANDS for name in names))
    if network(names):
        needed.add("ip")
    lacks = [f"{command} is not installed (scripts/install.sh accept)"
             for command in sorted(needed) if not shutil.which(command)]
    if network(names) and os.geteuid() != 0:
        lacks.append("network namespaces need root: sudo make accept")
    if not WITHOUT_DELAYLAB.issuperset(names) and not os.access(DELAYLAB, os.X_OK):
        lacks.append(f"{DELAYLAB} is not built (make dist)")
    return lacks


def measure(name, arena, options):
    """The rows of one measurement, or the row that says why there are none."""
    try:
        return MEASUREMENTS[name].measure(arena, options), True
    except CouldNotMeasure as why:
        print(f"{name}: {why}", file=sys.stderr)
        return [table.Heading(f"{name}: could not be measured: {why}")], False


def main():
    options = arguments()
    names = [options.only] if options.only else list(MEASUREMENTS)
    lacks = missing(names)
    if lacks:
        print("accept: " + "\naccept: ".join(lacks), file=sys.stderr)
        return 3
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    machine, rows, complete = noise.Machine(), [], True
    with Arena() if network(names) else contextlib.nullcontext() as arena:
        machine.look()
        for name in names:
            more, measured = measure(name, arena, options)
            rows += more
            complete &= measured
            machine.look()
    table.show(rows)
    print("\n" + machine.verdict(table.spreads(rows)))
    return 0 if complete else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
