"""Does a busy host spoil the figures? Each tool on a 1 ms grid, idle and with every CPU kept busy.

The growth of its p99 says how much of the host a tool takes for the network. A grid has so many
slots: sent against due says what a tool left out without a word.
"""

import contextlib
import os
import statistics
import subprocess
import sys

from . import tools
from .table import Heading, Row, compared, time

COMMANDS = ("ping", "irtt", "sockperf")
TOOLS = {"ping": tools.ping, "irtt": tools.irtt, "sockperf": tools.sockperf, "delaylab": tools.delaylab}
SPINNERS_A_CPU = 2

# The claim: delaylab's network stays as it is, while what the peers print grows by far more.
OURS, PEERS = "≤ 1.5 ×", "> 1.5 ×"

# Ends with its parent, so that a killed run leaves none behind.
SPINNER = """
import os, sys
os.sched_setaffinity(0, [int(sys.argv[1])])
while os.getppid() == int(sys.argv[2]):
    for _ in range(100_000): pass
"""


def measure(arena, options):
    rounds = options.rounds or 3
    seconds = options.seconds / rounds
    passes = {(name, state): [] for name in TOOLS for state in ("idle", "busy")}
    for number in range(rounds):
        for name, tool in TOOLS.items():
            for state in "idle", "busy":
                print(f"busy: round {number + 1} of {rounds}, {name} {state}", file=sys.stderr)
                with spinners() if state == "busy" else contextlib.nullcontext():
                    passes[name, state].append(tool(arena, seconds))
    title = f"busy: 1 ms grid, {rounds} × {seconds:g} s, {SPINNERS_A_CPU} spinners a CPU"
    return [Heading(title, "idle", "busy"), *rows(passes)]


def rows(passes):
    for name in TOOLS:
        idle, busy = passes[name, "idle"], passes[name, "busy"]
        yield sent_row(name, idle, busy)
        yield grown(f"{name} round trip p50", idle, busy, "p50")
        yield grown(f"{name} round trip p99", idle, busy, "p99", "" if name == "delaylab" else PEERS)
        yield grown(f"{name} round trip max", idle, busy, "max")
    idle, busy = passes["delaylab", "idle"], passes["delaylab", "busy"]
    yield grown("delaylab lateness p99", idle, busy, "lateness_p99")
    yield grown("delaylab lateness max", idle, busy, "lateness_max")
    yield grown("delaylab network p99", idle, busy, "network_p99", OURS)


def grown(what, idle, busy, figure, goal=""):
    """A row with the growth of one figure from idle to busy."""
    columns = ([getattr(one, figure) for one in passes] for passes in (idle, busy))
    return compared(what, *columns, time, goal)


def sent_row(name, idle, busy):
    """Slots sent of those due; delaylab's goal is every one of them, idle and busy."""
    row = Row(f"{name} slots sent", share_sent(idle), share_sent(busy), [])
    if name == "delaylab":
        row.goal = "100 %"
        row.met = all(one.sent == one.due for one in idle + busy)
    return row


def share_sent(passes):
    share = statistics.median(min(1, one.sent / one.due) for one in passes)
    # Rounded down: 99.99 % is not all of them.
    return f"{int(share * 1000) / 10:g} %"


@contextlib.contextmanager
def spinners():
    """Keeps every CPU busy while the block runs, at normal priority."""
    cpus = [cpu for cpu in os.sched_getaffinity(0) for _ in range(SPINNERS_A_CPU)]
    running = [subprocess.Popen([sys.executable, "-c", SPINNER, str(cpu), str(os.getpid())]) for cpu in cpus]
    try:
        yield
    finally:
        for spinner in running:
            spinner.kill()
            spinner.wait()
