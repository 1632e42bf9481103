#!/usr/bin/env python3
"""What importing many packets takes: CPU time and memory of `delaylab import`, for ping's text, CSV and Parquet.

    benches/import_scale.py [--packets 10000000] [--delaylab target/release/delaylab] [--page]

Parquet is left out where pyarrow is not installed. The files are made in a temporary directory (1 GB for ten
million packets) and removed. CPU time is that of the process with its threads; memory is its largest resident set.
"""

import argparse
import os
import random
import shutil
import subprocess
import tempfile
import time


def text(path, delays):
    with open(path, "w") as file:
        file.write("PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n")
        for number, delay in enumerate(delays, 1):
            file.write(f"64 bytes from 10.0.0.1: icmp_seq={number & 0xFFFF} ttl=64 time={delay:.3f} ms\n")


def csv(path, delays):
    with open(path, "w") as file:
        file.write("time_s,rtt_ms\n")
        for number, delay in enumerate(delays):
            file.write(f"{1700000000 + number / 100:.2f},{delay:.3f}\n")


def parquet(path, delays):
    import pyarrow
    import pyarrow.parquet

    times = pyarrow.array([1_700_000_000_000 + 10 * number for number in range(len(delays))], pyarrow.timestamp("ms"))
    pyarrow.parquet.write_table(pyarrow.table({"time": times, "rtt_ms": delays}), path)


def made(write, path, packets):
    """Whether the file could be made. Another process does it: the memory of this one would be counted as that of
    what it starts."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            draws = random.Random(7)
            write(path, [round(8 + draws.expovariate(1 / 1.5), 3) for _ in range(packets)])
            code = 0
        except ImportError:
            code = 2
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == 1:
        raise SystemExit(f"cannot make {path}")
    return code == 0


def measured(command):
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} ended with status {status}")
    return used.ru_utime + used.ru_stime, time.monotonic() - began, used.ru_maxrss / 1024


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--packets", type=int, default=10_000_000)
    options.add_argument("--delaylab", default="target/release/delaylab")
    options.add_argument("--page", action="store_true", help="with the explanation and the page")
    options = options.parse_args()
    folder = tempfile.mkdtemp()
    try:
        print("format    packets   CPU s  packets a CPU s  elapsed s  memory MB")
        for name, write in (("text", text), ("csv", csv), ("parquet", parquet)):
            path = os.path.join(folder, f"delays.{name}")
            if not made(write, path, options.packets):
                print(f"{name:8}  skipped: no pyarrow")
                continue
            command = [options.delaylab, "import", path, "-o", os.path.join(folder, "runs")]
            cpu, elapsed, memory = measured(command + ([] if options.page else ["--no-report"]))
            rate = options.packets / cpu
            print(f"{name:8} {options.packets:9} {cpu:6.1f} {rate:15,.0f} {elapsed:10.1f} {memory:10.0f}")
            os.remove(path)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
