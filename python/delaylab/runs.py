"""Runs on disk: their tables, findings, figures, and what is asked of them."""

from __future__ import annotations

import csv
import dataclasses
import html
import importlib
import io
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Sequence, overload

from . import _arguments, _delaylab, _program
from ._warnings import warn
from .answers import Answer, Calibration
from .errors import EnvironmentFault, UsageError

if TYPE_CHECKING:
    import altair
    import pandas
    import polars

_SHOWN = 10


def _needed(library: str, remedy: str) -> None:
    """An error with its remedy where a library is not installed."""
    try:
        importlib.import_module(library)
    except ImportError as error:
        raise EnvironmentFault(f"{library} cannot be imported: {error}. Install it: `{remedy}`") from error


def _fitting(line: str) -> str:
    """Cut where the terminal ends; whole where there is none, as in a file."""
    width = shutil.get_terminal_size((0, 0)).columns
    return line if width == 0 or len(line) <= width else line[: width - 1] + "…"


class Table:
    """A table of a run.

    Libraries of data frames take it as it is, through the Arrow C stream: `polars.DataFrame(table)`,
    `pyarrow.table(table)`, or in DuckDB by its name. Each reads it from the disk; times are integers of nanoseconds.
    """

    def __init__(self, native: _delaylab.Table, asked: tuple[Any, ...] = ()) -> None:
        self._native = native
        self._asked = asked

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process, what it was asked for is asked again."""
        method, *arguments = self._asked
        return method, tuple(arguments)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self._native)

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return self._native.columns

    def to_polars(self) -> polars.DataFrame:
        """As a data frame of polars."""
        _needed("polars", "pip install polars")
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """As a data frame of pandas, which takes pyarrow too: `pip install pandas pyarrow`.

        Integers are pandas' own that may be null (`Int64`): as floats, which they would be where a packet was lost, times were
        rounded.
        """
        for library in ("pandas", "pyarrow"):
            _needed(library, "pip install pandas pyarrow")
        pandas: Any = importlib.import_module("pandas")
        pyarrow: Any = importlib.import_module("pyarrow")
        names = [f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)]
        nullable = {getattr(pyarrow, name.lower())(): getattr(pandas, f"{name}Dtype")() for name in names}
        nullable[pyarrow.bool_()] = pandas.BooleanDtype()
        frame: pandas.DataFrame = pyarrow.table(self).to_pandas(types_mapper=nullable.get)
        return frame

    def _head(self) -> list[list[str]]:
        rows = csv.reader(io.StringIO(self._native.head(_SHOWN)))
        return [[", ".join(cell.splitlines()) for cell in row] for row in rows]

    def __repr__(self) -> str:
        rows = self._head()
        widths = [max(len(cell) for cell in column) for column in zip(*rows)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([*map(_fitting, lines), *self._rest()])

    def _rest(self) -> list[str]:
        more = len(self) - _SHOWN
        return [f"… {more} more rows"] if more > 0 else []

    def _repr_html_(self) -> str:
        heads, *rows = self._head()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in rows
        )
        rest = "".join(f"<p>{line}</p>" for line in self._rest())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


@dataclasses.dataclass(frozen=True)
class Finding:
    """A claim of the experiment, and what the run says of it."""

    id: str
    """Where it was claimed."""
    says: str
    """The claim in words."""
    check: str
    """The claim as a comparison of statistics."""
    verdict: str
    """`true`, `false`, `undecided` or `not_applicable`."""
    reason: str
    """Why."""
    parts: list[dict[str, Any]] = dataclasses.field(repr=False, hash=False)
    """Every statistic that was evaluated, for each combination of levels that the claim is about."""


class Findings(Sequence[Finding]):
    """The findings of a run, in their order, or by their id."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self._all = list(findings)

    @overload
    def __getitem__(self, at: int | str) -> Finding: ...
    @overload
    def __getitem__(self, at: slice) -> list[Finding]: ...
    def __getitem__(self, at: int | str | slice) -> Finding | list[Finding]:
        if isinstance(at, str):
            for finding in self._all:
                if finding.id == at:
                    return finding
            ids = ", ".join(one.id for one in self._all)
            raise KeyError(f"no finding {at!r}: it has {ids or 'none'}")
        return self._all[at]

    def __contains__(self, one: object) -> bool:
        return any(finding.id == one or finding == one for finding in self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._all)

    def __repr__(self) -> str:
        return "\n".join(f"{one.verdict:<14} {one.id}  {one.says}" for one in self._all) or "no findings"

    def _repr_html_(self) -> str:
        if not self._all:
            return "<p>no findings</p>"
        rows = "".join(
            f"<tr><td>{html.escape(one.verdict.replace('_', ' '))}</td><td>{html.escape(one.id)}</td>"
            f"<td>{html.escape(one.says)}</td><td>{html.escape(one.reason)}</td></tr>"
            for one in self._all
        )
        return f"<table><thead><tr><th>verdict</th><th>id</th><th>claim</th><th>reason</th></tr></thead><tbody>{rows}</tbody></table>"


