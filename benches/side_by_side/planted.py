"""Delays planted in a server and on the two ways to it: is each seen in its own stage, or held by its bounds?

`experiments/validation/planted-servers.toml` is what runs: every combination of four times that the server thinks, four
propagations there and four back, asked in three ways. Both take longer than was planted where their threads wake late,
so the truth is what each measured itself: the server from the arrival of the request in its kernel until its reply was about
to be written, the soft switch by how late it handed frames on.
"""

import json
import sys
import tempfile
import typing

from .table import Heading, Row, time
from .tools import DELAYLAB, done

COMMANDS = ("tc",)
# What a stage may be off by.
SHARE, LEAST_NS = 0.05, 50_000
STAGES = {"connect", "forward_path+return_path"}


def measure(arena, options):
    with tempfile.TemporaryDirectory() as folder:
        trials = list(run(folder))
    # Without a planted path: what the server's kernel, the soft switch and its threads take of themselves, after pauses of
    # this length. These are held against nothing.
    idle = {(trial["probe"], think(trial)): trial for trial in trials if planted_ways(trial) == 0}
    trials = [trial for trial in trials if planted_ways(trial) > 0]
    beside = [idle[trial["probe"], think(trial)] for trial in trials]
    server = [of_server(trial, one) for trial, one in zip(trials, beside)]
    path = [of_path(trial, network(one)) for trial, one in zip(trials, beside)]
    for stage, cases in (("server", server), ("network", path)):
        for trial, case in zip(trials, cases):
            if case and not case.right:
                print(f"planted: wrong: {stage}, {described(trial)}: {case}", file=sys.stderr)
    rows = [Heading("planted delays: where they are seen", "cases", "wrong", ratio=False)]
    told = [case for case in server if case.told]
    for name, cases in (("server's stage", told), ("server's bounds", [case for case in server if not case.told]),
                        ("network's stage", [case for case in path if case])):
        rows += by_size(name, cases)
    return rows


class Case(typing.NamedTuple):
    """What was planted, what the server or the switch measured of that, what was seen, and whether it is right."""

    planted: float
    measured: float
    seen: tuple
    right: bool
    told: bool = True


def run(folder):
    printed = done("planted", "64 trials", [DELAYLAB, "run", "planted-servers", "--json", "--quiet", "-o", folder])
    lines = map(json.loads, printed.splitlines())
    return (line for line in lines if line["kind"] == "trial")


def described(trial):
    levels = (f"{name} {level['label']}" for name, level in trial["factors"].items())
    return ", ".join([f"trial {trial['trial']}", trial["probe"], *levels])


def think(trial):
    return trial["factors"]["think"]["value"]


def planted_ways(trial):
    return trial["factors"]["out"]["value"] + trial["factors"]["back"]["value"]


def of_server(trial, idle):
    """Where the bounds are one value, as far as what the server takes is concerned, the stage is held against what the server
    measured; else the bounds are to hold that. All are at their medians. (A response counts as told apart already where its bounds are
    closer than 5 % of all that lies between request and reply: on a long path that is more than a fast server takes.) What the
    server's kernel takes to send the reply comes after its own measurement: as much as without a planted path."""
    server = trial["stats"]["server"]
    truth = server["says"]["p50_ns"]
    least, most = server["least"]["p50_ns"], server["most"]["p50_ns"]
    off = max(LEAST_NS, SHARE * truth) + sending(idle["stats"]["server"])
    told = server["exact"] == server["least"]["count"] and most - least <= off
    right = abs(least - truth) <= off if told else least - off <= truth <= most + off
    return Case(think(trial), truth, (least, least if told else most), right, told)


def sending(server):
    return max(0, server["least"]["p50_ns"] - server["says"]["p50_ns"])


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
    # One frame there and one back.
    truth = planted + 2 * trial["facts"]["switch_lateness"]["p50_ns"]
    off = max(LEAST_NS, SHARE * planted) + idle
    return Case(planted, truth, (seen, seen), abs(seen - truth) <= off)


def by_size(name, cases):
    for planted in sorted({case.planted for case in cases}):
        of_size = [case for case in cases if case.planted == planted]
        wrong = sum(not case.right for case in of_size)
        words = [f"planted {time(planted)}"]
        words.append(f"measured there {spread([case.measured for case in of_size])}")
        words.append(f"seen {spread([bound for case in of_size for bound in case.seen])}")
        yield Row(f"{name}: {', '.join(words)}", str(len(of_size)), str(wrong), [], "0 wrong", wrong == 0)


def spread(times):
    return f"{time(min(times))} to {time(max(times))}"
