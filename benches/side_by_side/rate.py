"""How many round trips a second, back to back, and what a probe costs in CPU time.

sockperf's ping-pong and delaylab's closed loop, same payload, same way of waiting at both ends, one
after the other in every round; ratios are taken within a round.
"""

import sys

from . import tools
from .table import Heading, compared, per_second, time

COMMANDS = ("sockperf",)
SECONDS = 3
GOALS = {("spin", "none"): "≥ 0.95 ×", ("spin", "software"): "≥ 0.75 ×",
         ("block", "none"): "≥ 0.95 ×", ("block", "software"): "≥ 0.9 ×"}
MODES = {"spin": "non-blocking", "block": "blocking"}
STAMPS = {"none": "without stamps", "software": "all stamps"}


def measure(arena, options):
    rounds = options.rounds or 5
    peer = {mode: [] for mode in MODES}
    ours = {pair: [] for pair in GOALS}
    for number in range(rounds):
        print(f"rate: round {number + 1} of {rounds}", file=sys.stderr)
        for mode in MODES:
            peer[mode].append(tools.sockperf_rate(arena, SECONDS, mode))
            for stamps in STAMPS:
                ours[mode, stamps].append(tools.delaylab_rate(arena, SECONDS, mode, stamps))
    title = f"rate: udp back to back, {tools.PAYLOAD} B, {rounds} × {SECONDS} s"
    return [Heading(title, "sockperf", "delaylab"), *rows(peer, ours)]


def rows(peer, ours):
    for (mode, stamps), goal in GOALS.items():
        name = f"{MODES[mode]}, {STAMPS[stamps]}"
        yield compared(f"{name}: round trips", *rounds_of("per_second", peer[mode], ours[mode, stamps]),
                       per_second, goal)
        yield compared(f"{name}: CPU time a probe", *rounds_of("cpu_ns", peer[mode], ours[mode, stamps]), time)


def rounds_of(figure, *columns):
    return [[getattr(one, figure) for one in column] for column in columns]
