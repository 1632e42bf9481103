"""Delays planted in a server and on the two ways to it: is each seen in its own stage, or held by its bounds?

`experiments/validation/planted-servers.toml` is what runs: every combination of four times that the server thinks, four
propagations there and four back, asked in three ways.
"""

import json
import tempfile

from .table import Heading, Row, time
from .tools import DELAYLAB, done

COMMANDS = ("tc",)
# What a stage may be off by.
SHARE, LEAST_NS = 0.05, 50_000
STAGES = {"connect", "forward_path+return_path"}


def measure(arena, options):
    with tempfile.TemporaryDirectory() as folder:
        trials = list(run(folder))
    # Where nothing is planted: what the server's threads, the soft switch and the kernels take of themselves.
    idle = {trial["probe"]: trial for trial in trials if planted_ways(trial) == 0 and think(trial) == 0}
    server = [of_server(trial, idle[trial["probe"]]) for trial in trials]
    path = [of_path(trial, network(idle[trial["probe"]])) for trial in trials]
    rows = [Heading("planted delays: where they are seen", "cases", "wrong", ratio=False)]
    for name, cases in ("server's time or its bounds", server), ("network's time", [case for case in path if case]):
        rows += by_size(name, cases)
    return rows


def run(folder):
    printed = done("planted", "64 trials", [DELAYLAB, "run", "planted-servers", "--json", "--quiet", "-o", folder])
    lines = map(json.loads, printed.splitlines())
    return (line for line in lines if line["kind"] == "trial")


def think(trial):
    return trial["factors"]["think"]["value"]


def planted_ways(trial):
    return trial["factors"]["out"]["value"] + trial["factors"]["back"]["value"]


def bounds(trial):
    """The lower one at its least, as whatever else happens adds to it; the upper one at its median, as that of one
    request is by the shortest round trip of its own connection, which a busy machine can lengthen."""
    server = trial["stats"]["server"]
    return server["least"]["min_ns"], server["most"]["p50_ns"]


def of_server(trial, idle):
    """What was planted, the bounds of it, and whether they hold it."""
    planted = think(trial)
    least, most = bounds(trial)
    off = max(LEAST_NS, SHARE * planted)
    return planted, (least, most), least - off - bounds(idle)[0] <= planted <= most + off


def network(trial):
    """The time on the path of one way there and back, where it was told from the server."""
    at_median = trial["stats"]["anatomy"][0]["stages"]
    times = [part["time_ns"] for part in at_median if part["stage"] in STAGES]
    return min(times) if times else None


def of_path(trial, idle):
    """The same of both ways of the path. None where only bounds are known."""
    seen, planted = network(trial), planted_ways(trial)
    if seen is None or idle is None:
        return None
    off = max(LEAST_NS, SHARE * planted) + idle
    return planted, (seen, seen), abs(seen - planted) <= off


def by_size(name, cases):
    for planted in sorted({case[0] for case in cases}):
        of_size = [case for case in cases if case[0] == planted]
        wrong = sum(not case[2] for case in of_size)
        seen = f"{time(min(case[1][0] for case in of_size))} to {time(max(case[1][1] for case in of_size))}"
        yield Row(f"{name}: {time(planted)}, seen {seen}", str(len(of_size)), str(wrong), [], "0 wrong", wrong == 0)
