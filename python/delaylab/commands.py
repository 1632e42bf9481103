"""Commands of the program that return runs or answers."""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from . import _arguments, _program
from ._values import flags
from ._warnings import warn
from .answers import Answer
from .errors import ConditionError
from .runs import Run, recorded

_SAVED = re.compile(r"^saved in (.*): see `", re.MULTILINE)
# Options of `ping` that have no long name.
_SHORT = {"ipv4": "-4", "ipv6": "-6"}
# What prints something else than the answer, or where it goes.
_OWN = ("help", "version", "json")
_OWN_OF_PING = (*_OWN, "json_stream", "csv", "tui", "quiet", "verbose", "timestamps", "save")
_ENDS = ("--count=", "--duration=", "--load=")
_FILES_OF_PING = ("key_file", "cacert")


def ping(target: str, *, output: str | os.PathLike[str] = "runs", **options: Any) -> Run:
    """Probes a target: an address, a name, or a URL such as `https://example.org/`. Returns the run of it.

    Every option of `delaylab ping` is an argument, with `_` for `-`: `method="udp"`, `count=1000`, `interval="10ms"`,
    `load="up"`, `fresh=True`, and `class_="ef"`, since `class` is a word of Python; None is one that is not given. Without `count`, `duration` or `load` it sends ten packets.

    With ICMP and `tcp-connect` a target that does not answer is a run with losses. The other methods raise `UnreachableError`
    where no reflector or server answers when they begin. Where a condition of `fail_if` holds, `ConditionError` is raised,
    and has the run. What to know before trusting the run is a `RunWarning`.
    """
    _arguments.text("target", target)
    folder = _arguments.path("output", output)
    options.update((name, _arguments.path(name, options[name])) for name in _FILES_OF_PING if options.get(name) is not None)
    short = [flag for name, flag in _SHORT.items() if options.pop(name, None)]
    words = flags(options, own=_OWN_OF_PING)
    if not any(word.startswith(_ENDS) for word in words):
        words.append("--count=10")
    ended = _program.call("ping", "--quiet", f"--save={folder}", *short, *words, "--", target, failing=True)
    saved = _SAVED.search(ended.said)
    if saved is None:
        raise _program.error("ping", ended)
    failed = [reason for reason in ended.reasons if reason.startswith("failed: ")]
    # Without a failed condition they are why what was measured is not valid.
    run = recorded(saved[1], [*ended.warnings, *(one for one in ended.reasons if one not in failed)])
    if failed:
        raise ConditionError("\n".join(failed), run)
    return run


def compare(
    first: Run | str | os.PathLike[str], second: Run | str | os.PathLike[str], **options: Any
) -> Answer:
    """What changed from the first run to the second, by how much, and how certain that is.

    Options are those of `delaylab compare`: `measure="response"`, `fail_if="p99(response) > +10%"`. A condition that
    failed is in the answer, under `conditions`, and no exception. A name is that of a run in the folder in which the other
    one is where that is a `Run`, unless `runs` says another folder.
    """
    for one in (first, second):
        if isinstance(one, Run) and options.get("runs") is None:
            options["runs"] = one.folder.parent
    if options.get("runs") is not None:
        options["runs"] = _arguments.path("runs", options["runs"])
    named = {"first": first, "second": second}
    folders = [
        str(one.folder) if isinstance(one, Run) else _arguments.path_or_name(name, one, "a run, its folder or its name")
        for name, one in named.items()
    ]
    page = options.pop("output", None)
    words = ["compare", *flags(options, own=_OWN)]
    with tempfile.TemporaryDirectory() as scratch:
        # One execution prints the answer for people and writes it for programs.
        document = Path(scratch) / "answer.json"
        ended = _program.call(*words, f"--output={document}", "--", *folders, failing=True)
        text = ended.printed.removesuffix(f"\n{document}\n")
        answer = Answer(json.loads(document.read_text(encoding="utf-8")), text)
    warn(ended.warnings)
    if page is not None:
        _program.call(*words, f"--output={_arguments.path('output', page)}", "--", *folders, failing=True)
    return answer
