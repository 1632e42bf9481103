"""Says how long the steps of `make test` took, beside how long they took when that was last written down, the ten
slowest tests, and what was skipped and why. It judges nothing: machines differ.

    test_times.py STEPS RECORDED JUNIT…

STEPS and RECORDED have a line for each step: its name, a tab, seconds. JUNIT is what a run of
cargo-nextest wrote.
"""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def steps(path):
    lines = path.read_text().splitlines() if path.exists() else []
    rows = (line.rsplit("\t", 1) for line in lines if line and not line.startswith("#"))
    return {name: int(seconds) for name, seconds in rows}


def show_steps(now, recorded):
    print("\n  seconds  recorded  step")
    for name, seconds in now.items():
        before = recorded.get(name)
        # By a third, and by more than starting a process varies.
        grown = before is not None and seconds > max(before * 4 / 3, before + 5)
        print(f"  {seconds:7}  {before if before is not None else '-':>8}  {name}{'  <- grew' if grown else ''}")
    print(f"  {sum(now.values()):7}  {sum(recorded.values()):8}  all")


def main():
    now, recorded, *junits = (Path(argument) for argument in sys.argv[1:])
    cases = [case for junit in junits for case in ElementTree.parse(junit).getroot().iter("testcase")]
    show_steps(steps(now), steps(recorded))

    print("\n  The ten slowest tests:")
    for case in sorted(cases, key=lambda case: -float(case.get("time")))[:10]:
        print(f"  {float(case.get('time')):7.1f}  {case.get('classname')} {case.get('name')}")

    skipped = []
    for case in cases:
        said = (case.findtext("system-out") or "").splitlines()
        skipped += [f"{case.get('name')}: {line}" for line in said if line.startswith("skipped: ")]
    print()
    for line in skipped:
        print(f"  {line}")
    print(f"tests: {len(cases) - len(skipped)} passed, 0 failed, {len(skipped)} skipped")


main()
