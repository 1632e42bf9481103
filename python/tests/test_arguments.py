"""Arguments: values of numpy and of every iterable, names and texts that begin with a dash, and wrong types by their names."""

import builtins
import datetime
import inspect
import os
import pathlib
import re
import subprocess

import numpy as np
import pytest
from conftest import SMALL

import delaylab as dl
from delaylab import _program, _values


@pytest.fixture
def said(tmp_path, monkeypatch):
    """A program that only says how it was called: its words, one a line, once it has been."""
    program = tmp_path / "delaylab"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >&2\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("DELAYLAB", os.fspath(program))

    def words(call) -> list[str]:
        with pytest.raises(dl.DelaylabError) as raised:
            call()
        return str(raised.value).splitlines()

    return words


@pytest.mark.parametrize("two", [2, 2.0, np.float64(2), np.int64(2), np.uint8(2), np.array(2)])
def test_a_number_is_one_of_numpy_too(small, two):
    assert small.set("design.repeats", two).trials == 4


@pytest.mark.parametrize("levels", [[0, 1, 2], range(3), np.arange(3), np.arange(3.0), iter((0, 1, 2)), (0, np.int8(1), 2)])
def test_whatever_has_an_order_is_a_list_of_levels(small, levels):
    assert small.set("sweep.streams.to", levels).factors == {"streams": ["0", "1", "2"]}


@pytest.mark.parametrize("value", [object(), None, b"64B", {0, 1}, [None], {3: 4}])
def test_what_is_no_value_is_refused(small, value):
    with pytest.raises(dl.UsageError, match="is no (value|name)"):
        small.set("sweep.streams.to", value)


@pytest.mark.parametrize(
    "value",
    [
        [True, 0.5, 1e22],
        {"a b": 1, 'a"b': 2, "every": "10ms"},
        ["two\nlines", "a\\b", 'a "b"', "\x01\x7f\t", "µs"],
        [{"of": ["64B", 128]}],
    ],
)
def test_a_value_is_written_as_toml(value):
    tomllib = pytest.importorskip("tomllib")
    assert tomllib.loads(f"x = {_values.literal(value)}")["x"] == value


@pytest.mark.parametrize("several", [["a", "b"], np.array(["a", "b"]), (one for one in "ab")])
def test_whatever_has_an_order_is_several_options(several):
    given = {"fail_if": several, "count": 1e4, "rate": np.float64(0.5), "size": np.array(3)}
    assert _values.flags(given) == ["--fail-if=a", "--fail-if=b", "--count=10000", "--rate=0.5", "--size=3"]


def test_a_path_is_a_value():
    assert _values.literal(pathlib.Path("a/b.csv")) == '"a/b.csv"'
    assert _values.literal(pathlib.Path("7")) == '"7"'
    assert _values.literal([pathlib.Path("a b")]) == '["a b"]'


def refused(*words, **how):
    raise dl.UsageError(" ".join(words))


def test_a_name_is_looked_for_where_the_other_run_is(few, monkeypatch):
    monkeypatch.setattr(_program, "call", refused)
    with pytest.raises(dl.UsageError, match=f"--runs={few.folder.parent} --baseline=before -- {few.folder}"):
        few.explain(baseline="before")
    with pytest.raises(dl.UsageError, match=f"--runs={few.folder.parent} .* before {few.folder}"):
        dl.compare("before", few)
    with pytest.raises(dl.UsageError, match=f"--runs={few.folder.parent} .* before {few.folder}"):
        dl.compare("before", few, runs=None)
    with pytest.raises(dl.UsageError, match="--runs=other "):
        dl.compare(few, "latest", runs="other")


def test_a_scalar_within_a_value_is_written_as_such():
    assert _values.literal([np.bool_(False), np.float64(0.5), datetime.timedelta(milliseconds=3)]) == '[false, 0.5, "3ms"]'


def test_a_duration_keeps_its_nanoseconds(said, tmp_path):
    pandas = pytest.importorskip("pandas")
    for short in (pandas.Timedelta(1500, "ns"), np.timedelta64(1500, "ns"), np.array(np.timedelta64(1500, "ns"))):
        assert _values.literal(short) == '"1500ns"'
        assert "--interval=1500ns" in said(lambda: dl.ping("127.0.0.1", interval=short, output=tmp_path))
    levels = pandas.to_timedelta([500, 2000, -1], unit="ns")
    assert _values.literal(levels) == _values.literal(levels.values) == '["500ns", "2us", "-1ns"]'
    with pytest.raises(dl.UsageError, match="is no value of an experiment"):
        _values.literal([np.timedelta64("NaT")])