class Picture:
    """A figure as it is printed: drawn without a browser, shown by notebooks, saved for papers."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._svg: str | None = None

    @property
    def svg(self) -> str:
        """As SVG."""
        if self._svg is None:
            self._svg = self._report()
        return self._svg

    def save(self, file: str | os.PathLike[str]) -> None:
        """To a file that ends in `.svg`, `.png`, `.pdf`, or `.json` (Vega-Lite with its data)."""
        self._report(f"--output={_arguments.path('file', file)}")

    def _report(self, *words: str) -> str:
        return _program.call("report", f"--figure={self._name}", *words, "--", str(self._folder)).printed

    def __repr__(self) -> str:
        return f"<delaylab.Picture {self._name} of {self._folder}>"

    def _repr_svg_(self) -> str:
        return self.svg


class Run:
    """A run on disk. Every file was checked against what was recorded when it was opened; where nothing says what that was, since a
    run of an older version has no `manifest.json` or it was moved away, `problems` says so."""

    def __init__(self, native: _delaylab.Stored) -> None:
        self._native = native

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process it is opened again."""
        return open, (str(self.folder),)

    @property
    def folder(self) -> Path:
        """Where it is."""
        return self._native.folder

    @property
    def name(self) -> str | None:
        """The experiment's name."""
        return self._native.name

    @property
    def world(self) -> str | None:
        """`live`, `testbed` or `sim`."""
        return self._native.world

    @property
    def started_utc(self) -> str | None:
        """When it began, in UTC by RFC 3339, with up to nine digits of the second: `2026-11-21T13:45:00.435704692Z`."""
        return self._native.started_utc

    @property
    def complete(self) -> bool:
        """Did it come to its end? Else `delaylab resume` continues it."""
        return self._native.complete

    @property
    def experiment(self) -> str | None:
        """The experiment file, as resolved."""
        return self._native.experiment

    @property
    def environment(self) -> dict[str, Any]:
        """Host, versions, and how the run was asked for."""
        read: dict[str, Any] = json.loads(self._native.environment)
        return read

    @property
    def findings(self) -> Findings:
        """What the run says of each claim of its experiment."""
        judged = json.loads(self._native.findings or "[]")
        fields = [field.name for field in dataclasses.fields(Finding)]
        return Findings(Finding(**{name: one[name] for name in fields}) for one in judged)

    @property
    def problems(self) -> list[str]:
        """What to know before trusting its figures."""
        return self._native.problems()

    @property
    def tables(self) -> list[str]:
        """The tables that were recorded."""
        return self._native.tables

    def table(self, name: str, columns: str | Sequence[str] = ()) -> Table:
        """A table that was recorded, or this column or these columns of it, in this order."""
        wanted = _arguments.names("columns", columns)
        try:
            native = self._native.table(_arguments.text("name", name), wanted)
            return Table(native, (Run.table, self, name, wanted))
        except UsageError as error:
            unknown = str(error).endswith(f"no table `{name}`")
            raise UsageError(f"{error}: it has {', '.join(self.tables)}" if unknown else str(error)) from None

    def records(self, columns: str | Sequence[str] = ()) -> Table:
        """A row for each packet: every stamp in nanoseconds of the measuring clock, and how it ended."""
        return self.table("records", columns)

    def trials(self) -> Table:
        """A row for each trial and probe: its levels, and the figures of its summary.

        Counts (`sent`, `lost`) and times between stamps (`…_min_ns`, quantiles, `…_max_ns`, `span_ns`) are integers, means and
        standard deviations are floats; null where there is none.
        """
        return self.table("trials")

    def summary(self, by: str | Sequence[str] | None = None) -> Table:
        """Loss, median and p99 of each delay, and the network's and the hosts' part of the median response, in nanoseconds.

        The columns are the same for every run, null where there is no value: `response_…` from when a packet was due, and
        `network_ns` and `host_ns`, its parts; `round_trip_…` from when it was sent; `delay_…` of rows of a tester's frames,
        which go one way and have neither of the two. A row that has both frames and packets that come back has none of them: give
        `by="probe"`, too.

        A row for each combination of levels; with `by`, of the levels of this factor or these (or `"probe"`), and what else was
        varied is taken together.
        """
        wanted = None if by is None else _arguments.names("by", by)
        return Table(self._native.summary(wanted), (Run.summary, self, wanted))

    @property
    def figures(self) -> dict[str, str]:
        """The figures that have something to show of the run, by name: the heading of each."""
        return {name: title for name, title, _ in self._native.figures()}

    def specification(self, figure: str) -> dict[str, Any]:
        """The Vega-Lite specification of a figure, with its data."""
        read: dict[str, Any] = json.loads(self._native.figure(_arguments.text("figure", figure)))
        return read

    def figure(self, name: str) -> altair.TopLevelMixin:
        """A figure as a chart of Altair, from the same specification as in reports."""
        _needed("altair", "pip install delaylab[figures]")
        import altair

        chart: altair.TopLevelMixin = altair.Chart.from_dict(self.specification(name))
        return chart

    def picture(self, name: str) -> Picture:
        """A figure as an image: what `delaylab report --figure` writes."""
        # A name that is none is refused now, and not when it is shown.
        self._native.figure(_arguments.text("name", name))
        return Picture(self.folder, name)

    def explain(self, baseline: str | os.PathLike[str] | Run | None = None) -> Answer:
        """What is slow and why packets were late, against the best combination, another run, or `"idle"`.

        A name is that of a run in the folder in which this one is.
        """
        words = [f"--runs={self.folder.parent}"]
        if baseline is not None:
            against = baseline.folder if isinstance(baseline, Run) else baseline
            words += [f"--baseline={_arguments.path_or_name('baseline', against, 'a run, its folder or its name, or text: idle')}"]
        words += ["--", str(self.folder)]
        return Answer(*_program.document_and_text("explain", *words))

    def calibrate(self) -> Calibration:
        """The measured path as a model, whose changes can be predicted. Raises `ModelError` where none can be made."""
        return Calibration(str(self.folder))

    def report(self, output: str | os.PathLike[str] | None = None) -> Path:
        """Writes the page of the run, into its folder or to a file: where it is. What the procedure of a device benchmark found goes
        with it, as in `delaylab report`."""
        page = None if output is None else Path(_arguments.path("output", output))
        _program.call("report", *([] if page is None else [f"--output={page}"]), "--", str(self.folder))
        return self.folder / "report.html" if page is None else page

    def __repr__(self) -> str:
        return f"<delaylab.Run {self.folder}>"

    def _repr_html_(self) -> str:
        head = f"{self.name} ({self.world}), {self.started_utc or 'undated'}"
        problems = "".join(f"<li>{html.escape(one)}</li>" for one in self.problems)
        listed = f"<ul>{problems}</ul>" if problems else ""
        found = self.findings._repr_html_() if self.findings else ""
        return f"<p><b>{html.escape(head)}</b></p>{self.summary()._repr_html_()}{found}{listed}"


def open(run: str | os.PathLike[str], runs: str | os.PathLike[str] = "runs") -> Run:
    """Opens a run: a folder, the name of one in `runs`, or `"latest"`.

    Raises `EnvironmentFault` where a file is not what was recorded. A run that has nothing to say what that was is opened with a
    `RunWarning`.
    """
    named = _arguments.path_or_name("run", run, "a folder, or the name of a run")
    opened = _delaylab.Stored.open(named, _arguments.path("runs", runs))
    warn([opened.unchecked] if opened.unchecked else [])
    return Run(opened)


def recorded(folder: str | os.PathLike[str], said: Iterable[str]) -> Run:
    """Opens the run that a function which the user called has recorded, and warns of what to know before trusting it: of what was
    said meanwhile, and of what the run says, which puts together what its trials warn of."""
    run = open(folder)
    warn(f"{run.folder.name}: {warning}" for warning in [*run._native.others([*said]), *run.problems])
    return run
