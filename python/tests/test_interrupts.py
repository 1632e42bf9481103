"""Ctrl-C: stops a simulation soon, and leaves what was recorded."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
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
    long = SMALL.replace("400ms", "10s").replace("repeats = 4", "repeats = 2")
    file.write_text(long)
    runs = tmp_path / "runs"
    script = [sys.executable, "-c", SCRIPT, str(file), str(runs)]
    process = subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "1 4\n"
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    rest = process.stdout.read()
    assert rest.endswith("interrupted\n"), rest
    # Far less than the three trials that were left, on any machine.
    assert time.monotonic() - began < 60
    (partial,) = [path for path in runs.iterdir() if path.name.endswith(".partial")]
    assert process.stderr.read() == f"delaylab: stopped. What was recorded is in {partial}: `delaylab resume {partial}` continues it\n"
    resumed = [os.environ["DELAYLAB"], "resume", str(partial), "-q", "--no-report"]
    subprocess.run(resumed, check=True, stdout=subprocess.DEVNULL)
    whole = dl.open(str(partial).removesuffix(".partial"))
    alone = dl.run(dl.Experiment.load(file), output=tmp_path / "alone")
    kept = {name: digest for name, digest in content(whole).items()}
    assert kept == content(alone)


def until(there):
    """What is found in the end."""
    deadline = time.monotonic() + 60
    while not (found := [*there()]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


BY_PROGRAM = """
import sys, delaylab as dl
print("begins", flush=True)
try:
    CALL
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ('dl.ping("127.0.0.1", duration="1min", interval="10ms", output=sys.argv[1])', "saved in .*ping-127"),
        # A quarter of a minute, and no condition in which every CPU computes.
        (
            'dl.run("wait-time-jitter", quick=True, set={"sweep.condition.to": ["normal"]}, output=sys.argv[1])',
            "`delaylab resume .*wait-time-jitter.*partial`",
        ),
    ],
)
def test_ctrl_c_says_where_the_records_are_that_the_program_made(tmp_path, call, says):
    script = [sys.executable, "-c", BY_PROGRAM.replace("CALL", call), str(tmp_path)]
    process = subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout.readline() == "begins\n"
    until(lambda: tmp_path.glob("*.partial/trial-*"))
    # Packets are sent by then.
    time.sleep(2)
    # As a terminal does.
    os.killpg(process.pid, signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert printed == "interrupted\n", said
    assert re.search(says, said), said


# It notes how often it was asked to stop, waits for replies once it was or it is enough, and ends.
ASKED = """#!/bin/sh
trap 'asked=$((asked+1))' INT TERM
asked=0
echo begins > $1
while [ $asked = 0 ] && ! [ -e $1.enough ]; do sleep 0.02; done
sleep 0.2
echo "asked $asked" >&2
"""


def asked(tmp_path, script):
    """Python with this script, which may have `sys.argv[1]` begun by a program that can be asked to stop."""
    program = tmp_path / "delaylab"
    program.write_text(ASKED)
    program.chmod(0o755)
    begun = tmp_path / "begun"
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(begun)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "DELAYLAB": str(program)},
    )
    while not begun.exists():
        time.sleep(0.01)
    time.sleep(0.2)
    return process


# A terminal and a notebook send it to the process group, and what supervises processes to Python alone.
@pytest.mark.parametrize("interrupt", [os.killpg, os.kill])
def test_the_program_is_asked_to_stop_once(tmp_path, interrupt):
    call = "from delaylab import _program; _program.call(sys.argv[1])"
    process = asked(tmp_path, BY_PROGRAM.replace("CALL", call))
    interrupt(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60) == ("begins\ninterrupted\n", "asked 1\n")


IN_A_THREAD = """
import pathlib, sys, threading, time
from delaylab import _program
ended = []
thread = threading.Thread(target=lambda: ended.append(_program.call(sys.argv[1])))
thread.start()
try:
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted")
pathlib.Path(sys.argv[1] + ".enough").touch()
thread.join()
print(ended[0].code, ended[0].said, end="")
"""


def test_what_another_thread_waits_for_is_not_stopped(tmp_path):
    process = asked(tmp_path, IN_A_THREAD)
    # A notebook does so whichever cell is interrupted.
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60) == ("interrupted\n0 asked 0\n", "")


def test_the_program_ends_with_python_in_good_order(tmp_path):
    call = 'dl.ping("127.0.0.1", duration="10min", interval="10ms", output=sys.argv[1])'
    process = subprocess.Popen([sys.executable, "-c", BY_PROGRAM.replace("CALL", call), str(tmp_path)], stdout=subprocess.DEVNULL)
    try:
        assert until(lambda: tmp_path.glob("*.partial/trial-*"))
        # Packets are sent by then.
        time.sleep(1)
    finally:
        process.kill()
        process.wait()
    (run,) = until(lambda: tmp_path.glob("ping-*Z"))
    assert dl.open(run).complete
