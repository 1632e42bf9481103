#!/usr/bin/env python3
"""Calibrate random paths of each kind, change each, and hold what was predicted against what the change does.

    benches/calibrate_paths.py [--paths 20] [--world sim|testbed|kernel] [--only link|tbf|policer|htb] [--seconds 2]

`sim` and `testbed` take the switch's `shaper` and `policer`; `kernel` (root) the kernel's tbf, so only link and tbf. A kind is
a link with a rate and a buffer; tbf a shaper of one rate; policer one that drops and holds nothing; htb a shaper with a
rate and a ceiling that the flood exceeds. In the simulated world the changed path is run twice: with the packets of the measured
run, which shows the model's error alone, and with others, which adds chance and is what the intervals are for.
"""

import argparse
import json
import pathlib
import random
import subprocess
import tempfile
from collections import Counter

WITHIN = 0.10
ACCESS_BITS = 1e9
FILLER_BITS = (300 + 28 + 38) * 8
# What the flood offers, as a share of the rate (htb: of the ceiling), and the filler, of the rate. Of a queue a flow, served a
# packet at a time, the filler can have 20 % of the rate: near that, its p99 differs by half from one run to the next.
FLOOD, FILLER = 1.3, 0.08
QUANTILES = "p50", "p99"
# A distribution of fewer packets has no 99th percentile.
PACKETS = 100
TIME_OUT_S = 600


def delaylab(options, *words):
    ran = subprocess.run([options.delaylab, *words, "-q"], capture_output=True, text=True, timeout=TIME_OUT_S, check=False)
    if ran.returncode:
        raise SystemExit(f"delaylab {' '.join(map(str, words))}: {ran.stderr.strip()}")
    return json.loads(ran.stdout.splitlines()[-1])


def given(sets):
    return [word for path, value in sets.items() for word in ("--set", f"{path}={value}")]


class Path:
    """What a path is set to."""

    def __init__(self, kind, draw, world, seconds):
        self.kind, self.world, self.seconds = kind, world, seconds
        self.rate = draw.randint(2_000_000, 20_000_000)
        self.buffer = draw.randint(20_000, 150_000)
        self.burst = draw.randint(3_000, 30_000)
        self.discipline = draw.choice(["fifo", "per-flow"]) if world != "kernel" else "fifo"
        self.ceil = None
        if kind == "htb":
            self.ceil = int(self.rate * draw.uniform(1.3, 2.5))
            self.burst = draw.randint(40_000, 200_000)

    def switch(self):
        if self.world == "kernel" and self.kind == "tbf":
            return {"path.rate": f"{self.rate}bit/s", "path.switch.burst": f"{self.burst}B",
                    "path.switch.buffer": f"{self.buffer}B", "path.switch.discipline": "kernel-tbf",
                    "path.switch.latency": "0us"}
        sets = {"path.switch.buffer": f"{self.buffer}B", "path.switch.discipline": self.discipline}
        if self.kind == "link":
            return {**sets, "path.rate": f"{self.rate}bit/s"}
        name = "policer" if self.kind == "policer" else "shaper"
        sets |= {"path.rate": "1Gbit/s", f"path.switch.{name}.rate": f"{self.rate}bit/s",
                 f"path.switch.{name}.burst": f"{self.burst}B"}
        if self.ceil:
            sets |= {f"path.switch.{name}.ceil": f"{self.ceil}bit/s", f"path.switch.{name}.ceil_burst": "3kB"}
        return sets

    def load(self):
        most = self.ceil or self.rate
        over = FLOOD * most + (FILLER - 1) * self.rate
        # Until bucket and buffer have been used up, and as long as asked for.
        fill = (self.buffer + self.burst) * 8 / over
        return {"probe.flood.pacing.load": f"{100 * FLOOD * most / ACCESS_BITS:.5f}%",
                "probe.filler.pacing.poisson": f"{FILLER_BITS / (FILLER * self.rate) * 1e6:.0f}us",
                "probe.*.duration": f"{(self.seconds + fill) * 1e3:.0f}ms"}

    def change(self, draw):
        """What is changed, as it is set in the path and in its model."""
        kinds = ["rate"] if self.kind == "policer" else ["rate", "buffer"]
        if self.kind in ("link", "tbf") and self.world != "kernel":
            kinds.append("discipline")
        which = draw.choice(kinds)
        if which == "buffer":
            sets = {"path.switch.buffer": f"{int(self.buffer * draw.uniform(0.5, 2))}B"}
            return which, sets, sets
        if which == "discipline":
            sets = {"path.switch.discipline": "per-flow" if self.discipline == "fifo" else "fifo"}
            return which, sets, sets
        rate = f"{int(self.rate * draw.uniform(0.7, 1.1))}bit/s"
        model = {"link": "path.rate", "policer": "path.switch.policer.rate"}.get(self.kind, "path.switch.shaper.rate")
        return which, {"path.rate" if self.world == "kernel" else model: rate}, {model: rate}


