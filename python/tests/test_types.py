"""The package, and a script of a user, under the strict rules of mypy and of pyright."""

import json
import os
import subprocess
import sys
from pathlib import Path

import delaylab

SCRIPT = """
import datetime

import delaylab as dl

experiment = dl.Experiment.load("calibration").in_world("sim").quick()
run: dl.Run = dl.run(experiment.set("probe.echo.duration", datetime.timedelta(seconds=1)))
late: list[str] = [finding.says for finding in run.findings if finding.verdict == "true"]
first: dl.Finding = run.findings[0]
named: str = run.findings["1"].verdict
some: list[dl.Finding] = run.findings[1:]
rows: int = run.records(["t_send", "t_recv"]).to_polars().height
print(late, first, named, some, rows, run.summary(by=["case"]), run.explain()["causes"], run.figure("cumulative"))
pinged: dl.Run = dl.ping("127.0.0.1", count=3, interval=datetime.timedelta(seconds=1), fail_if=["lost > 1%"])
print(dl.resume("a.partial", progress=True), dl.merge(["a", pinged], output="runs"))
print(run.calibrate().predict({"path.rate": "20Mbit/s"}), dl.compare(run, "latest"))
"""


PACKAGE = Path(delaylab.__file__).parent


def checked(*words, **options):
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    words = ["--strict", "--cache-dir", str(tmp_path / "cache"), "--ignore-missing-imports"]
    checked("mypy", *words, str(PACKAGE), str(script))


def test_pyright(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    of_python = {"venvPath": str(Path(sys.prefix).parent), "venv": Path(sys.prefix).name, "extraPaths": [str(PACKAGE.parent)]}
    for checks in [
        {"typeCheckingMode": "strict", "include": ["script.py"]},
        # The module in Rust has stubs and no source that it reads.
        {"typeCheckingMode": "standard", "include": [os.path.relpath(PACKAGE, tmp_path)], "reportMissingModuleSource": False},
    ]:
        (tmp_path / "pyrightconfig.json").write_text(json.dumps({**of_python, **checks}))
        checked("pyright", cwd=tmp_path)
