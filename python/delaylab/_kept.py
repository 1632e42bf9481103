"""What a run that was stopped leaves, and how to go on with it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import sys
from pathlib import Path
from typing import Iterator

from .errors import DelaylabError


def with_remedy(message: str, kept: Path) -> str:
    """
    >>> with_remedy("a worker died.", Path("runs/a.partial"))
    'a worker died. What was recorded is in runs/a.partial: `delaylab resume runs/a.partial` goes on with it'
    >>> with_remedy("stopped", Path("my runs/a.partial"))
    "stopped. What was recorded is in my runs/a.partial: `delaylab resume 'my runs/a.partial'` goes on with it"
    """
    resume = f"delaylab resume {shlex.quote(str(kept))}"
    return f"{message.rstrip('.')}. What was recorded is in {kept}: `{resume}` goes on with it"


def say_stopped(kept: Path) -> None:
    """Says it on standard error: exceptions that are not ours, such as KeyboardInterrupt, say nothing of it."""
    print(f"delaylab: {with_remedy('stopped', kept)}", file=sys.stderr)


@contextlib.contextmanager
def said(output: str, name: str) -> Iterator[None]:
    """Whatever ends it: where the run of this experiment is that was begun in `output`."""
    before = _stopped(output, name)
    try:
        yield
    except DelaylabError as error:
        for kept in _stopped(output, name) - before:
            raise type(error)(with_remedy(str(error), kept)) from error
        raise
    except BaseException:
        for kept in _stopped(output, name) - before:
            say_stopped(kept)
        raise


def _stopped(output: str, name: str) -> set[Path]:
    """Unfinished runs of this experiment that nothing is writing to."""
    return {folder for folder in Path(output).glob(f"{name}-*.partial") if _is_free(folder)}


def _is_free(folder: Path) -> bool:
    """Whatever writes to a run has its folder locked."""
    try:
        opened = os.open(folder, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(opened)
