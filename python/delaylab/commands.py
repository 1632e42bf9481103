"""Commands of the program that return runs or answers."""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Iterable

from . import _arguments, _program
from ._options import Duration, Size, StrPath, Texts, of_the_program
from ._progress import Progress, told
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
_OWN_OF_RUNS = (*_OWN, "quiet", "verbose", "tui", "no_report")
_ENDS = ("--count=", "--duration=", "--load=")


@of_the_program(own=(*_OWN, "json_stream", "csv", "tui", "quiet", "verbose", "timestamps", "save"))
def ping(
    target: str,
    *,
    method: str | None = None,
    port: int | None = None,
    head: bool = False,
    http: float | str | None = None,
    fresh: bool = False,
    header: Texts | None = None,
    cacert: StrPath | None = None,
    insecure: bool = False,
    resolve: str | None = None,
    no_handshakes: bool = False,
    question: str | None = None,
    transport: str | None = None,
    tls_name: str | None = None,
    close: str | None = None,
    ipv4: bool = False,
    ipv6: bool = False,
    size: Size | None = None,
    ip_size: Size | None = None,
    reply_size: Size | None = None,
    class_: int | str | None = None,
    tos: int | str | None = None,
    ecn: int | str | None = None,
    ttl: int | None = None,
    pmtudisc: str | None = None,
    pattern: str | None = None,
    interface: str | None = None,
    key_file: StrPath | None = None,
    interval: Duration | None = None,
    poisson: Duration | None = None,
    burst: int | None = None,
    after_reply: Duration | None = None,
    count: int | None = None,
    duration: Duration | None = None,
    timeout: Duration | None = None,
    seed: int | None = None,
    allow_load: bool = False,
    load: Texts | None = None,
    load_server: str | None = None,
    load_port: int | None = None,
    wait_mode: str | None = None,
    stamps: str | None = None,
    condition: str | None = None,
    fail_if: Texts | None = None,
    output: StrPath = "runs",
) -> Run:
    """Probes a target: an address, a name, or a URL such as `https://example.org/`. Returns the run of it.

    Every option of `delaylab ping` is an argument, with `_` for `-`: `method="udp"`, `count=1000`, `interval="10ms"`,
    `load="up"`, `fresh=True`, and `class_="ef"`, since `class` is a word of Python; None is one that is not given. Without `count`, `duration` or `load` it sends ten packets.

    With ICMP and `tcp-connect` a target that does not answer is a run with losses. The other methods raise `UnreachableError`
    where no reflector or server answers when they begin. Where a condition of `fail_if` holds, `ConditionError` is raised,
    and has the run. What to know before trusting the run is a `RunWarning`.
    """
    options = dict(locals())
    for name in ("target", "output"):
        del options[name]
    short = [flag for name, flag in _SHORT.items() if options.pop(name)]
    words = flags(options)
    if not any(word.startswith(_ENDS) for word in words):
        words.append("--count=10")
    ended = _program.call("ping", "--quiet", f"--save={output}", *short, *words, "--", target, failing=True)
    saved = _SAVED.search(ended.said)
    if saved is None:
        raise _program.error("ping", ended)
    failed = [reason for reason in ended.reasons if reason.startswith("--fail-if ")]
    # Without a condition that holds they are why what was measured is not valid.
    run = recorded(saved[1], [*ended.warnings, *(one for one in ended.reasons if one not in failed)])
    if failed:
        raise ConditionError("\n".join(failed), run)
    return run


@of_the_program(own=_OWN_OF_RUNS)
def resume(
    run: Run | str | os.PathLike[str],
    *,
    port: int | None = None,
    key_file: StrPath | None = None,
    allow_load: bool = False,
    load_port: int | None = None,
    load_server: str | None = None,
    threads: int | None = None,
    output: StrPath = "runs",
    progress: Progress | bool | None = None,
) -> Run:
    """Continues a run that was interrupted, to its end: `delaylab resume`. Returns the run.

    `run` is its folder, which ends in `.partial`, or its name in `output`. Trials that are complete stay as they are, and the one that was interrupted is
    repeated; a ping, and a probe that runs until it is stopped, become a complete run of what they recorded. A key is to be
    given again. `progress` is that of `run`, of the trials that were left.
    """
    folder = _folder("run", run)
    _arguments.progress(progress)
    options = {
        "port": port,
        "key_file": key_file,
        "allow_load": allow_load,
        "load_port": load_port,
        "load_server": load_server,
        "threads": threads,
        "output": output,
    }
    with told(progress) as tell:
        made, said = _program.record("resume", [*flags(options), "--", folder], tell)
    return recorded(made, said)


@of_the_program(own=_OWN_OF_RUNS)
def merge(
    shards: Run | str | os.PathLike[str] | Iterable[Run | str | os.PathLike[str]],
    *,
    output: StrPath = "runs",
) -> Run:
    """Makes one run of the shards of an experiment (`delaylab run --shard`): `delaylab merge`. Returns the run.

    `shards` are their folders, which end in `.partial` and stay as they are, or their names in `output`.
    """
    several = [shards] if isinstance(shards, (Run, str, os.PathLike)) else shards
    if not isinstance(several, Iterable):
        raise _arguments.wrong("shards", shards, "folders or names of runs")
    folders = [_folder("shards", shard) for shard in several]
    return recorded(*_program.record("merge", [f"--output={output}", "--", *folders], None))


def _folder(name: str, run: Run | str | os.PathLike[str]) -> str:
    """The folder of a run, or its name."""
    return str(run.folder) if isinstance(run, Run) else _arguments.path_or_name(name, run, "a run, its folder or its name")


@of_the_program(own=_OWN)
def compare(
    first: Run | str | os.PathLike[str],
    second: Run | str | os.PathLike[str],
    *,
    runs: StrPath | None = None,
    fail_if: Texts | None = None,
    strict: bool = False,
    measure: Texts | None = None,
    output: StrPath | None = None,
) -> Answer:
    """What changed from the first run to the second, by how much, and how certain that is.

    Arguments are options of `delaylab compare`: `measure="response"`, `fail_if="p99(response) > +10%"`. A condition that
    failed is in the answer, under `conditions`, and no exception. A name is that of a run in the folder in which the other
    one is where that is a `Run`, unless `runs` says another folder.
    """
    for one in (first, second):
        if isinstance(one, Run) and runs is None:
            runs = one.folder.parent
    folders = [_folder("first", first), _folder("second", second)]
    words = ["compare", *flags({"runs": runs, "fail_if": fail_if, "strict": strict, "measure": measure})]
    with tempfile.TemporaryDirectory() as scratch:
        # One execution prints the answer for people and writes it for programs.
        document = Path(scratch) / "answer.json"
        ended = _program.call(*words, f"--output={document}", "--", *folders, failing=True)
        text = ended.printed.removesuffix(f"\n{document}\n")
        answer = Answer(json.loads(document.read_text(encoding="utf-8")), text)
    warn(ended.warnings)
    if output is not None:
        _program.call(*words, f"--output={output}", "--", *folders, failing=True)
    return answer
