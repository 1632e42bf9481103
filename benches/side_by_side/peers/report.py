"""What a peer's run took, as one line of JSON."""

import json
import time


class Report:
    """Measures the block."""

    def __enter__(self):
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_):
        self.wall = time.perf_counter() - self.wall
        self.cpu = time.process_time() - self.cpu

    def show(self, **figures):
        print(json.dumps({"cpu_s": self.cpu, "wall_s": self.wall, "peak_kib": high_water(), **figures}))


def high_water():
    """VmHWM of this process in KiB."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
