"""What do ten million records take? Room on disk, memory while they are recorded, and a summary.

The records are those of a real run of udp probes over loopback, one each 100 µs with every stamp, repeated
by `crates/store/examples/ten_million.rs` until they are ten million.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from .arena import CouldNotMeasure
from .table import Heading, Row, compared, time
from .tools import DELAYLAB, ROOT

COMMANDS = ("cargo",)

TOOL = ROOT / "target/release/examples/ten_million"
# Both packages, so that libraries are those of `make build`.
BUILD = ["cargo", "build", "--release", "--quiet", "--package", "delaylab-cli", "--package", "delaylab-store",
         "--example", "ten_million"]
LEAST_S = 20
COUNT, FEWER = 10**7, 2 * 10**6
MOST_BYTES, MOST_S, MOST_KIB = 12, 10, 1e9 / 1024

EXPERIMENT = """
name = "ten-thousand-a-second"
title = "Ten thousand packets a second"
[[probe]]
name = "echo"
method = "udp"
payload = "56B"
pacing = {{ every = "100us" }}
duration = "{seconds}s"
"""


def measure(arena, options):
    seconds = max(LEAST_S, options.seconds)
    run(BUILD, "cargo build")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "experiment.toml").write_text(EXPERIMENT.format(seconds=seconds))
        run([DELAYLAB, "run", folder / "experiment.toml", "-q", "-o", folder / "real"], f"a run of {seconds} s")
        real = folder / "real/latest"
        fewer, all_ = (recorded(real, folder / str(count), count) for count in (FEWER, COUNT))
        summary = tool("summarise", all_["run"])
    return list(rows(fewer, all_, summary))


def recorded(real, folder, count):
    folder.mkdir()
    return tool("record", real, folder, count)


def tool(*words):
    return json.loads(run([TOOL, *map(str, words)], f"{words[0]} {words[-1]}"))


def run(command, what):
    print(f"records: {what}", file=sys.stderr)
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CouldNotMeasure(f"{what}: {(done.stderr.strip() or 'no message').splitlines()[-1]}")
    return done.stdout


def rows(fewer, all_, summary):
    if summary["records"] != COUNT:
        raise CouldNotMeasure(f"{summary['records']} records came back")
    yield Heading(f"records: {COUNT:,}, of {all_['sample']:,} real ones", "at most", "delaylab")
    yield at_most("on disk, a record", MOST_BYTES, all_["bytes_a_record"], lambda size: f"{size:.2f} B")
    yield at_most("summary", MOST_S * 1e9, summary["wall_s"] * 1e9, time)
    yield at_most("summary: peak resident size", MOST_KIB, summary["peak_kib"], mebibytes)
    yield Heading("records: recording", f"{FEWER:,}", f"{COUNT:,}")
    # Without the real records, which the example keeps in memory.
    own = [[one["peak_kib"] - one["sample_kib"]] for one in (fewer, all_)]
    yield compared("peak resident size", *own, mebibytes, "≤ 1.2 ×")
    yield Row("wall time", time(fewer["wall_s"] * 1e9), time(all_["wall_s"] * 1e9), [])


def at_most(what, limit, value, show):
    return compared(what, [limit], [value], show, "≤ 1 ×")


def mebibytes(kib):
    return f"{kib / 1024:.1f} MiB"
