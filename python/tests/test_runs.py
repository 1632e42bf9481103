"""Runs: carried out in the process, and read as tables, findings and figures."""

import concurrent.futures
import contextlib
import copy
import datetime
import importlib
import multiprocessing
import pickle
import re
import sys
import threading
import types
from pathlib import Path

import duckdb
import pandas
import polars as pl
import pytest
from conftest import SMALL

import delaylab as dl
from delaylab import _arguments, _kept
from delaylab._progress import told
from delaylab.experiment import _file


def test_records_are_those_of_the_file_as_times(run):
    records = pl.DataFrame(run.records())
    recorded = pl.read_parquet(run.folder / "records.parquet")
    assert records.height == recorded.height > 500
    # The file has each stamp as the time since the one before it.
    sent = recorded["t_intended"] + recorded["to_t_send"]
    assert records["t_send"].equals(sent)
    answered = records.filter(pl.col("outcome") == "ok")
    assert (answered["t_recv"] > answered["t_send"]).all()


def test_columns_are_chosen_and_unknown_ones_named(run):
    table = run.records(["seq", "t_send"])
    assert table.columns == ["seq", "t_send"]
    assert len(table) == pl.DataFrame(run.records()).height
    for turned in (run.records(["t_recv", "t_send"]), run.trials(), run.table("trials", ["sent", "probe_name"])):
        whole = pl.DataFrame(run.table("records" if "t_recv" in turned.columns else "trials"))
        assert pl.DataFrame(turned).equals(whole.select(turned.columns))
    assert run.records(["t_recv", "t_send"]).columns == ["t_recv", "t_send"]
    assert run.table("trials", ["sent", "probe_name"]).columns == ["sent", "probe_name"]
    with pytest.raises(dl.UsageError, match="no column `t_sent`: it has .*t_send"):
        run.records(["t_sent"])
    with pytest.raises(dl.UsageError, match="no table `packets`: it has trials, records"):
        run.table("packets")


def test_duckdb_reads_a_table_by_its_name(run):
    records = run.records()
    counted = duckdb.sql("SELECT count(*), count(DISTINCT trial) FROM records").fetchall()
    assert counted == [(len(records), 8)]


def test_every_table_is_read(run):
    assert {"trials", "records", "hops", "series"} <= set(run.tables)
    for name in run.tables:
        assert pl.DataFrame(run.table(name)).height > 0, name


def test_a_summary_has_a_row_for_each_combination_or_as_asked(run):
    whole = pl.DataFrame(run.summary())
    assert whole.select("streams", "probe").rows() == [
        ("0", "echo"),
        ("0", "large"),
        ("2", "echo"),
        ("2", "large"),
    ]
    assert whole.columns[2:] == [
        "trials",
        "sent",
        "lost",
        "lost_share",
        "response_p50_ns",
        "response_p99_ns",
        "network_ns",
        "host_ns",
        "round_trip_p50_ns",
        "round_trip_p99_ns",
        "delay_p50_ns",
        "delay_p99_ns",
    ]
    assert whole["delay_p50_ns"].null_count() == whole.height
    by = pl.DataFrame(run.summary(by=["streams"]))
    assert by["streams"].to_list() == ["0", "2"]
    assert by["sent"].sum() == whole["sent"].sum()
    # One combination alone is the same by either way.
    both = pl.DataFrame(run.summary(by=["streams", "probe"]))
    assert both.rows() == whole.rows()
    with pytest.raises(dl.UsageError, match="no factor `load`: it has streams, probe"):
        run.summary(by=["load"])


def test_counts_and_times_of_trials_are_integers(run):
    types = pl.DataFrame(run.trials()).schema
    for name in ["sent", "lost", "span_ns", "response_min_ns", "response_p50_ns", "round_trip_max_ns"]:
        assert types[name] == pl.Int64, name
    for name in ["response_mean_ns", "response_sd_ns", "within_500us"]:
        assert types[name] == pl.Float64, name


def test_a_single_name_is_one_and_a_name_counts_once(run):
    assert run.records("trial").columns == ["trial"]
    assert run.table("trials", "trial").columns == ["trial"]
    by = pl.DataFrame(run.summary(by="streams"))
    assert by.rows() == pl.DataFrame(run.summary(by=["streams", "streams"])).rows()
    assert by["streams"].to_list() == ["0", "2"]