def test_values_that_belong_together_are_set_together(small, tmp_path):
    (tmp_path / "trace.csv").write_text("1ms,64B\n2ms,64B\n")
    text = SMALL.split("[sweep]")[0].replace("streams = 1\n", "") + "[design]\nrepeats = 1\n"
    one = dl.Experiment.from_toml(text)
    replay = {"load.bulk.file": str(tmp_path / "trace.csv"), "load.bulk.kind": "replay"}
    for path, value in replay.items():
        with pytest.raises(dl.UsageError):
            one.set(path, value)
    assert 'kind = "replay"' in one.set(replay).toml
    assert dl.run(one, set=replay, output=tmp_path).complete
    with pytest.raises(TypeError, match="^path is .*: expected text"):
        small.set({"design.repeats": 1}, 2)


def test_a_path_that_is_not_utf_8_is_refused_before_anything_is_done(said, tmp_path):
    named = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    for call in (lambda: dl.open(named), lambda: dl.ping("127.0.0.1", output=named), lambda: dl.Experiment.load(named)):
        with pytest.raises(dl.UsageError, match="which is not UTF-8"):
            call()


def test_text_that_is_not_utf_8_is_refused_by_its_name(small):
    wrong = "a\udce9"
    for value in (wrong, [wrong], pathlib.Path(wrong)):
        with pytest.raises(dl.UsageError, match="is no value of an experiment: it is not UTF-8"):
            small.set("load.bulk.file", value)
    for name, call in [
        ("text", lambda: dl.Experiment.from_toml(wrong)),
        ("target", lambda: dl.run("resolver", target=wrong)),
        ("path", lambda: small.set(wrong, 1)),
    ]:
        with pytest.raises(dl.UsageError, match=f"^{name} is '.*', which is not UTF-8"):
            call()


def test_every_name_of_the_package_leaves_those_of_python():
    assert not {*dl.__all__} & {*dir(builtins)}


def test_more_threads_than_any_host_has_are_as_many_as_trials(small, tmp_path):
    assert dl.run(small.set("design.repeats", 1), output=tmp_path, threads=2**64).complete


def test_what_a_target_needs_is_an_argument_of_run_and_none_of_a_simulation(said, small, tmp_path):
    needs = {"port": 9000, "key_file": tmp_path / "key", "load_server": "192.0.2.2", "load_port": 9001}
    words = said(lambda: dl.run("wait-time-jitter", target="192.0.2.1", output=tmp_path, **needs))
    flags = ["--port=9000", f"--key-file={tmp_path}/key", "--load-server=192.0.2.2", "--load-port=9001"]
    assert {*flags, "--target=192.0.2.1"} <= {*words}
    for name, value in needs.items():
        with pytest.raises(dl.UsageError, match=f"^{name} is for the world `live`"):
            dl.run(small, output=tmp_path, **{name: value})


def test_what_begins_with_a_dash_is_no_option(said, tmp_path):
    words = said(lambda: dl.ping("-6", pattern="-1", count=3, output="-out"))
    assert words == ["ping", "--quiet", "--save=-out", "--pattern=-1", "--count=3", "--", "-6"]
    words = said(lambda: dl.Calibration("-a-run"))
    assert words[-2:] == ["--", "-a-run"]
    file = tmp_path / "-x.toml"
    file.write_text(dl.Experiment.load("wait-time-jitter").toml)
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        words = said(lambda: dl.run("-x.toml", set={"title": "-t"}, output="-out"))
    finally:
        os.chdir(here)
    assert words[-2:] == ["--", "-x.toml"]
    assert {"--set=title=-t", "--output=-out"} <= {*words}


