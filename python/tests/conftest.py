"""What the tests share: a small simulation, and what a run holds."""

import hashlib
import resource
import signal

import pytest

import delaylab as dl

SMALL = """
name = "small"
title = "Two loads"
world = "sim"

[[probe]]
name = "echo"
method = "udp"
payload = "64B"
pacing = { poisson = "5ms" }
duration = "400ms"

[[probe]]
name = "large"
method = "udp"
payload = "1KiB"
pacing = { every = "10ms" }
duration = "400ms"

[[load]]
name = "bulk"
kind = "tcp"
streams = 1

[path]
topology = "pairs-on-a-trunk"
rate = "20Mbit/s"
propagation = "2ms"

[path.switch]
discipline = "fifo"
buffer = "64KiB"

[sweep]
streams = { set = "load.bulk.streams", to = [0, 2] }

[design]
repeats = 4

[[finding]]
id = "1"
says = "Load makes responses wait"
check = "p50(response | streams=2, probe=echo) > p50(response | streams=0, probe=echo)"
"""


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes long and seldom breaks: with `make test-all` only")


@pytest.fixture(scope="session")
def small() -> dl.Experiment:
    return dl.Experiment.from_toml(SMALL)


@pytest.fixture(scope="session")
def run(small, tmp_path_factory) -> dl.Run:
    return dl.run(small, output=tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def few(small, tmp_path_factory) -> dl.Run:
    """The same with fewer trials and packets, where each of them costs time: in figures and pages."""
    fewer = {"probe.echo.duration": "200ms", "probe.large.duration": "200ms", "design.repeats": 1}
    return dl.run(small.set(fewer), output=tmp_path_factory.mktemp("few"))


def content(run: dl.Run) -> dict[str, str]:
    """A digest of every table and of the findings, by the name of the file."""
    files = [*run.folder.glob("*.parquet"), run.folder / "findings.json"]
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


def no_room():
    """Files of this process stay small: as on a disk that is full. It stands here so that a worker need not import Dask for it."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
