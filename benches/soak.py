#!/usr/bin/env python3
"""Watches memory, descriptors and threads of `reflect`, `serve` and `ping --json-stream` while they work for a long time.

    benches/soak.py [--binary PATH] [--seconds 3600] [--every 5] [--samples FILE.csv]

On loopback: a reflector with a key, a ping without an end beside short ones that begin and end sessions over udp, tcp
and STAMP, a server of a folder in which runs appear, and visitors of it: some read the list and a run, some connect and
say nothing. At each step /proc tells resident memory, descriptors and threads of each of the three.

A process is flat where the median of the last quarter of the time is no more than that of the quarter after the first,
but for 5 % or 2 MiB of memory, and two descriptors. Exit: 0 flat, 1 not, 3 this machine lacks what it takes.
"""

import argparse
import csv
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

SERVER, ECHO, STAMP = 8974, 8972, 8970
EXPERIMENT = """
name = "soak"
title = "A small one"
world = "sim"
[[probe]]
name = "echo"
method = "udp"
payload = "64B"
pacing = { poisson = "4ms" }
duration = "2s"
[path]
topology = "pairs-on-a-trunk"
rate = "100Mbit/s"
propagation = "50us"
"""


def usage(process):
    """Resident KiB, descriptors and threads."""
    folder = pathlib.Path(f"/proc/{process.pid}")
    status = dict(line.split(":", 1) for line in (folder / "status").read_text(encoding="ascii").splitlines())
    return int(status["VmRSS"].split()[0]), len(os.listdir(folder / "fd")), int(status["Threads"])


class Work:
    """What the three have to do."""

    def __init__(self, binary, folder, key):
        self.binary, self.folder, self.keyed = binary, folder, ["--key-file", str(key)]
        self.silent, self.short, self.runs, self.round, self.failed = [], [], [], 0, 0

    def ping(self, *words, **options):
        command = [self.binary, "ping", "127.0.0.1", *self.keyed, *words]
        return subprocess.Popen(command, stderr=subprocess.DEVNULL, **options)

    def visit(self, page):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{SERVER}{page}", timeout=10) as answer:
                return answer.read().decode("utf-8", "replace")
        except OSError:
            self.failed += 1
            return ""

    def silence(self):
        """A visitor that connects and says nothing, and goes away much later."""
        try:
            self.silent.append(socket.create_connection(("127.0.0.1", SERVER), timeout=5))
        except OSError:
            self.failed += 1
        if len(self.silent) > 20:
            self.silent.pop(0).close()

    def step(self):
        self.short = [process for process in self.short if process.poll() is None]
        self.runs = [process for process in self.runs if process.poll() is None]
        methods = [("udp", ECHO), ("tcp", ECHO), ("stamp", STAMP)]
        method, port = methods[self.round % len(methods)]
        self.short.append(self.ping("--method", method, "--port", str(port), "-c", "50", "-i", "5ms", "-q",
                                    stdout=subprocess.DEVNULL))
        # A new run now and then, and no more than a few hundred of them.
        if self.round % 15 == 0:
            command = [self.binary, "run", str(self.folder / "soak.toml"), "-q", "--set", f"seed={self.round}",
                       "-o", str(self.folder / "runs")]
            self.runs.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        listed = self.visit("/api/runs")
        names = [part.split('"', 1)[0] for part in listed.split('"folder":"')[1:]]
        if names:
            name = names[self.round % min(len(names), 5)]
            self.visit(f"/run/{name}/")
            self.visit(f"/run/{name}/records.csv")
            self.visit(f"/run/{name}/window?probe=0&from=0&to=2&cells=100")
        self.silence()
        self.round += 1

    def close(self):
        for process in self.short + self.runs:
            process.kill()
            process.wait()
        for one in self.silent:
            one.close()


def is_flat(samples):
    """Of one process: `(seconds, KiB, descriptors, threads)` each."""
    quarter = len(samples) // 4
    early, late = samples[quarter:2 * quarter], samples[-quarter:]
    middle = lambda rows, column: statistics.median(row[column] for row in rows)
    memory = middle(late, 1) <= max(1.05 * middle(early, 1), middle(early, 1) + 2048)
    return memory and middle(late, 2) <= middle(early, 2) + 2 and middle(late, 3) <= middle(early, 3)


def soak(options, folder, table):
    key = folder / "key"
    with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
        file.write(os.urandom(32).hex())
    (folder / "runs").mkdir()
    (folder / "soak.toml").write_text(EXPERIMENT, encoding="ascii")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    work = Work(options.binary, folder, key)
    reflector = subprocess.Popen([options.binary, "reflect", "--bind", "127.0.0.1", "--port", str(ECHO),
                                  "--stamp-port", str(STAMP), "--key-file", str(key)], **quiet)
    server = subprocess.Popen([options.binary, "serve", str(folder / "runs"), "--port", str(SERVER)], **quiet)
    time.sleep(2)
    prober = work.ping("--method", "udp", "--port", str(ECHO), "-i", "10ms", "--json-stream", stdout=subprocess.DEVNULL)
    watched = {"reflect": reflector, "serve": server, "ping": prober}
    samples = {name: [] for name in watched}
    start = time.monotonic()
    try:
        while (now := time.monotonic() - start) < options.seconds:
            work.step()
            for name, process in watched.items():
                if process.poll() is not None:
                    raise RuntimeError(f"{name} ended with {process.returncode} after {now:.0f} s")
                samples[name].append((round(now, 1), *usage(process)))
                table.writerow([name, *samples[name][-1]])
            time.sleep(max(0.0, options.every - (time.monotonic() - start - now)))
    finally:
        for process in watched.values():
            process.terminate()
        work.close()
        for process in watched.values():
            process.wait(timeout=30)
    print(f"{work.round} rounds in {options.seconds} s; {work.failed} visits refused or failed")
    return samples


def show(samples):
    print("process  resident MiB: first, middle, last, most   descriptors: first, last, most   threads: first, last, most   ")
    flat = True
    for name, rows in samples.items():
        memory, descriptors, threads = ([row[column] for row in rows] for column in (1, 2, 3))
        mebi = [f"{value / 1024:.1f}" for value in (memory[0], memory[len(memory) // 2], memory[-1], max(memory))]
        one = is_flat(rows)
        flat = flat and one
        print(f"{name:8} {', '.join(mebi):41} {descriptors[0]}, {descriptors[-1]}, {max(descriptors):<22} "
              f"{threads[0]}, {threads[-1]}, {max(threads):<12} {'flat' if one else 'GROWS'}")
    return flat


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--binary", default="target/release/delaylab")
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--every", type=float, default=5, help="seconds from one step to the next")
    parser.add_argument("--samples", help="write every sample to this file")
    options = parser.parse_args()
    if not os.access(options.binary, os.X_OK):
        print(f"soak.py: there is no {options.binary}: `make build`, or --binary", file=sys.stderr)
        return 3
    options.binary = os.path.abspath(options.binary)
    try:
        with (tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
              open(options.samples or os.devnull, "w", newline="", buffering=1, encoding="ascii") as file):
            table = csv.writer(file)
            table.writerow(["process", "seconds", "resident_kib", "descriptors", "threads"])
            samples = soak(options, pathlib.Path(folder), table)
    except (RuntimeError, OSError) as error:
        print(f"soak.py: {error}", file=sys.stderr)
        return 1
    return 0 if show(samples) else 1


if __name__ == "__main__":
    sys.exit(main())