def test_a_path_may_begin_with_the_users_folder_and_a_name_with_anything(said, small, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    words = said(lambda: dl.ping("~", output="~/runs", key_file=pathlib.Path("~/key"), pattern="~"))
    assert {f"--save={tmp_path}/runs", f"--key-file={tmp_path}/key", "--pattern=~"} <= {*words} and words[-1] == "~"
    assert said(lambda: dl.Calibration("~/runs/a"))[-1] == f"{tmp_path}/runs/a"
    (tmp_path / "mine.toml").write_text(SMALL)
    assert dl.Experiment.load("~/mine.toml").title == small.title
    assert dl.run("~/mine.toml", set={"design.repeats": 1}, output="~/runs").folder.parent == tmp_path / "runs"
    assert dl.open("latest", "~/runs").name == "small"
    monkeypatch.setattr(_program, "call", refused)
    with pytest.raises(dl.UsageError, match=f"--runs={tmp_path}/runs .* ~ {tmp_path}/runs/a$"):
        dl.compare("~", "~/runs/a", runs="~/runs")


@pytest.mark.parametrize("name", ["help", "json_", "version", "json", "json_stream", "csv", "quiet", "tui", "save"])
def test_what_prints_something_else_is_no_argument_of_ping(name, tmp_path):
    with pytest.raises(dl.UsageError, match=f"`{name.removesuffix('_')}` is no argument here"):
        dl.ping("127.0.0.1", output=tmp_path, **{name: True})


@pytest.mark.parametrize("ends", [{}, {"count": None}, {"count": None, "duration": None}, {"load": []}])
def test_without_an_end_a_ping_sends_ten(said, tmp_path, ends):
    assert "--count=10" in said(lambda: dl.ping("127.0.0.1", output=tmp_path, **ends))


@pytest.mark.parametrize("ends", [{"load": "tcp:1"}, {"load": ["up", "down"]}, {"duration": "1s"}, {"count": 3}])
def test_with_an_end_a_ping_has_that_alone(said, tmp_path, ends):
    words = said(lambda: dl.ping("127.0.0.1", output=tmp_path, **ends))
    assert not {"10", "--count=10"} & {*words}


@pytest.mark.parametrize(
    ("function", "extra"),
    [(dl.ping, {"target", "output"}), (dl.compare, {"first", "second"}), (dl.resume, {"run", "progress"}), (dl.merge, {"shards"})],
)
def test_arguments_are_the_options_of_the_program(function, extra):
    """Those that it shows, as in a notebook."""
    shown = subprocess.run([_program.program(), function.__name__, "--help"], capture_output=True, text=True, check=True).stdout
    options = {name.replace("-", "_") for name in re.findall(r"^ {2,6}(?:-\w, )?--([a-z-]+)", shown, re.MULTILINE)}
    options |= {"ipv4", "ipv6"} if function is dl.ping else set()
    printed = {"json", "json_stream", "csv", "tui", "quiet", "verbose", "timestamps", "save", "no_report", "help", "version"}
    arguments = inspect.signature(function).parameters
    assert {name.removesuffix("_") for name in arguments} - extra == options - printed - extra


def test_an_argument_that_there_is_not_is_named_with_the_nearest():
    with pytest.raises(TypeError, match=r"^ping\(\) has no argument 'cnt': did you mean 'count'\?$"):
        dl.ping("127.0.0.1", cnt=3)
    with pytest.raises(TypeError, match=r"^compare\(\) has no argument 'no_such_flag'$"):
        dl.compare("a", "b", no_such_flag=True)


def calls(small, run):
    """A call with an argument of the wrong type, and its name."""
    return {
        "seed": lambda: dl.run(small, seed="7"),
        "seed ": lambda: small.with_seed(1.5),
        "threads": lambda: dl.run(small, threads="2"),
        "threads ": lambda: dl.run(small, threads=1.5),
        "quick": lambda: dl.run(small, quick="no"),
        "set": lambda: dl.run(small, set=[("design.repeats", 2)]),
        "set ": lambda: dl.run(small, set="design.repeats=2"),
        "path": lambda: dl.run(small, set={3: 3}),
        "progress": lambda: dl.run(small, progress=3),
        "output": lambda: dl.run(small, output=None),
        "measured": lambda: dl.run(small, measured=3),
        "port": lambda: dl.run(small, port="9000"),
        "key_file": lambda: dl.run(small, key_file=3),
        "load_server": lambda: dl.run(small, load_server=3),
        "experiment": lambda: dl.run(3),
        "world": lambda: small.in_world(None),
        "text": lambda: dl.Experiment.from_toml(None),
        "named": lambda: dl.Experiment.load(None),
        "trials_per_share": lambda: dl.sweep(small, None, trials_per_share="2"),
        "trials_per_share ": lambda: dl.sweep(small, None, trials_per_share=1.5),
        "retries": lambda: dl.sweep(small, None, retries=None),
        "target": lambda: dl.ping(None),
        "count": lambda: dl.ping("127.0.0.1", count=2.5),
        "count ": lambda: dl.ping("127.0.0.1", count="3x"),
        "interval": lambda: dl.ping("127.0.0.1", interval=0.01),
        "size": lambda: dl.ping("127.0.0.1", size=64),
        "fresh": lambda: dl.ping("127.0.0.1", fresh="yes"),
        "cacert": lambda: dl.ping("127.0.0.1", cacert=3),
        "load": lambda: dl.ping("127.0.0.1", load=[3]),
        "tos": lambda: dl.ping("127.0.0.1", tos=[3]),
        "output ": lambda: dl.ping("127.0.0.1", output=None),
        "strict": lambda: dl.compare(run, run, strict=3),
        "run ": lambda: dl.resume(None),
        "threads  ": lambda: dl.resume(run, threads="2"),
        "shards": lambda: dl.merge(3),
        "shards ": lambda: dl.merge([run, None]),
        "second": lambda: dl.compare(run, None),
        "run": lambda: dl.open(None),
        "columns": lambda: run.records(3),
        "columns ": lambda: run.records([None]),
        "columns  ": lambda: run.records([["trial"]]),
        "by": lambda: run.summary(by=3),
        "name": lambda: run.picture(None),
        "figure": lambda: run.figure(None),
        "baseline": lambda: run.explain(3),
        "changes": lambda: dl.Calibration.predict(dl.Calibration.__new__(dl.Calibration), None),
    }


def test_a_wrong_type_is_named_before_anything_is_done(small, few, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, call in calls(small, few).items():
        with pytest.raises(TypeError, match=f"^{name.strip()} is .*: expected "):
            call()
    assert not list(tmp_path.iterdir())
