"""Tasks for the Python package, each measured in a process of its own: package_tasks.py TASK WORDS...

Each prints one line of JSON.
"""

import json
import subprocess
import sys
import os
import time

SWEEP = """
name = "sweep"
title = "Trials of one kind"
world = "sim"
[[probe]]
name = "echo"
method = "udp"
payload = "64B"
pacing = {{ poisson = "5ms" }}
duration = "{length}"
[[load]]
name = "bulk"
kind = "tcp"
streams = 2
[path]
topology = "pairs-on-a-trunk"
rate = "20Mbit/s"
propagation = "2ms"
[path.switch]
discipline = "fifo"
buffer = "64KiB"
[design]
repeats = {trials}
"""


def polars(run):
    import polars as pl

    began = time.perf_counter()
    rows = pl.read_parquet(f"{run}/records.parquet").height
    return {"wall_s": time.perf_counter() - began, "rows": rows}


def records(run):
    import polars as pl

    import delaylab as dl

    opened = dl.open(run)
    began = time.perf_counter()
    rows = pl.DataFrame(opened.records()).height
    return {"wall_s": time.perf_counter() - began, "rows": rows}


def ping():
    import delaylab as dl

    run = dl.ping("127.0.0.1", count=1000, interval="1ms")
    return {"p50_ns": run.summary().to_polars()["round_trip_p50_ns"][0]}


def command():
    words = [os.environ["DELAYLAB"], "ping", "127.0.0.1", "-c", "1000", "-i", "1ms", "-q", "--json"]
    printed = subprocess.run(words, check=True, capture_output=True).stdout
    return {"p50_ns": json.loads(printed)["stats"]["round_trip"]["p50_ns"]}


def sweep(how, trials, length):
    import delaylab as dl

    experiment = dl.Experiment.from_toml(SWEEP.format(trials=trials, length=length))
    if how == "process":
        began = time.perf_counter()
        dl.run(experiment, threads=2)
        return {"wall_s": time.perf_counter() - began}
    from distributed import Client, LocalCluster

    how, _, cpus = how.partition("/")
    if cpus:
        # Scheduler, workers and the joining of tables inherit it.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(cpus)])
    workers = int(how.removeprefix("dask-"))
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.wait_for_workers(workers)
        began = time.perf_counter()
        dl.sweep(experiment, client)
        return {"wall_s": time.perf_counter() - began}


if __name__ == "__main__":
    task, *words = sys.argv[1:]
    print(json.dumps({"polars": polars, "records": records, "ping": ping, "command": command, "sweep": sweep}[task](*words)))