def test_a_library_that_is_missing_is_named_with_its_remedy(run, monkeypatch):
    # It looks for pyarrow once, when it is imported: other tests need what it finds.
    importlib.import_module("pandas")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(dl.EnvironmentFault, match="^pyarrow cannot .* `pip install pandas pyarrow`$"):
        run.trials().to_pandas()
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(dl.EnvironmentFault, match="^polars cannot .* `pip install polars`$"):
        run.trials().to_polars()
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(dl.EnvironmentFault, match=r"^altair cannot .* `pip install delaylab\[figures\]`$"):
        run.figure("cumulative")


def test_pandas_has_the_same_rows_and_no_time_is_rounded(small, tmp_path):
    with pytest.warns(dl.RunWarning):
        run = dl.run(small.set("path.switch.buffer", "2KiB").set("design.repeats", 1), output=tmp_path)
    records = run.records().to_polars()
    assert records["t_recv"].null_count() > 0
    frame = run.records().to_pandas()
    assert str(frame.dtypes["t_send"]) == str(frame.dtypes["t_recv"]) == "Int64"
    for name in ("trial", "t_recv", "outcome"):
        assert [None if pandas.isna(one) else one for one in frame[name]] == records[name].to_list()


def test_what_a_run_has_travels_between_processes(run):
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as other:
        for one in (run, run.records(["trial", "t_send"]), run.summary(by="streams")):
            assert repr(other.submit(copy.copy, one).result()) == repr(one)
    failed = pickle.loads(pickle.dumps(dl.ConditionError("--fail-if loss", run)))
    assert (str(failed), failed.run.folder) == ("--fail-if loss", run.folder)


def test_a_run_that_ended_since_it_was_opened_is_an_error_and_not_empty(small, tmp_path):
    opened = []

    def look(done, of):
        if not opened:
            opened.append(dl.open(next(tmp_path.glob("*.partial"))))

    dl.run(small.set("design.repeats", 1), output=tmp_path, threads=1, progress=look)
    (partial,) = opened
    for read in (lambda: len(partial.records()), lambda: partial.table("hops"), partial.summary):
        with pytest.raises(dl.EnvironmentFault, match="gone since the run was opened"):
            read()


@pytest.mark.parametrize("threads", [0, -1])
def test_a_number_of_threads_that_cannot_be_is_refused(small, tmp_path, threads):
    with pytest.raises(dl.UsageError, match=f"threads is {threads}: give 1 or more"):
        dl.run(small, output=tmp_path, threads=threads)


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_that_cannot_be_is_refused(small, tmp_path, seed):
    with pytest.raises(dl.UsageError, match=f"the seed is {seed}: give a number from 0"):
        small.with_seed(seed)
    with pytest.raises(dl.UsageError, match=f"the seed is {seed}: give a number from 0"):
        dl.run(small, output=tmp_path, seed=seed)


def test_findings_are_typed_and_shown(run):
    finding = run.findings["1"]
    assert finding == run.findings[0] == run.findings[:1][0]
    assert len({*run.findings}) == len(run.findings)
    assert "1" in run.findings and finding in run.findings and "9" not in run.findings
    assert finding.verdict == "true"
    assert finding.says == "Load makes responses wait"
    assert finding.parts[0]["statistics"]
    assert "Load makes responses wait" in repr(run.findings)
    assert "<td>true</td>" in run.findings._repr_html_()
    with pytest.raises(KeyError, match="no finding '9': it has 1"):
        run.findings["9"]


def test_figures_are_charts_of_the_same_specification(run):
    assert run.figures["cumulative"] == "Delays: cumulative distribution"
    chart = run.figure("cumulative")
    assert chart.to_dict()["title"] == run.specification("cumulative")["title"]
    with pytest.raises(dl.UsageError, match="no figure `heat`: it has cumulative"):
        run.figure("heat")


def every_figure_is_a_chart(run):
    assert {"cumulative", "distribution", "time_series"} <= {*run.figures}
    for name in run.figures:
        assert run.figure(name).to_dict()["$schema"].startswith("https://vega.github.io/schema/vega-lite/"), name


