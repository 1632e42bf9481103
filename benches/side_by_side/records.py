"""What do ten million records take? Room on disk, memory while they are recorded, and a summary.

The records are those of a real run of udp probes over loopback, one each 100 µs with every stamp, repeated
by `crates/store/examples/ten_million.rs` until they are ten million.
"""

import json
import tempfile
from pathlib import Path

from .arena import CouldNotMeasure
from .table import Heading, Row, compared, time
from .tools import DELAYLAB, ROOT, done

COMMANDS = ("cargo",)

TOOL = ROOT / "target/dist/examples/ten_million"
# Both packages, so that libraries are those of `make build`.
BUILD = ["cargo", "build", "--profile", "dist", "--quiet", "--package", "delaylab-cli", "--package", "delaylab-store",
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
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        real = a_real_run("records", folder, options.seconds)
        fewer, all_ = (recorded("records", real, folder / str(count), count) for count in (FEWER, COUNT))
        summary = tool("records", "summarise", all_["run"])
    return list(rows(fewer, all_, summary))


def a_real_run(name, folder, seconds):
    """Its folder. What `recorded` needs is built."""
    seconds = max(LEAST_S, seconds)
    done(name, "cargo build", BUILD)
    (folder / "experiment.toml").write_text(EXPERIMENT.format(seconds=seconds))
    done(name, f"a run of {seconds} s", [DELAYLAB, "run", folder / "experiment.toml", "-q", "-o", folder / "real"])
    return folder / "real/latest"


def recorded(name, real, folder, count):
    """The run repeated until it has so many records."""
    folder.mkdir()
    return tool(name, "record", real, folder, count)


def tool(name, *words):
    return json.loads(done(name, f"{words[0]} {words[-1]}", [TOOL, *map(str, words)]))


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
