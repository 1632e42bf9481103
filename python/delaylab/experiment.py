"""Experiments: from a file or the catalogue, changed value by value, and carried out."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import tempfile
from pathlib import Path
from typing import Any, Iterable, Mapping

from . import _arguments, _delaylab, _kept, _program
from ._progress import Progress, told
from ._values import flags, literal
from .errors import UsageError
from .runs import Run, recorded

_EXPERIMENT = "an experiment, its file, or its name in the catalogue"


def list_experiments() -> dict[str, str]:
    """The experiments of the catalogue by name, each with its title."""
    return dict(_delaylab.catalogue())


@dataclasses.dataclass(frozen=True)
class Experiment:
    """An experiment with what was chosen of it. Each change returns another one.

    >>> short = Experiment.load("wait-time-jitter").quick().set("probe.echo.count", 30)
    >>> short.world
    'live'
    """

    named: str
    """Its name in the catalogue, or its file."""
    text: str | None = dataclasses.field(default=None, repr=False)
    """Its text, as it was when it was loaded. None for one of the catalogue, or one that was not loaded."""
    is_quick: bool = False
    """Is it the short form?"""
    chosen_world: str | None = None
    """The world, if it is not the file's."""
    sets: tuple[tuple[str, str], ...] = ()
    """Each value that was set."""
    seed: int | None = None
    """The seed, if it is not the file's."""
    target: str | None = None
    """In world `live`: the host to probe."""
    measured: str | None = None
    """The run whose results are shown beside those of this one: its folder, or its name in the folder of runs."""

    @classmethod
    def load(cls, named: str | os.PathLike[str]) -> Experiment:
        """An experiment of the catalogue, or a file. It is read and checked, once: what becomes of the file is nothing to it."""
        name = _arguments.path_or_name("named", named, _EXPERIMENT)
        loaded = cls(name, text=_delaylab.file_text(name))
        loaded.resolve()
        return loaded

    @classmethod
    def from_toml(cls, text: str, name: str = "experiment.toml") -> Experiment:
        """An experiment from its text; `name` is what errors call it."""
        loaded = cls(_arguments.text("name", name), text=_arguments.text("text", text))
        loaded.resolve()
        return loaded

    def set(self, path: str | Mapping[str, Any], value: Any = None) -> Experiment:
        """With another value, as in `set("path.switch.buffer", "64KiB")` and `set("sweep.size.to", ["64B", "1KiB"])`.

        Text, a number or a truth value, also of numpy, a timedelta, a dict, or whatever has an order of these, as a list, a
        range or an array. Values that mean something only together are set by one dict, as in
        `set({"load.bulk.kind": "replay", "load.bulk.file": "trace.csv"})`.
        """
        values = [(path, value)] if value is not None or not isinstance(path, Mapping) else path.items()
        return self._checked(sets=(*self.sets, *_sets(values)))

    def quick(self) -> Experiment:
        """The short form, by the file's section `quick`."""
        return self._checked(is_quick=True)

    def in_world(self, world: str) -> Experiment:
        """In another world: `live`, `testbed` or `sim`."""
        return self._checked(chosen_world=_arguments.text("world", world))

    def with_seed(self, seed: int) -> Experiment:
        """With another seed of all random numbers."""
        return self._checked(seed=_arguments.whole("seed", seed))

    def _checked(self, **changes: Any) -> Experiment:
        changed = dataclasses.replace(self, **changes)
        changed.resolve()
        return changed

    def resolve(self, output: str | None = None) -> _delaylab.Resolved:
        """With all choices applied. The run of a measured part is looked for only where a run is about to be carried out: in
        `output`, where that goes, and in `runs`, as by the program."""
        seed = None if self.seed is None else _arguments.whole("seed", self.seed)
        if seed is not None and not 0 <= seed < 2**63:
            raise UsageError(f"the seed is {seed}: give a number from 0 to 2**63 - 1")
        return _delaylab.resolve(
            self.named,
            self.text,
            self.chosen_world,
            self.is_quick,
            list(self.sets),
            seed,
            self.target,
            self.measured,
            [] if output is None else [output, "runs"],
        )

    @property
    def title(self) -> str:
        """Its title, one line."""
        return self.resolve().title

    @property
    def about(self) -> str:
        """What it is about."""
        return self.resolve().about

    @property
    def world(self) -> str:
        """The world that carries it out."""
        return self.resolve().world

    @property
    def trials(self) -> int:
        """How many trials it has; with a stop rule, at most; with a procedure, about."""
        return self.resolve().trials

    @property
    def factors(self) -> dict[str, list[str]]:
        """Its factors, and the levels of each."""
        return dict(self.resolve().factors)

    @property
    def length(self) -> datetime.timedelta:
        """How long its trials take one after the other, on the clock of their world."""
        return datetime.timedelta(microseconds=self.resolve().length_ns / 1000)

    @property
    def toml(self) -> str:
        """The experiment file, with everything resolved."""
        return self.resolve().toml

    def _words(self) -> list[str]:
        words: list[str] = ["--quick"] if self.is_quick else []
        for flag, value in [
            ("--world", self.chosen_world),
            ("--seed", self.seed),
            ("--target", self.target),
            ("--measured", self.measured),
        ]:
            if value is not None:
                words.append(f"{flag}={value}")
        words += [f"--set={path}={text}" for path, text in self.sets]
        return words


