"""What the program carries out and answers, from Python."""

import os
import shutil
import signal
import stat
import subprocess
import types
from pathlib import Path

import polars as pl
import pytest
from conftest import SMALL

import delaylab as dl
from delaylab import _program


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
    # No other condition: a stressed host computes on every CPU.
    few = {"probe.echo.count": 30, "design.repeats": 1, "sweep.condition.to": ["normal"]}
    run = dl.run(
        "wait-time-jitter",
        quick=True,
        set=few,
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


def shard(small, number, tmp_path):
    """A third of the trials, which the program carries out."""
    (tmp_path / "small.toml").write_text(small.set("design.repeats", 2).toml)
    words = f"run small.toml --shard {number}/2 --quiet --no-report --output there"
    subprocess.run([os.environ["DELAYLAB"], *words.split()], cwd=tmp_path, capture_output=True, check=True)


def test_shards_are_merged(small, tmp_path):
    for number in (1, 2):
        shard(small, number, tmp_path)
    shards = [*(tmp_path / "there").glob("*-shard-*")]
    merged = dl.merge(shards, output=tmp_path / "merged")
    assert merged.complete and merged.folder.parent == tmp_path / "merged"
    assert len(merged.trials()) == 2 * 4
    with pytest.raises(dl.UsageError, match="complete"):
        dl.merge(merged, output=tmp_path)


def test_a_run_that_was_interrupted_is_resumed(small, tmp_path):
    class Enough(Exception):
        pass

    def stop(done, of):
        raise Enough

    with pytest.raises(Enough):
        dl.run(small, output=tmp_path, threads=1, progress=stop)
    (partial,) = tmp_path.glob("*.partial")
    seen = []
    run = dl.resume(dl.open(partial), output=tmp_path, progress=lambda done, of: seen.append((done, of)))
    assert run.complete and len(run.trials()) == 2 * 8
    assert seen and seen[-1][0] == seen[-1][1] < 8
    with pytest.raises(dl.UsageError, match="complete"):
        dl.resume(run)


def test_a_report_is_a_page(few, tmp_path):
    page = few.report(tmp_path / "page.html")
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_a_report_goes_to_where_it_is_asked_for(few, tmp_path, monkeypatch):
    stub(tmp_path, monkeypatch, f'echo "$*" >> {tmp_path}/calls')
    assert few.report() == few.folder / "report.html"
    assert few.report("page.html") == Path("page.html")
    assert (tmp_path / "calls").read_text() == f"report -- {few.folder}\nreport --output=page.html -- {few.folder}\n"


def test_what_a_benchmark_found_is_in_the_run(tmp_path):
    def program(words):
        done = subprocess.run([os.environ["DELAYLAB"], *words.split()], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    (tmp_path / "bench.toml").write_text(program("bench throughput --world sim --size 512B --show-experiment"))
    run = dl.run(tmp_path / "bench.toml", quick=True, seed=7, output=tmp_path / "here")
    program("run bench.toml --quick --seed 7 -q --no-report -o there")
    there = dl.open("latest", tmp_path / "there").folder
    found = (run.folder / "benchmark.md").read_text()
    assert found.startswith("# ") and found == (there / "benchmark.md").read_text()
    run.report()
    made = {file.name for file in run.folder.iterdir()} - {file.name for file in there.iterdir()}
    assert made == {"report.html"}


def test_a_picture_is_shown_and_saved(few, tmp_path):
    picture = few.picture("cumulative")
    assert picture._repr_svg_().startswith("<svg")
    picture.save(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text() == picture.svg
    with pytest.raises(dl.UsageError, match="no figure `heat`"):
        _ = few.picture("heat").svg


def test_errors_are_those_of_the_program(tmp_path):
    with pytest.raises(dl.UsageError, match="^invalid value '10' for 'interval': "):
        dl.ping("127.0.0.1", interval="10", output=tmp_path)
    with pytest.raises(dl.DelaylabError, match="no.such.name.invalid"):
        dl.ping("no.such.name.invalid", output=tmp_path)


def stub(tmp_path, monkeypatch, script):
    """A program in place of delaylab."""
    program = tmp_path / "delaylab"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("DELAYLAB", os.fspath(program))


# It notes each call, and gives each execution a number of its own.
ANSWERS = """
echo "$@" >> {0}/calls
number=$(wc -l < {0}/calls)
document="{{\\"schema\\": \\"$1\\", \\"number\\": $number}}"
[ "$1" = compare ] && echo "for people $number"
for word; do
    case $word in
        --text-file=*) echo "for people $number" > "${{word#*=}}";;
        --output=*) echo "$document" > "${{word#*=}}"; printf '\\n%s\\n' "${{word#*=}}";;
    esac
done
[ "$1" = compare ] || echo "$document"
"""


def test_an_answer_and_its_text_are_of_one_execution(tmp_path, monkeypatch):
    stub(tmp_path, monkeypatch, ANSWERS.format(tmp_path))
    model = dl.Calibration("a-run")
    predicted = model.predict({"path.rate": "1Mbit/s"})
    compared = dl.compare("a-run", "latest")
    for answer in (model, predicted, compared):
        assert str(answer) == repr(answer) == f"for people {answer['number']}"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call.split()[0] for call in calls] == ["calibrate", "predict", "compare"]


def test_a_comparison_is_written_as_a_page_too(few, tmp_path):
    changed = dl.compare(few, few, output=tmp_path / "changes.html")
    assert changed["schema"] == "delaylab/compare/3"
    assert "changes.html" not in str(changed) and "answer.json" not in str(changed)
    assert (tmp_path / "changes.html").read_text().startswith("<!DOCTYPE html>")


def test_an_explanation_is_complete_when_it_is_returned(small, tmp_path):
    run = dl.run(small.set("design.repeats", 1), output=tmp_path)
    answer = run.explain()
    shutil.rmtree(run.folder)
    assert "--- small (sim) ---" in str(answer)


def test_a_condition_that_holds_is_an_error_that_has_the_run(tmp_path):
    with pytest.raises(dl.ConditionError, match=r"^--fail-if 'p50\(response\) > 1ns': it is ") as raised:
        dl.ping("127.0.0.1", count=3, interval="1ms", fail_if=["p50(response) > 1ns", "lost > 50%"], output=tmp_path)
    assert len(raised.value.run.records()) == 3
    assert dl.ping("127.0.0.1", count=3, interval="1ms", fail_if="lost > 50%", output=tmp_path).complete


def test_what_was_measured_and_is_not_valid_is_a_warning(tmp_path, monkeypatch):
    run = dl.ping("127.0.0.1", count=3, interval="1ms", output=tmp_path)
    saved = f"saved in {run.folder}: see `delaylab explain`"
    said = f"warning: little\\n{saved}\\ndelaylab: no reply\\n--fail-if lost > 1%: all\\n"
    stub(tmp_path, monkeypatch, f"printf '{said}' >&2; exit 1".replace("%", "%%"))
    with pytest.warns(dl.RunWarning) as warned, pytest.raises(dl.ConditionError, match="^--fail-if lost > 1%: all$"):
        dl.ping("127.0.0.1", output=tmp_path)
    assert [str(one.message).split(": ")[1] for one in warned][:2] == ["little", "no reply"]


def test_a_run_in_which_nothing_was_answered_is_returned_and_says_so(run, tmp_path, monkeypatch):
    # Between lines of JSON are line feeds alone.
    lines = ['{"kind": "trial", "trial": 0, "title": "a\u2028b\x85c"}', f'{{"kind": "run", "folder": "{run.folder}"}}', '{"kind": "x\u2029"}']
    (tmp_path / "lines").write_text("\n".join(lines), encoding="utf-8")
    said = "old.partial was interrupted\\ndelaylab: the key file can be read\\ndelaylab: no packet was answered\\n"
    stub(tmp_path, monkeypatch, f"cat {tmp_path}/lines; printf '{said}' >&2; exit 1")
    with pytest.warns(dl.RunWarning, match="^small-.*: no packet was answered$"):
        assert dl.run("wait-time-jitter", output=tmp_path).folder == run.folder
    stub(tmp_path, monkeypatch, f"printf '{said}' >&2; exit 1")
    with pytest.raises(dl.UnreachableError, match="^no packet was answered$"):
        dl.run("wait-time-jitter", output=tmp_path)


def test_what_has_no_result_is_an_error_of_its_command(tmp_path, monkeypatch):
    stub(tmp_path, monkeypatch, 'echo "delaylab: nothing of $1" >&2; exit 1')
    with pytest.raises(dl.ModelError, match="^nothing of calibrate$"):
        dl.Calibration("a-run")
    with pytest.raises(dl.UnreachableError, match="^nothing of run$"):
        dl.run("wait-time-jitter", output=tmp_path)


def test_a_program_that_prints_much_yet_is_read_to_its_end(tmp_path, monkeypatch):
    # More than a pipe holds, once what reads it raised; a signal alone does not end it.
    stub(tmp_path, monkeypatch, "trap : TERM\necho first\nhead -c 200000 /dev/zero\necho ended >&2")

    def enough(line):
        raise ValueError("enough")

    def hangs(*_):
        raise TimeoutError("it waits for ever")

    signal.signal(signal.SIGALRM, hangs)
    signal.alarm(60)
    try:
        with pytest.raises(ValueError, match="^enough$"):
            _program.call("run", on_line=enough)
    finally:
        signal.alarm(0)


def test_what_the_program_warned_of_is_a_warning(run, tmp_path, monkeypatch):
    line = f'{{"kind": "run", "folder": "{run.folder}"}}'
    stub(tmp_path, monkeypatch, f"echo '{line}'; echo 'warning: one queue was too short' >&2")
    with pytest.warns(dl.RunWarning, match="^small-.*: one queue was too short$") as warned:
        dl.run("wait-time-jitter", output=tmp_path)
    assert {one.filename for one in warned} == {__file__}


def test_what_trials_warn_of_with_several_numbers_is_one_warning(tmp_path, monkeypatch):
    values = {"probe.echo.duration": "2s", "probe.large.duration": "2s", "path.rate": "4Mbit/s", "path.switch.buffer": "128KiB"}
    full = dl.Experiment.from_toml(SMALL.split("[[finding]]")[0]).set({**values, "sweep.streams.to": [2]}).with_seed(1)
    with pytest.warns(dl.RunWarning):
        run = dl.run(full, output=tmp_path)
    own = [line for one in run.trials().to_polars()["warnings"] for line in one.splitlines() if "`echo` settles" in line]
    assert len({*own}) > 1
    stub(tmp_path, monkeypatch, f"""echo '{{"kind": "run", "folder": "{run.folder}"}}'; echo 'warning: {own[0]}' >&2""")
    with pytest.warns(dl.RunWarning) as warned:
        dl.run("wait-time-jitter", output=tmp_path)
    (said,) = [str(one.message) for one in warned if "`echo` settles" in str(one.message)]
    assert "in other trials with other numbers" in said


def test_progress_is_once_a_trial_of_those_that_are_left(run, tmp_path, monkeypatch):
    # A stop rule may end it sooner than at the last of all trials, a procedure later.
    left = {0: 5, 1: 0, 2: "null"}
    lines = [f'{{"kind": "trial", "trial": {trial}, "remaining": {left[trial]}}}' for trial in (0, 0, 1, 1, 2)]
    script = "\n".join(f"echo '{line}'" for line in [*lines, f'{{"kind": "run", "folder": "{run.folder}"}}'])
    stub(tmp_path, monkeypatch, script)
    seen = []
    dl.run("wait-time-jitter", output=tmp_path, progress=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 6), (2, 2), (3, dl.Experiment.load("wait-time-jitter").trials)]


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


def test_a_program_of_another_version_is_refused_and_that_of_the_package_comes_first(tmp_path, monkeypatch):
    def program(folder, version):
        folder.mkdir()
        file = folder / "delaylab"
        file.write_text(f"#!/bin/sh\necho delaylab {version}\n")
        file.chmod(0o755)
        return file

    monkeypatch.delenv("DELAYLAB", raising=False)
    other = program(tmp_path / "other", "0.0.1")
    monkeypatch.setenv("PATH", f"{other.parent}:{os.environ['PATH']}")
    with pytest.raises(dl.EnvironmentFault, match=f"^the program {other} is delaylab 0.0.1, and the package is of"):
        dl.ping("127.0.0.1", output=tmp_path)
    own = program(tmp_path / "bin", dl.__version__)
    files = [types.SimpleNamespace(name=file.name, locate=lambda file=file: file) for file in (tmp_path / "RECORD", own)]
    monkeypatch.setattr(_program.importlib.metadata, "files", lambda name: files)
    assert _program.program() == str(own)


def test_a_program_that_dies_is_a_fault_of_its_own(tmp_path, monkeypatch):
    dies = tmp_path / "delaylab"
    dies.write_text("#!/bin/sh\necho 'delaylab: something broke' >&2\nexit 4\n")
    dies.chmod(dies.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("DELAYLAB", os.fspath(dies))
    with pytest.raises(dl.errors.InternalFault, match="^something broke$"):
        dl.ping("127.0.0.1", output=tmp_path)
