"""What the program carries out and answers, from Python."""

import os
import stat

import polars as pl
import pytest

import delaylab as dl


def test_a_ping_is_a_run(tmp_path):
    run = dl.ping("127.0.0.1", count=20, interval="2ms", output=tmp_path)
    records = pl.DataFrame(run.records(["t_send", "t_recv", "outcome"]))
    assert records.height == 20
    assert run.world == "live"
    answer = run.explain()
    assert answer["schema"].startswith("delaylab/explain/")
    assert "ping-127-0-0-1 (live)" in str(answer)
    assert answer._repr_html_().startswith("<pre>")


def test_a_live_experiment_is_carried_out_by_the_program(tmp_path):
    seen = []
    run = dl.run(
        "wait-time-jitter",
        quick=True,
        set={"probe.echo.count": 30, "design.repeats": 1},
        output=tmp_path,
        progress=lambda done, of: seen.append((done, of)),
    )
    assert run.complete
    assert seen[-1][0] == seen[-1][1] == len(seen)


def test_runs_are_compared(small, run, tmp_path):
    slower = dl.run(small.set("path.rate", "10Mbit/s"), output=tmp_path)
    changed = dl.compare(run, slower, fail_if="p50(response | probe=echo) > +10%")
    assert changed["schema"].startswith("delaylab/compare/")
    assert "path.rate" in str(changed)


@pytest.mark.long
def test_a_path_is_calibrated_and_a_change_predicted(tmp_path):
    measured = dl.run("calibration", quick=True, world="sim", output=tmp_path)
    model = measured.calibrate()
    assert "10.000 Mbit/s" in str(model)
    predicted = model.predict({"path.rate": "20Mbit/s"})
    assert predicted["schema"].startswith("delaylab/prediction/")
    assert "path.rate = 20Mbit/s" in str(predicted)
    # Showing them simulates nothing.
    models = [path.name for path in (measured.folder / "models").iterdir() if "-model-" in path.name]
    assert len(models) == 2


def test_a_report_is_a_page(run, tmp_path):
    page = run.report(tmp_path / "page.html")
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_a_picture_is_shown_and_saved(run, tmp_path):
    picture = run.picture("cumulative")
    assert picture._repr_svg_().startswith("<svg")
    picture.save(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text() == picture.svg
    with pytest.raises(dl.UsageError, match="no figure `heat`"):
        _ = run.picture("heat").svg


def test_errors_are_those_of_the_program(tmp_path):
    with pytest.raises(dl.UsageError, match="--no-such-flag"):
        dl.ping("127.0.0.1", no_such_flag=True, output=tmp_path)
    with pytest.raises(dl.DelaylabError, match="no.such.name.invalid"):
        dl.ping("no.such.name.invalid", output=tmp_path)


def test_an_answer_that_simulates_is_carried_out_once(tmp_path, monkeypatch):
    program = tmp_path / "delaylab"
    program.write_text(
        f"""#!/bin/sh
echo "$@" >> {tmp_path}/calls
while [ $# -gt 0 ]; do [ "$1" = --text-file ] && echo 'for people' > "$2"; shift; done
echo '{{"schema": "delaylab/calibration/1"}}'
"""
    )
    program.chmod(0o755)
    monkeypatch.setenv("DELAYLAB", os.fspath(program))
    model = dl.Calibration("a-run")
    predicted = model.predict({"path.rate": "1Mbit/s"})
    for answer in (model, predicted):
        assert answer["schema"] == "delaylab/calibration/1"
        assert str(answer) == repr(answer) == "for people"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call.split()[0] for call in calls] == ["calibrate", "predict"]


def test_one_version_of_ip_is_chosen(tmp_path, monkeypatch):
    program = tmp_path / "delaylab"
    program.write_text('#!/bin/sh\necho "$@" >&2\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("DELAYLAB", os.fspath(program))
    with pytest.raises(dl.UnreachableError, match="^ping .* -4 --count=10 -- localhost$"):
        dl.ping("localhost", ipv4=True, ipv6=False, output=tmp_path)
    with pytest.raises(dl.UnreachableError, match="^ping .* -6 --count=10 -- localhost$"):
        dl.ping("localhost", ipv6=True, output=tmp_path)


@pytest.mark.parametrize("named", ["/nope", "."])
def test_a_program_that_cannot_be_run_is_said(tmp_path, monkeypatch, named):
    monkeypatch.setenv("DELAYLAB", named)
    with pytest.raises(dl.EnvironmentFault, match="cannot be run: .*Set DELAYLAB to where `delaylab` is"):
        dl.ping("127.0.0.1", output=tmp_path)


def test_a_program_that_is_not_there_is_said(tmp_path, monkeypatch):
    monkeypatch.delenv("DELAYLAB", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(dl.EnvironmentFault, match="install the package with pip"):
        dl.ping("127.0.0.1", output=tmp_path)


def test_a_program_that_dies_is_a_fault_of_its_own(tmp_path, monkeypatch):
    dies = tmp_path / "delaylab"
    dies.write_text("#!/bin/sh\necho 'delaylab: something broke' >&2\nexit 4\n")
    dies.chmod(dies.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("DELAYLAB", os.fspath(dies))
    with pytest.raises(dl.errors.InternalFault, match="^something broke$"):
        dl.ping("127.0.0.1", output=tmp_path)