def _sets(values: Iterable[tuple[Any, Any]]) -> list[tuple[str, str]]:
    """Paths and values as the program takes them."""
    return [(_arguments.text("path", path), literal(value)) for path, value in values]


def chosen(experiment: str | os.PathLike[str] | Experiment) -> Experiment:
    """The experiment that an argument of this name is. It is not read yet."""
    if isinstance(experiment, Experiment):
        return experiment
    return Experiment(_arguments.path_or_name("experiment", experiment, _EXPERIMENT))


def run(
    experiment: str | os.PathLike[str] | Experiment,
    *,
    quick: bool = False,
    world: str | None = None,
    set: Mapping[str, Any] | None = None,
    seed: int | None = None,
    target: str | None = None,
    measured: str | os.PathLike[str] | Run | None = None,
    port: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
    load_server: str | None = None,
    load_port: int | None = None,
    allow_load: bool = False,
    output: str | os.PathLike[str] = "runs",
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Run:
    """Carries an experiment out, records it in a folder of `output`, judges its findings, and opens the run.

    World `sim` runs in this process, on `threads` threads (one for each CPU); other worlds are carried out by the
    program. `target` is the host to probe, `port` and `key_file` are those of its reflector, `load_port` is that of its
    `delaylab reflect --accept-load`, and `load_server` another server to send load to. `measured` is the run that is shown
    beside this one, in figures that ask for one: a name is that of a run in `output` or in `runs`.

    `progress` is called after each trial, with how many are done, of how many; `True` shows a bar, by rich or tqdm where they
    are installed. What to know before trusting the run is a `RunWarning`, and in `run.problems`. A run in which nothing was
    answered is returned, too; `UnreachableError` is raised where the target cannot be reached when it begins. Ctrl-C stops the
    run; what was recorded stays in a folder that ends in `.partial`, which `resume` continues, and which is named on standard
    error.
    """
    changed = _changed(experiment, quick, world, set, seed, target, measured)
    folder = _arguments.path("output", output)
    workers = None if threads is None else _arguments.whole("threads", threads)
    if workers is not None and workers < 1:
        raise UsageError(f"threads is {workers}: give 1 or more, or leave it out for one for each CPU")
    of_path: dict[str, Any] = {
        "port": None if port is None else _arguments.whole("port", port),
        "key_file": None if key_file is None else _arguments.path("key_file", key_file),
        "load_server": None if load_server is None else _arguments.text("load_server", load_server),
        "load_port": None if load_port is None else _arguments.whole("load_port", load_port),
    }
    _arguments.truth("allow_load", allow_load)
    _arguments.progress(progress)
    resolved = changed.resolve(folder)
    if workers is not None:
        # A trial has one thread.
        workers = min(workers, resolved.trials)
    if resolved.world == "sim":
        for name in [name for name, given in of_path.items() if given is not None]:
            raise UsageError(f"{name} is for the world `live`: the world `sim` builds its own path")
    with told(progress) as tell:
        if resolved.world != "sim":
            words = flags({**of_path, "allow_load": allow_load, "output": folder})
            made, warnings = _by_program(changed, resolved, words, workers, tell)
        else:
            begun: list[Path] = []
            with _kept.said(begun):
                made, warnings = _delaylab.simulate(resolved, folder, workers, begun.append, tell, _arguments.supplied())
    return recorded(made, warnings)


def _changed(
    experiment: str | os.PathLike[str] | Experiment,
    quick: bool,
    world: str | None,
    set: Mapping[str, Any] | None,
    seed: int | None,
    target: str | None,
    measured: str | os.PathLike[str] | Run | None,
) -> Experiment:
    """The experiment with what the arguments of `run` change."""
    changed = chosen(experiment)
    if _arguments.truth("quick", quick):
        changed = dataclasses.replace(changed, is_quick=True)
    if target is not None:
        world = world or "live"
        changed = dataclasses.replace(changed, target=_arguments.text("target", target))
    if world is not None:
        changed = dataclasses.replace(changed, chosen_world=_arguments.text("world", world))
    if measured is not None:
        of = measured.folder if isinstance(measured, Run) else measured
        changed = dataclasses.replace(changed, measured=_arguments.path_or_name("measured", of, "a run, its folder or its name"))
    if seed is not None:
        changed = dataclasses.replace(changed, seed=_arguments.whole("seed", seed))
    if set is not None:
        values = _arguments.values("set", set).items()
        changed = dataclasses.replace(changed, sets=(*changed.sets, *_sets(values)))
    return changed


def _by_program(
    changed: Experiment,
    resolved: _delaylab.Resolved,
    words: list[str],
    threads: int | None,
    progress: Progress | None,
) -> tuple[Path, list[str]]:
    """Where the run is, and what the program warned of."""
    if threads is not None:
        raise UsageError(
            "threads is for the world `sim`: trials of other worlds run one after the other, so that none disturbs another"
        )
    with tempfile.TemporaryDirectory() as scratch:
        named = _file(changed, Path(scratch))
        return _program.record("run", [*changed._words(), *words, "--", named], progress, resolved.trials)


def _file(experiment: Experiment, scratch: Path) -> str:
    """What the program calls it: its own file as long as that is what was loaded, since the run says how it was asked for."""
    if experiment.text is None:
        return experiment.named
    text = experiment.text.encode()
    with contextlib.suppress(OSError):
        if Path(experiment.named).read_bytes() == text:
            return experiment.named
    file = scratch / "experiment.toml"
    file.write_bytes(text)
    return str(file)