def test_every_figure_is_a_chart(few):
    every_figure_is_a_chart(few)


@pytest.mark.long
def test_every_figure_of_a_longer_run_is_a_chart(run):
    every_figure_is_a_chart(run)


def test_a_picture_is_of_a_figure_that_is_there(run):
    assert repr(run.picture("cumulative")) == f"<delaylab.Picture cumulative of {run.folder}>"
    with pytest.raises(dl.UsageError, match="no figure `heat`: it has cumulative"):
        run.picture("heat")


def test_a_run_without_findings_says_so(small, tmp_path):
    none = dl.run(dl.Experiment.from_toml(small.toml.split("[[finding]]")[0]).set("design.repeats", 1), output=tmp_path)
    assert repr(none.findings) == "no findings"
    assert none.findings._repr_html_() == "<p>no findings</p>"
    with pytest.raises(KeyError, match="no finding '1': it has none"):
        none.findings["1"]


def test_a_table_is_shown_in_lines_that_fit(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    lines = repr(run.records()).splitlines()
    assert len(lines) == 12
    assert {len(line) for line in lines[:11]} == {60} and lines[0].endswith("…")
    monkeypatch.delenv("COLUMNS")
    assert "…" not in repr(run.records()).splitlines()[0]


def test_a_cell_of_several_lines_is_shown_in_one():
    class Native:
        def __len__(self):
            return 1

        def head(self, rows):
            return 'name,warnings\nsmall,"one\ntwo"\n'

    table = dl.Table(Native())
    assert repr(table).splitlines() == ["name   warnings", "small  one, two"]
    assert "<td>one, two</td>" in table._repr_html_()


def test_what_to_know_before_trusting_a_run_is_a_warning(small, tmp_path):
    with pytest.warns(dl.RunWarning) as warned:
        run = dl.run(small.set("path.switch.buffer", "2KiB").set("design.repeats", 1), output=tmp_path)
    assert [str(one.message) for one in warned] == [f"{run.folder.name}: {problem}" for problem in run.problems]
    assert any("packets were dropped" in problem for problem in run.problems)
    assert {one.filename for one in warned} == {__file__}


def test_problems_are_the_same_whether_all_of_the_run_was_read_or_none(small, tmp_path):
    with pytest.warns(dl.RunWarning):
        made = dl.run(small.set("path.switch.buffer", "2KiB").set("design.repeats", 1), output=tmp_path)
    read = dl.open(made.folder)
    # All of it is read for its summary.
    read.summary()
    assert dl.open(made.folder).problems == read.problems == made.problems
    assert any("packets were dropped" in problem for problem in made.problems)


def test_a_notebook_shows_the_run(run):
    shown = run._repr_html_()
    assert "small (sim)" in shown and "<table>" in shown
    assert "streams" in repr(run.summary()).splitlines()[0]
    assert "more rows" in repr(run.records())


def test_progress_and_threads_make_no_difference(small, run, tmp_path):
    from conftest import content

    seen = []
    again = dl.run(
        small, output=tmp_path, threads=1, progress=lambda done, of: seen.append((done, of))
    )
    assert seen == [(done, 8) for done in range(1, 9)]
    assert content(again) == content(run)


def test_python_goes_on_meanwhile(small, tmp_path):
    ticks = []
    over = threading.Event()

    def tick():
        while not over.wait(0.01):
            ticks.append(1)

    other = threading.Thread(target=tick)
    other.start()
    dl.run(small.set("probe.echo.duration", "5s").set("design.repeats", 1), output=tmp_path)
    over.set()
    other.join()
    assert len(ticks) > 5


def test_a_line_or_a_bar_shows_progress(small, tmp_path, capsys, monkeypatch):
    for name in ("rich.progress", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, None)
    small = small.set("design.repeats", 1)
    dl.run(small, output=tmp_path, progress=True)
    assert capsys.readouterr().err.endswith("2 of 2 trials\n")

    class Bar(contextlib.nullcontext):
        n = total = 0

        def update(self, more):
            self.n += more

    bar = Bar()
    bar.enter_result = bar
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=lambda unit: bar))
    dl.run(small, output=tmp_path, progress=True)
    assert (bar.n, bar.total) == (2, 2)


