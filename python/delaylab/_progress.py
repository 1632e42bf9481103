"""How far something is, for people: by rich, by tqdm, or in a line on standard error."""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import Any, Callable, Iterator

Progress = Callable[[int, int], object]


def told(progress: Progress | bool | None) -> contextlib.AbstractContextManager[Progress | None]:
    """Whom to tell how many trials are done, of how many: the function that was given, or a bar where `True` was."""
    if isinstance(progress, bool):
        return _bar() if progress else contextlib.nullcontext()
    return contextlib.nullcontext(progress)


def _bar() -> contextlib.AbstractContextManager[Progress]:
    for name, bar in (("rich.progress", _by_rich), ("tqdm.auto", _by_tqdm)):
        try:
            return bar(importlib.import_module(name))
        except ImportError:
            continue
    return _by_line()


@contextlib.contextmanager
def _by_rich(rich: Any) -> Iterator[Progress]:
    columns = [rich.BarColumn(), rich.MofNCompleteColumn(), rich.TextColumn("trials"), rich.TimeRemainingColumn()]
    with rich.Progress(*columns) as bar:
        task = bar.add_task("trials", total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


@contextlib.contextmanager
def _by_tqdm(tqdm: Any) -> Iterator[Progress]:
    with tqdm.tqdm(unit="trial") as bar:

        def update(done: int, of: int) -> None:
            bar.total = of
            bar.update(done - bar.n)

        yield update


@contextlib.contextmanager
def _by_line() -> Iterator[Progress]:
    def update(done: int, of: int) -> None:
        print(f"\r{done} of {of} trials", end="", file=sys.stderr, flush=True)

    try:
        yield update
    finally:
        print(file=sys.stderr)
