"""Commands of the program that return runs or answers."""

from __future__ import annotations

import os
import re
from typing import Any

from . import _program
from ._values import flags
from .answers import Answer
from .errors import UnreachableError
from .runs import Run
from .runs import open as open_run

_SAVED = re.compile(r"^saved in (.*): see `", re.MULTILINE)
# Options of `ping` that have no long name.
_SHORT = {"ipv4": "-4", "ipv6": "-6"}


def ping(target: str, *, output: str | os.PathLike[str] = "runs", **options: Any) -> Run:
    """Probes a target: an address, a name, or a URL such as `https://example.org/`. Returns the run of it.

    Every option of `delaylab ping` is an argument, with `_` for `-`: `method="udp"`, `count=1000`, `interval="10ms"`,
    `load="up"`, `fresh=True`. Without `count` or `duration` it sends ten packets.

    A target that does not answer is a run with losses.
    """
    if not {"count", "duration"} & options.keys():
        options["count"] = 10
    short = [flag for name, flag in _SHORT.items() if options.pop(name, False)]
    words = [target, "--quiet", "--save", os.fspath(output), *short, *flags(options)]
    _, said = _program.call("ping", *words, failing=True)
    saved = _SAVED.search(said)
    if saved is None:
        raise UnreachableError(said.strip().removeprefix("delaylab: ") or f"{target} did not answer")
    return open_run(saved[1])


def compare(
    first: Run | str | os.PathLike[str], second: Run | str | os.PathLike[str], **options: Any
) -> Answer:
    """What changed from the first run to the second, by how much, and how certain that is.

    Options are those of `delaylab compare`: `measure="response"`, `fail_if="p99(response) > +10%"`. A condition that
    failed is in the answer.
    """
    folders = [str(one.folder) if isinstance(one, Run) else os.fspath(one) for one in (first, second)]
    return Answer(["compare", *folders, *flags(options)], failing=True)