def test_no_bar_is_drawn_where_a_notebook_would_not_show_it(capsys, monkeypatch):
    class Bar(contextlib.nullcontext):
        def __init__(self, *columns):
            super().__init__(self)

        def add_task(self, name, total):
            return name

        def update(self, task, completed, total):
            print(task, completed, total)

    columns = dict.fromkeys(["BarColumn", "MofNCompleteColumn", "TimeRemainingColumn", "TextColumn"], lambda *words: None)
    console = types.SimpleNamespace(is_jupyter=True)
    monkeypatch.setitem(sys.modules, "rich", types.SimpleNamespace(get_console=lambda: console))
    monkeypatch.setitem(sys.modules, "rich.progress", types.SimpleNamespace(Progress=Bar, **columns))
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)

    def shown():
        with told(True) as tell:
            tell(1, 2)
        return capsys.readouterr()

    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert shown() == ("", "\r1 of 2 trials\n")
    monkeypatch.setitem(sys.modules, "ipywidgets", types.SimpleNamespace())
    assert shown() == ("trials 1 2\n", "")
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    console.is_jupyter = False
    assert shown() == ("trials 1 2\n", "")


def test_what_progress_raises_stops_the_run_and_leaves_what_was_recorded(small, tmp_path, capsys):
    def enough(done, of):
        raise ValueError(f"enough at {done} of {of}")

    with pytest.raises(ValueError, match="enough at 1 of 8"):
        dl.run(small, output=tmp_path, threads=1, progress=enough)
    left = [path.name for path in tmp_path.iterdir() if path.name.endswith(".partial")]
    assert len(left) == 1
    assert f"`delaylab resume {tmp_path / left[0]}` continues it" in capsys.readouterr().err
    partial = dl.open(tmp_path / left[0])
    assert not partial.complete
    assert pl.DataFrame(partial.records()).height > 0


def test_progress_that_raised_is_not_called_again(small, tmp_path):
    calls = []

    def enough(done, of):
        calls.append(done)
        raise ValueError("enough")

    with pytest.raises(ValueError, match="^enough$"):
        dl.run(small, output=tmp_path, threads=8, progress=enough)
    assert calls == [1]


def test_an_error_says_where_its_run_is_and_no_other_one(small, tmp_path, capsys):
    kept = tmp_path / "small-3.partial"
    kept.mkdir()

    def said(error, begun):
        with pytest.raises(type(error)) as raised, _kept.said(begun):
            raise error
        return str(raised.value) or capsys.readouterr().err

    resume = f"What was recorded is in {kept}: `delaylab resume {kept}` continues it"
    assert said(dl.EnvironmentFault("no room."), [kept]) == f"no room. {resume}"
    assert said(KeyboardInterrupt(), [kept]) == f"delaylab: stopped. {resume}\n"
    assert said(dl.EnvironmentFault("nothing was begun"), []) == "nothing was begun"
    # As where Ctrl-C came while the tables were joined.
    kept.rename(kept.with_suffix(""))
    complete = f"The run is complete: it is in {kept.with_suffix('')}"
    assert said(dl.EnvironmentFault("no room."), [kept]) == f"no room. {complete}"
    assert said(KeyboardInterrupt(), [kept]) == f"delaylab: stopped. {complete}\n"

    def beside(done, of):
        (tmp_path / "small-4.partial").mkdir()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dl.run(small, output=tmp_path, threads=1, progress=beside)
    assert "small-4" not in capsys.readouterr().err


def test_an_experiment_is_what_was_loaded(small, tmp_path, monkeypatch):
    file = tmp_path / "mine.toml"
    file.write_text(small.toml)
    monkeypatch.chdir(tmp_path)
    loaded = dl.Experiment.load("mine.toml")
    file.write_text(small.set("design.repeats", 1).toml)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert loaded.trials == 8
    assert pickle.loads(pickle.dumps(loaded)).with_seed(7).trials == 8
    # In its words the program is handed the file as long as it is the same.
    assert _file(loaded, tmp_path) == str(tmp_path / "experiment.toml")
    assert (tmp_path / "experiment.toml").read_text() == small.toml
    again = dl.Experiment.load(file)
    assert _file(again, tmp_path) == str(file)
    assert dl.Experiment.load("calibration").text is None


