"""Ctrl-C: stops a simulation soon, and leaves what was recorded."""

import os
import signal
import subprocess
import sys
import time

from conftest import SMALL, content

import delaylab as dl

SCRIPT = """
import sys, delaylab as dl
def tell(done, of):
    print(done, of, flush=True)
try:
    dl.run(dl.Experiment.load(sys.argv[1]), output=sys.argv[2], threads=1, progress=tell)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_stops_a_simulation_that_can_be_resumed(tmp_path):
    file = tmp_path / "small.toml"
    long = SMALL.replace("400ms", "20s")
    file.write_text(long)
    runs = tmp_path / "runs"
    script = [sys.executable, "-c", SCRIPT, str(file), str(runs)]
    process = subprocess.Popen(script, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "1 8\n"
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    rest = process.stdout.read()
    assert rest.endswith("interrupted\n"), rest
    # Far less than the seven trials that were left, on any machine.
    assert time.monotonic() - began < 60
    (partial,) = [path for path in runs.iterdir() if path.name.endswith(".partial")]
    resumed = [os.environ["DELAYLAB"], "resume", str(partial), "-q", "--no-report"]
    subprocess.run(resumed, check=True, stdout=subprocess.DEVNULL)
    whole = dl.open(str(partial).removesuffix(".partial"))
    alone = dl.run(dl.Experiment.load(file), output=tmp_path / "alone")
    kept = {name: digest for name, digest in content(whole).items()}
    assert kept == content(alone)
