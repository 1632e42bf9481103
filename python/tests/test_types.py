"""The package, and a script of a user, under mypy's strictest rules."""

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
rows: int = run.records(["t_send", "t_recv"]).to_polars().height
print(late, rows, run.summary(by=["case"]), run.explain()["causes"], run.figure("cumulative"))
print(run.calibrate().predict({"path.rate": "20Mbit/s"}), dl.compare(run, "latest"))
"""


def test_strict(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    package = Path(delaylab.__file__).parent
    words = ["--strict", "--cache-dir", str(tmp_path / "cache"), "--ignore-missing-imports"]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *words, str(package), str(script)],
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
