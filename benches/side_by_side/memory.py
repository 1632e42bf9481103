"""Is memory flat? The peak of `delaylab ping --json-stream` over a million and ten million probes."""

import json
import subprocess
import sys
import time

from . import tools
from .arena import CouldNotMeasure
from .table import Heading, compared

COMMANDS = ()
COUNTS = (10**6, 10**7)


def measure(arena, options):
    peaks = []
    with tools.reflector(arena, "spin"):
        for count in COUNTS:
            print(f"memory: {count:,} probes", file=sys.stderr)
            peaks.append(peak_kib(arena, count))
    row = compared("peak resident size", peaks[:1], peaks[1:], lambda kib: f"{kib / 1024:.1f} MiB", "≤ 1.05 ×")
    return [Heading("memory: ping --json-stream", *(f"{count:,} probes" for count in COUNTS)), row]


def peak_kib(arena, count):
    """Its high-water mark while it runs. The kernel's own count of a child's peak begins with that of
    the process it was forked from, which is this one."""
    command = tools.delaylab_ping(arena, "--wait", "0s", "--wait-mode", "spin", "-c", str(count), "--json-stream")
    process = arena.start(arena.a, command, stdout=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, high_water(process.pid))
        time.sleep(0.01)
    arena.running.remove(process)
    if process.returncode != 0 or peak == 0:
        raise CouldNotMeasure(f"delaylab ping -c {count} ended with {process.returncode}")
    return peak


def high_water(pid):
    """VmHWM of a process in KiB; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/status") as status:
            return next((int(line.split()[1]) for line in status if line.startswith("VmHWM:")), 0)
    except (FileNotFoundError, ProcessLookupError):
        return 0
