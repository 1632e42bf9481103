"""What a run that was stopped leaves, and how to go on with it."""

from __future__ import annotations

import contextlib
import shlex
import sys
from pathlib import Path
from typing import Iterable, Iterator

from .errors import DelaylabError


def with_remedy(message: str, kept: Path) -> str:
    """
    >>> with_remedy("a worker died.", Path("runs/a.partial"))
    'a worker died. What was recorded is in runs/a.partial: `delaylab resume runs/a.partial` continues it'
    >>> with_remedy("stopped", Path("my runs/a.partial"))
    "stopped. What was recorded is in my runs/a.partial: `delaylab resume 'my runs/a.partial'` continues it"
    """
    whole = kept.with_suffix("")
    if whole.exists() and not kept.exists():
        return f"{message.rstrip('.')}. The run is complete: it is in {whole}"
    resume = f"delaylab resume {shlex.quote(str(kept))}"
    return f"{message.rstrip('.')}. What was recorded is in {kept}: `{resume}` continues it"


@contextlib.contextmanager
def said(begun: Iterable[Path]) -> Iterator[None]:
    """Whatever ends it: where the run is that was begun, if one was.

    An error has it in its message. Exceptions that are not ours, such as KeyboardInterrupt, say nothing of it: then it is said on
    standard error.
    """
    try:
        yield
    except DelaylabError as error:
        for kept in begun:
            raise type(error)(with_remedy(str(error), kept)) from error
        raise
    except BaseException:
        for kept in begun:
            print(f"delaylab: {with_remedy('stopped', kept)}", file=sys.stderr)
        raise
