"""Is a run of ten million records looked at without waiting? Its report opened from disk, and any stretch of it zoomed
to on a page of `delaylab serve`.

The records are those of `records`: real ones, repeated until they are ten million. Opening is the time from starting a
browser to the last figure drawn by the script, less that of a page with nothing in it. The first answer of the server
reads every record; what it then says of any stretch is what counts.
"""

import json
import random
import shutil
import subprocess
import tempfile
import time as clock
import urllib.request
from pathlib import Path

from . import records
from .arena import CouldNotMeasure
from .table import Heading, Row, time
from .tools import DELAYLAB, done

COMMANDS = ("cargo", "chromium")

MOST_OPEN_S, MOST_BYTES, MOST_ZOOM_S = 2, 3e6, 0.2
ZOOMS, OPENINGS = 100, 5
CELLS = 1000
BROWSER = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage",
           "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
           "--dump-dom"]


def measure(arena, options):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        real = records.a_real_run("serve", folder, options.seconds)
        run = Path(records.recorded("serve", real, folder / "runs", records.COUNT)["run"])
        page = folder / "report.html"
        done("serve", "the report", [DELAYLAB, "report", run, "-o", page])
        opened = opening(folder, page)
        first, zooms = zoomed(run)
        return list(rows(page.stat().st_size, opened, first, zooms))


def opening(folder, page):
    """Seconds in which the browser opens the page, beyond those of an empty one: the median."""
    empty = folder / "empty.html"
    empty.write_text("<!DOCTYPE html><title>Nothing</title>")
    more = sorted(opened(folder, page) - opened(folder, empty) for _ in range(OPENINGS))
    return more[OPENINGS // 2]


def opened(folder, page):
    profile = folder / "profile"
    shutil.rmtree(profile, ignore_errors=True)
    begin = clock.monotonic()
    ended = subprocess.run([*BROWSER, f"--user-data-dir={profile}", page.as_uri()], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=120, check=False)
    took = clock.monotonic() - begin
    if ended.stdout.count("<figure data-spec") != ended.stdout.count('data-drawn="true"'):
        raise CouldNotMeasure(f"{page.name}: a figure is not drawn")
    return took


def zoomed(run):
    """Seconds of the first answer, and of each of many zooms."""
    server = subprocess.Popen([DELAYLAB, "serve", run.parent, "--port", "0"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().split()[-1]
        window = f"{address}run/{run.name}/window?cells={CELLS}"
        first, shown = asked(window)
        if shown["packets"] != records.COUNT:
            raise CouldNotMeasure(f"{shown['packets']} packets are shown")
        chance = random.Random(1)
        return first, [zoom(window, shown["end_s"], chance) for _ in range(ZOOMS)]
    finally:
        server.terminate()
        server.wait()


def zoom(window, end, chance):
    """Stretches of every length: from all of it to a ten-thousandth of a thousandth."""
    length = end * 10 ** chance.uniform(-7, 0)
    start = chance.uniform(0, end - length)
    took, _ = asked(f"{window}&from={start}&to={start + length}")
    return took


def asked(address):
    begin = clock.monotonic()
    with urllib.request.urlopen(address, timeout=120) as answer:
        shown = json.load(answer)
    return clock.monotonic() - begin, shown


def rows(size, opened, first, zooms):
    yield Heading(f"serve: {records.COUNT:,} records", "at most", "delaylab")
    yield records.at_most("report: opened", MOST_OPEN_S * 1e9, opened * 1e9, time)
    yield records.at_most("report: size", MOST_BYTES, size, lambda size: f"{size / 1e6:.2f} MB")
    yield records.at_most(f"worst of {ZOOMS} zooms", MOST_ZOOM_S * 1e9, max(zooms) * 1e9, time)
    yield Heading("serve: for information", "median zoom", "first answer")
    yield Row("wall time", time(sorted(zooms)[ZOOMS // 2] * 1e9), time(first * 1e9), [])
