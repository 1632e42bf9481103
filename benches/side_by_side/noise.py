"""How far this machine can be trusted: what others took from a process that only reads the clock,
before, between and after the measurements."""

import os
import subprocess
import sys
import time

# A reader of the clock that is left alone sees it move by well under a microsecond. A longer gap is
# somebody else's: the kernel, another process, or the hypervisor.
GAP_NS = 10_000
LOOK_S = 0.5
QUIET_STOLEN = 0.02
QUIET_SPREAD = 0.10

READER = """
import sys, time
gap, end, now = int(sys.argv[1]), time.monotonic_ns() + int(sys.argv[2]), time.monotonic_ns()
stolen = largest = 0
while now < end:
    before, now = now, time.monotonic_ns()
    if now - before > gap:
        stolen += now - before
        largest = max(largest, now - before)
print(stolen, largest)
"""


class Machine:
    def __init__(self):
        self.looks = []
        self.began = times()

    def look(self):
        """Reads the clock on every CPU at once, and keeps what was stolen."""
        self.looks += look_at_each_cpu()

    def verdict(self, spreads):
        """Sentences: what was seen, and what it means for the ratios."""
        stolen = max(share for share, _ in self.looks)
        largest = max(gap for _, gap in self.looks)
        spread = max(spreads, default=0.0)
        repeats = f"repeats of one ratio differ by up to ± {spread:.0%}" if spreads else "no ratio was repeated"
        quiet = stolen <= QUIET_STOLEN and spread <= QUIET_SPREAD
        seen = (f"Machine: {len(os.sched_getaffinity(0))} CPUs; a process that only reads the clock lost up to "
                f"{stolen:.1%} of its time, {largest / 1e6:.2f} ms at once; the hypervisor took "
                f"{self.steal():.1%}; {repeats}.")
        return f"{seen}\nVerdict: {'quiet enough.' if quiet else noisy(stolen, spread)}"

    def steal(self):
        """The share of all CPU time that the hypervisor gave to other guests."""
        spent = [now - then for now, then in zip(times(), self.began)]
        return spent[7] / max(1, sum(spent))


def noisy(stolen, spread):
    others = " Others are using this machine: idle was not idle." if stolen > QUIET_STOLEN else ""
    within = max(spread, stolen, QUIET_SPREAD)
    return f"noisy: a ratio that is closer to its goal than ± {within:.0%} is not to be trusted.{others}"


def look_at_each_cpu():
    """(share stolen, largest gap in ns) of each CPU."""
    readers = [subprocess.Popen(reader(cpu), stdout=subprocess.PIPE, text=True) for cpu in os.sched_getaffinity(0)]
    outputs = [process.communicate()[0].split() for process in readers]
    return [(int(stolen) / (LOOK_S * 1e9), int(largest)) for stolen, largest in outputs]


def reader(cpu):
    pinned = f"import os; os.sched_setaffinity(0, [{cpu}])\n" + READER
    return [sys.executable, "-c", pinned, str(GAP_NS), str(int(LOOK_S * 1e9))]


def times():
    """The first eight counts of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal."""
    with open("/proc/stat") as stat:
        return [int(count) for count in stat.readline().split()[1:9]]
