#!/usr/bin/env python3
"""Every finding of the catalogue in every world and form, as one table in Markdown.

    benches/findings.py [--delaylab target/release/delaylab] [--runs target/findings] [--only sim:quick,sim:full]
                        [--entries class-jitter,switch-buffer] [-o docs/findings.md]

A run that is there already is not repeated: remove its directory for a new one. The world `testbed` needs root. The
full forms take hours; what was not run has no column entry.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

ENTRIES = [
    "packet-size-latency",
    "switch-buffer",
    "switches-in-a-row",
    "tcp-and-forwarding",
    "wait-time-jitter",
    "atm-response-time",
    "efci-robustness",
    "class-jitter",
    "calibration",
    "web-response",
    "resolver",
]
FORMS = ["sim:full", "sim:quick", "testbed:full", "testbed:quick", "live:full", "live:quick"]
HEAD = """# Findings, run by run

Every finding of the [catalogue](catalogue.md) in each world that was run, full and with `--quick`: ✔ true, ✘ false, ? undecided, – not applicable; with the
figures that decided it, where there are several parts those of the first. What the original printed stands beside it. Seed 1, a virtual
machine of two CPUs with nothing else to do; `benches/findings.py` makes this table. What is false, and why, the entry's page says. A cell is empty
where the run is older than what the finding asks.
"""
SIGN = {"true": "✔", "false": "✘", "undecided": "?", "not_applicable": "–"}


def worlds_of(delaylab):
    listed = subprocess.run([delaylab, "list", "--json"], capture_output=True, text=True, check=True)
    return {entry["name"]: entry["worlds"] for entry in json.loads(listed.stdout)["experiments"]}


def run(delaylab, folder, entry, form, only_there):
    """The run's directory; None where it failed."""
    world, length = form.split(":")
    where = folder / f"{entry}-{world}-{length}"
    latest = where / "latest"
    if latest.exists():
        return latest
    if only_there:
        return None
    words = [delaylab, "run", entry, "--world", world, "--seed", "1", "--quiet", "--no-report", "-o", str(where)]
    if length == "quick":
        words.append("--quick")
    begin = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True)
    seconds = time.monotonic() - begin
    print(f"{entry} {form}: exit {done.returncode} after {seconds:.0f} s", file=sys.stderr, flush=True)
    if not latest.exists():
        print(done.stderr, file=sys.stderr, flush=True)
    return latest if latest.exists() else None


def brief(judged):
    """The verdict with its figures: what is before the difference or the ratio, and how many parts decided."""
    reason = judged["reason"]
    figures = re.findall(r"([^:;,]+ against [^:;]+): the (?:difference|ratio)", reason)
    words = figures[0].strip() if figures else reason.split(";")[0]
    if len(judged["parts"]) > 1:
        same = sum(part["verdict"] == judged["verdict"] for part in judged["parts"])
        words = f"{same} of {len(judged['parts'])}: {words}" if judged["verdict"] != "true" else f"all {same}: {words}"
    words = words if len(words) <= 90 else words[:87] + "…"
    words = words.replace("|", "\\|")
    return f"{SIGN[judged['verdict']]} {words}" if judged["verdict"] != "not_applicable" else "–"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delaylab", default="target/release/delaylab")
    parser.add_argument("--runs", type=pathlib.Path, default=pathlib.Path("target/findings"))
    parser.add_argument("--only", default=",".join(FORMS))
    parser.add_argument("--entries", default=",".join(ENTRIES))
    parser.add_argument("--table", action="store_true", help="of the runs that are there: run nothing")
    parser.add_argument("-o", "--output", type=argparse.FileType("w"), default=sys.stdout)
    args = parser.parse_args()
    worlds = worlds_of(args.delaylab)
    forms = [form for form in FORMS if form in args.only.split(",")]
    counts = {form: dict.fromkeys(SIGN, 0) for form in forms}
    lines = []
    for entry in args.entries.split(","):
        own = [form for form in forms if form.split(":")[0] in worlds.get(entry, [])]
        runs = {form: run(args.delaylab, args.runs, entry, form, args.table) for form in own}
        judged = {form: json.loads((there / "findings.json").read_text()) for form, there in runs.items() if there}
        if not any(judged.values()):
            continue
        own = [form for form in own if form in judged]
        page = pathlib.Path(f"docs/{entry}.md")
        lines.append(f"\n## [{entry}]({entry}.md)\n" if page.exists() else f"\n## {entry}\n")
        lines.append("| finding | original | " + " | ".join(f"`{form.replace(':', '` ')}" for form in own) + " |")
        lines.append("|---|---|" + "---|" * len(own))
        findings = {}
        for form in own:
            for each in judged[form]:
                findings.setdefault((each["id"], each["says"]), {})[form] = each
                counts[form][each["verdict"]] += 1
        printed = printed_of(args.delaylab, entry)
        for (name, says), cells in findings.items():
            row = [brief(cells[form]) if form in cells else "" for form in own]
            lines.append(f"| {name} {says} | {printed.get(name, '')} | " + " | ".join(row) + " |")
    print(HEAD, file=args.output)
    print("| run | " + " | ".join(f"{sign} {name.replace('_', ' ')}" for name, sign in SIGN.items()) + " |", file=args.output)
    print("|---|" + "---|" * len(SIGN), file=args.output)
    for form in (form for form in forms if any(counts[form].values())):
        cells = " | ".join(str(counts[form][name]) for name in SIGN)
        print(f"| `{form.replace(':', '` ')} | {cells} |", file=args.output)
    print("\n".join(lines), file=args.output)


def printed_of(delaylab, entry):
    """What the source prints beside each of its findings."""
    checked = subprocess.run([delaylab, "check", entry, "--json"], capture_output=True, text=True, check=True)
    return {each["id"]: each.get("printed") or "" for each in json.loads(checked.stdout)["findings"]}


if __name__ == "__main__":
    main()