def run(options, folder, sets, seed):
    world = "sim" if options.world == "sim" else "testbed"
    links = {f"path.link.{end}-{number}.rate": f"{ACCESS_BITS:.0f}bit/s" for end in ("in", "out") for number in range(1, 5)}
    done = delaylab(options, "run", "calibration", "--world", world, "--quick", "--json", "--no-report", "--seed", str(seed),
                    "-o", folder, *given({**links, **sets}))
    return pathlib.Path(done["folder"] if "folder" in done else done["report"])


def key(group):
    return group["probe"], *sorted((name, level["label"]) for name, level in group["factors"].items())


KINDS = {"link": "link", "tbf": "shaper", "htb": "shaper", "policer": "policer"}


def quantiles(options, run_of):
    """Each condition's measured quantiles."""
    document = delaylab(options, "calibrate", run_of, "--json")
    return {key(group): group["measured"].get("network") for group in document["overlay"]}


def one(options, path, draw, folder):
    """What was found, and of each quantile how far off it is with the same packets, with others, and whether its interval
    has it."""
    seeds = draw.randint(1, 1 << 30), draw.randint(1, 1 << 30)
    before = run(options, folder, {**path.switch(), **path.load()}, seeds[0])
    which, truth, model = path.change(draw)
    prediction = delaylab(options, "predict", before, "--json", *given(model))
    changed = {**path.switch(), **path.load(), **truth}
    other = quantiles(options, run(options, folder, changed, seeds[1]))
    # Real time has no packets that come again.
    same = quantiles(options, run(options, folder, changed, seeds[0])) if options.world == "sim" else other
    errors = []
    for group in prediction["groups"]:
        name = key(group)
        if group["measured"]["sent"] < PACKETS or not ("network" in group["predicted"] and same[name] and other[name]):
            continue
        for quantile in QUANTILES:
            again, predicted, expected = (group[side]["network"][f"{quantile}_ns"]
                                          for side in ("same_packets", "predicted", "expected"))
            alike, real = (side[name][f"{quantile}_ns"] for side in (same, other))
            covers = expected["low"] <= real <= expected["high"]
            errors.append((name, quantile, again / alike - 1, predicted / real - 1, covers))
    return prediction["found"], which, errors


def off(found, truth):
    return "–" if found is None else f"{100 * (found / truth - 1):+.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paths", type=int, default=20)
    parser.add_argument("--world", choices=["sim", "testbed", "kernel"], default="sim")
    parser.add_argument("--only", choices=list(KINDS))
    parser.add_argument("--seconds", type=float, default=2, help="of each trial beyond what fills bucket and buffer")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delaylab", default="target/release/delaylab")
    parser.add_argument("-v", action="store_true", help="print every quantile that is off or not covered")
    options = parser.parse_args()
    kinds = [options.only] if options.only else [kind for kind in KINDS if options.world != "kernel" or kind in ("link", "tbf")]
    print("kind     rate Mbit/s   found kind  rate %  burst %  buffer %  ceil %   changed     quantiles  same packets  worst %  others  worst %  covered")
    for kind in kinds:
        draw = random.Random(f"{options.seed} {kind}")
        totals = Counter()
        for _ in range(options.paths):
            path = Path(kind, draw, options.world, options.seconds)
            with tempfile.TemporaryDirectory() as folder:
                found, which, errors = one(options, path, draw, folder)
            limiter = found["limiter"] or {}
            rate = found["rate"] and found["rate"]["bps"]["value"]
            burst = limiter.get("burst_bytes") and limiter["burst_bytes"]["value"]
            buffer = found["buffer"] and found["buffer"]["limit"]
            ceiling = limiter.get("ceiling") and limiter["ceiling"]["bps"]
            near = [sum(abs(error[at]) <= WITHIN for error in errors) for at in (2, 3)]
            worst = [100 * max((abs(error[at]) for error in errors), default=0) for at in (2, 3)]
            covered = sum(error[4] for error in errors)
            right = limiter.get("kind") == KINDS[kind] and (ceiling is not None) == (path.ceil is not None)
            totals += Counter(paths=1, right=right, quantiles=len(errors), covered=covered, same=near[0], others=near[1],
                              all_same=near[0] == len(errors), all_others=near[1] == len(errors))
            print(f"{kind:8} {path.rate / 1e6:11.3f}   {limiter.get('kind') or '–':10}  {off(rate, path.rate):>6}  "
                  f"{off(burst, path.burst):>7}  {off(buffer, path.buffer):>8}  {off(ceiling, path.ceil or 1):>6}   {which:10}  "
                  f"{len(errors):9}  {near[0]:12}  {worst[0]:7.1f}  {near[1]:6}  {worst[1]:7.1f}  {covered:7}", flush=True)
            if options.v:
                for what, quantile, same, other, covers in errors:
                    if max(abs(same), abs(other)) > WITHIN or not covers:
                        print("   ", *what, quantile, f"{100 * same:+.1f} % {100 * other:+.1f} %", "" if covers else "not covered")
        print(f"{kind}: kind right {totals['right']} of {totals['paths']}; within 10 %, same packets: {totals['same']} of "
              f"{totals['quantiles']}, all of {totals['all_same']} paths; others: {totals['others']}, all of "
              f"{totals['all_others']} paths; covered {totals['covered']}", flush=True)


if __name__ == "__main__":
    main()
