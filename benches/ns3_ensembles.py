#!/usr/bin/env python3
"""TCP with loss beside ns-3: the same ensembles of staggered starts in both, and how their echoes compare.

    benches/ns3_ensembles.py [--delaylab target/release/delaylab] [--staggers 10] [--seconds 10] [--mtu 1500]

Three NewReno flows with windows of 1 MB share a FIFO of 624,000 bytes at 155.52 Mbit/s, with SACK and without, at an MTU
of 9188 and of 1500. Both recover by RFC 6675 and by RFC 6582: ns-3's default, PRR, multiplies bytes delivered by the threshold
in 32 bits, which overflows at 8 kB of this window, and sends nothing until the window is down. One run is one realisation:
moving a start by 17 ms moves the mean by milliseconds, so that only ensembles compare. ns-3 comes from
`scripts/simulation-peers.sh`.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEER = ROOT / "benches/side_by_side/peers/dumbbell_ns3.py"
PYTHON = ROOT / "target/simulation-peers/bin/python"
FLOWS, WINDOW, FIRST_S, STEP_S, ECHO_FROM_S = 3, 1_048_576, 0.1, 0.017, 0.5
# Echoes of the end are not counted, as the peer's: they may be under way when the simulation ends.
LAST_S = 0.25
# How much two means may differ, in standard errors of both.
SIGMA = 2


def ns3(mtu, sack, stagger, seconds):
    command = [PYTHON, "-B", PEER, str(FLOWS), str(seconds), "--mtu", str(mtu), "--window", str(WINDOW)]
    command += ["--stagger", str(stagger)] + ["--classic-recovery"] + ([] if sack else ["--no-sack"])
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout.splitlines()[-1])
    return {
        "mean": seen["echo_mean_us"],
        "max": seen["echo_max_us"],
        "loss": 1 - seen["echoes"] / seen["echoes_sent"],
    }


EXPERIMENT = """
name = "ensemble"
title = "Three flows with windows of 1 MB"
world = "sim"

[[probe]]
name = "echo"
method = "udp"
payload = "1024B"
pacing = {{ every = "5ms" }}
duration = "{duration}s"
warmup = "{warmup}ms"

[[load]]
name = "bulk"
kind = "tcp"
streams = {flows}
congestion_control = "ns-3"
window = "{window}B"
payload = "8192B"
tcp = {{ sack = {sack}, prr = false }}

[path]
topology = "pairs-on-a-trunk"
pairs = {pairs}
framing = "ppp"
rate = "155.52Mbit/s"
propagation = "5us"
mtu = "{mtu}B"

[path.switch]
discipline = "fifo"
buffer = "624000B"

[sweep.stagger]
set = "load.bulk.stagger"
to = [{staggers}]
"""


def ours(delaylab, mtu, sack, staggers, seconds):
    """Each stagger's echoes, from the table of the records."""
    import pyarrow.parquet

    text = EXPERIMENT.format(
        duration=seconds,
        warmup=round(ECHO_FROM_S * 1000),
        flows=FLOWS,
        pairs=FLOWS + 1,
        window=WINDOW,
        sack=str(sack).lower(),
        mtu=mtu,
        staggers=", ".join(f'"{round(stagger * 1000)}ms"' for stagger in staggers),
    )
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "ensemble.toml"
        file.write_text(text)
        command = [os.path.abspath(delaylab), "run", file, "--quiet", "--no-report", "-o", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        run = pathlib.Path(folder) / "latest"
        records = pyarrow.parquet.read_table(run / "records.parquet").to_pandas()
    stages = [name for name in records.columns if name.startswith("to_")]
    counted = (records.t_intended >= ECHO_FROM_S * 1e9) & (records.t_intended < (seconds - LAST_S) * 1e9)
    each = []
    for _, trial in records[counted].groupby("trial"):
        answered = trial[trial.outcome == "ok"]
        took = answered[stages].sum(axis=1) / 1000
        each.append({"mean": took.mean(), "max": took.max(), "loss": 1 - len(answered) / len(trial)})
    return each


def mean_and_error(values):
    return statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values))


def share_and_error(shares):
    mean, error = mean_and_error(shares)
    return f"{mean:.3%} ± {error:.3%}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delaylab", default=ROOT / "target/release/delaylab")
    parser.add_argument("--staggers", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--mtu", type=int, nargs="+", default=[9188, 1500])
    args = parser.parse_args()
    staggers = [round(FIRST_S + STEP_S * index, 3) for index in range(args.staggers)]
    print("| MTU | SACK | mean, delaylab | mean, ns-3 | sigma | largest, delaylab | largest, ns-3 | lost, delaylab | lost, ns-3 |")
    print("|---|---|---|---|---|---|---|---|---|")
    for mtu in args.mtu:
        for sack in (True, False):
            here = ours(args.delaylab, mtu, sack, staggers, args.seconds)
            there = [ns3(mtu, sack, stagger, args.seconds) for stagger in staggers]
            (mean, error), (mean_ns3, error_ns3) = (mean_and_error([run["mean"] for run in each]) for each in (here, there))
            sigma = abs(mean - mean_ns3) / math.hypot(error, error_ns3)
            largest, largest_ns3 = (max(run["max"] for run in each) for each in (here, there))
            loss, loss_ns3 = (share_and_error([run["loss"] for run in each]) for each in (here, there))
            print(
                f"| {mtu} | {'yes' if sack else 'no'} | {mean:.0f} ± {error:.0f} µs | {mean_ns3:.0f} ± {error_ns3:.0f} µs "
                f"| {sigma:.1f} | {largest:.0f} µs | {largest_ns3:.0f} µs | {loss} | {loss_ns3} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