BESIDE = """
[[figure]]
id = "medians"
title = "Medians"
draw = "table"
rows = "streams"
values = ["p50(round_trip | probe=echo)"]
measured = ""

[measured]
run = "NAMED"
"""


@pytest.mark.parametrize("named", ["small", "latest"])
def test_a_measured_part_is_the_run_that_the_program_would_take(small, tmp_path, monkeypatch, named):
    monkeypatch.chdir(tmp_path)
    one = small.set("design.repeats", 1)
    there = dl.run(one, output="results")
    # Loaded and changed before there is an output.
    beside = dl.Experiment.from_toml(one.toml + BESIDE.replace("NAMED", named)).with_seed(7)

    def shown(run):
        return re.search('run = "(.*)"', run.experiment)[1]

    assert shown(dl.run(beside, output="results")) == str(there.folder)
    here = dl.run(one)
    assert shown(dl.run(beside, output="elsewhere")) == str(here.folder)
    assert shown(dl.run(beside)) == str(here.folder)
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        swept = dl.sweep(beside, threads, output="results")
    assert Path(shown(swept)).parent == tmp_path / "results"
    assert shown(dl.run(beside, measured=there)) == shown(dl.run(beside, measured=there.folder)) == str(there.folder)
    with pytest.raises(dl.UsageError, match="measured.run: no run `nowhere`"):
        dl.run(beside, measured="nowhere")


def test_words_of_the_script_may_be_anything(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["analyse.py", "donn\udce9es.csv", 3])
    assert _arguments.supplied() == ["analyse.py", "donn?es.csv", "3"]
    monkeypatch.delattr(sys, "argv")
    assert _arguments.supplied() == []


def test_experiments_are_changed_value_by_value(small):
    changed = (
        small.set("design.repeats", 2)
        .set("probe.echo.duration", datetime.timedelta(milliseconds=100))
        .set("sweep.streams.to", [0, 1, 2])
        .with_seed(7)
    )
    assert (changed.trials, small.trials) == (6, 8)
    assert changed.factors == {"streams": ["0", "1", "2"]}
    assert 'duration = "100ms"' in changed.toml
    assert changed.resolve().seed == 7
    assert dl.Experiment.from_toml(changed.toml).toml == changed.toml


def test_errors_say_where_and_what(tmp_path):
    with pytest.raises(dl.UsageError, match=r"mine.toml:\d+"):
        dl.Experiment.from_toml(SMALL.replace("discipline", "disciplin"), name="mine.toml")
    with pytest.raises(dl.UsageError, match="there is no experiment `nothing`"):
        dl.Experiment.load("nothing")
    with pytest.raises(dl.UsageError, match="there is no world `cloud`"):
        dl.Experiment.load("calibration").in_world("cloud")
    with pytest.raises(dl.UsageError, match="no run `latest`"):
        dl.open("latest", tmp_path)
    with pytest.raises(dl.UsageError, match="is no value of an experiment"):
        dl.Experiment.load("calibration").set("design.repeats", object())


def test_a_changed_file_is_refused(small, tmp_path):
    run = dl.run(small.set("design.repeats", 1), output=tmp_path)
    records = run.folder / "records.parquet"
    content = bytearray(records.read_bytes())
    content[len(content) // 2] ^= 1
    records.write_bytes(content)
    with pytest.raises(dl.EnvironmentFault, match="records.parquet: its content has changed"):
        dl.open(run.folder)


def test_a_run_that_nothing_was_held_against_says_so(small, tmp_path):
    run = dl.run(small.set("design.repeats", 1), output=tmp_path / "runs")
    (run.folder / "manifest.json").rename(tmp_path / "manifest.json")
    said = "has no manifest.json, .*: nothing says whether its files are what was recorded$"
    with pytest.warns(dl.RunWarning, match=said) as warned:
        bare = dl.open(run.folder)
    assert [one for one in bare.problems if re.search(said, one)] == [str(one.message) for one in warned]
    for question in (lambda: dl.compare(run, str(run.folder)), bare.explain, lambda: dl.compare("latest", run.folder, runs=tmp_path / "runs")):
        with pytest.warns(dl.RunWarning, match=said) as asked:
            question()
        assert {one.filename for one in [*warned, *asked]} == {__file__}
