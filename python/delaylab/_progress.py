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
    for bar in (_by_rich, _by_tqdm):
        with contextlib.suppress(ImportError):
            return bar()
    return _by_line()


def _by_rich() -> contextlib.AbstractContextManager[Progress]:
    progress = importlib.import_module("rich.progress")
    if importlib.import_module("rich").get_console().is_jupyter:
        # Without it, rich draws nothing in a notebook; tqdm writes text there.
        importlib.import_module("ipywidgets")
    return _bar_of_rich(progress)


def _by_tqdm() -> contextlib.AbstractContextManager[Progress]:
    return _bar_of_tqdm(importlib.import_module("tqdm.auto"))


@contextlib.contextmanager
def _bar_of_rich(rich: Any) -> Iterator[Progress]:
    columns = [rich.BarColumn(), rich.MofNCompleteColumn(), rich.TextColumn("trials"), rich.TimeRemainingColumn()]
    with rich.Progress(*columns) as bar:
        task = bar.add_task("trials", total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


@contextlib.contextmanager
def _bar_of_tqdm(tqdm: Any) -> Iterator[Progress]:
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
