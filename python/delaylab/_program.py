"""The program `delaylab`, for what needs privileges, real time, or prints documents."""

import functools
import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple

from . import _delaylab
from ._warnings import warn
from .errors import (
    DelaylabError,
    EnvironmentFault,
    InternalFault,
    ModelError,
    UnreachableError,
    UsageError,
)

_BY_EXIT_CODE: dict[int, type[DelaylabError]] = {
    2: UsageError,
    3: EnvironmentFault,
    4: InternalFault,
}
# Exit code 1: what was asked for has no result, which is another thing with each command.
_WITHOUT_RESULT: dict[str, type[DelaylabError]] = {
    "calibrate": ModelError,
    "predict": ModelError,
}

# Seconds: a program that got Ctrl-C waits for replies for one, and puts away what it recorded.
_ENDS_WITHIN = 3


def program() -> str:
    """Where the program is: what `DELAYLAB` says, else what was installed with the package, else the first in PATH."""
    said = os.environ.get("DELAYLAB")
    if said:
        return said
    own = next((str(path) for path in _installed() if path.is_file()), None)
    found = own or shutil.which("delaylab")
    if found is None:
        raise EnvironmentFault(
            "the program `delaylab` is not there: install the package with pip, which brings it, or set DELAYLAB to where it is"
        )
    wanted = f"delaylab {_delaylab.version()}"
    version = _version(found)
    if version not in (None, wanted):
        raise EnvironmentFault(
            f"the program {found} is {version}, and the package is of {wanted}: install both of one version, or set DELAYLAB to "
            "where a program is"
        )
    return found


def _installed() -> Iterator[Path]:
    """Where pip puts it: in the environment or the user's folder, or with `--target` next to the package."""
    try:
        files = importlib.metadata.files("delaylab") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    yield from (Path(str(file.locate())) for file in files if file.name == "delaylab")
    yield Path(__file__).parents[1] / "bin" / "delaylab"
    yield Path(sysconfig.get_path("scripts")) / "delaylab"


@functools.lru_cache
def _version(program: str) -> str | None:
    """What it says that it is; None where it cannot be run, which is said when it is."""
    try:
        said = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8")
    except OSError:
        return None
    return said.stdout.strip()


class Ended(NamedTuple):
    """How a command ended."""

    printed: str
    """What it printed."""
    said: str
    """What it said on standard error."""
    code: int
    """Its exit code."""

    @property
    def warnings(self) -> list[str]:
        """What it warned of."""
        return [line.removeprefix("warning: ") for line in self.said.split("\n") if line.startswith("warning: ")]

    @property
    def reasons(self) -> list[str]:
        """Why it failed: a reason a line, behind all that it said before."""
        _, found, reasons = f"\n{self.said.strip()}".rpartition("\ndelaylab: ")
        return reasons.split("\n") if found and self.code != 0 else []


def error(command: str, ended: Ended) -> DelaylabError:
    """The exception for how a command failed."""
    code = ended.code
    text = "\n".join(ended.reasons) or ended.said.strip()
    kind = _WITHOUT_RESULT.get(command, UnreachableError) if code == 1 else _BY_EXIT_CODE.get(code, InternalFault)
    return kind(text or f"delaylab ended with {code}")


def call(
    *words: str, on_line: Callable[[str], None] | None = None, failing: bool = False
) -> Ended:
    """Runs `delaylab WORDS`, to its end.

    `on_line` is handed each line that it prints as it comes. `failing`: exit code 1 is an answer and no error. Ctrl-C
    reaches the program of the call that it interrupts, and no other one: that ends in good order; what it said then, such
    as where its records are, is said here, and KeyboardInterrupt is raised.
    """
    # It ends with this process, however that ends.
    environment = dict(os.environ, NO_COLOR="1", COLUMNS="100", DELAYLAB_PARENT=str(os.getpid()))
    path = program()
    try:
        process = subprocess.Popen(
            [path, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env=environment,
            # Notebooks and terminals send Ctrl-C to the whole process group of Python, while Python raises it in its main thread
            # alone: other threads may wait for programs of their own.
            start_new_session=True,
        )
    except OSError as cannot:
        raise EnvironmentFault(
            f"the program {path} cannot be run: {cannot.strerror}. Set DELAYLAB to where `delaylab` is, or unset it to use "
            "the one of this Python environment"
        ) from cannot
    assert process.stdout is not None and process.stderr is not None
    lines: list[str] = []
    said: list[str] = []
    # One pipe is read here and the other there: neither fills up.
    stderr = process.stderr
    reader = threading.Thread(target=lambda: said.append(stderr.read()), daemon=True)
    with process:
        try:
            reader.start()
            for line in process.stdout:
                lines.append(line)
                if on_line is not None:
                    on_line(line)
            code = process.wait()
        except BaseException as raised:
            # It could not end while nothing reads what it prints.
            rest = threading.Thread(target=process.stdout.read, daemon=True)
            rest.start()
            _end(process, raised)
            rest.join()
            reader.join()
            print("".join(said), end="", file=sys.stderr)
            raise
        reader.join()
    ended = Ended("".join(lines), "".join(said), code)
    if code != 0 and not (failing and code == 1):
        raise error(words[0], ended)
    return ended


def record(
    command: str, words: list[str], progress: Callable[[int, int], object] | None, trials: int | None = None
) -> tuple[Path, list[str]]:
    """Runs a command that records a run: where that is, and what was said of it. `trials`: how many there are, where the program
    does not say how many are left."""
    done: set[int] = set()
    folders: list[str] = []

    def follow(line: str) -> None:
        document = json.loads(line)
        if document["kind"] in ("run", "shard"):
            folders.append(document["folder"])
        # A trial has a line for each probe.
        if progress is not None and document["kind"] == "trial" and document["trial"] not in done:
            done.add(document["trial"])
            left = document.get("remaining")
            progress(len(done), trials or len(done) if left is None else len(done) + left)

    ended = call(command, "--json", "--quiet", "--no-report", *words, on_line=follow, failing=True)
    if not folders:
        raise error(command, ended)
    # A run in which nothing was answered is one, and the program says so at its end.
    return Path(folders[0]), [*ended.warnings, *ended.reasons]


def _end(process: subprocess.Popen[str], raised: BaseException) -> None:
    """Ctrl-C asks it once, which lets it wait for replies: a second request would end that."""
    is_interrupt = isinstance(raised, KeyboardInterrupt)
    process.send_signal(signal.SIGINT if is_interrupt else signal.SIGTERM)
    try:
        process.wait(_ENDS_WITHIN if is_interrupt else None)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.terminate()
        process.wait()


def document_and_text(*words: str) -> tuple[dict[str, Any], str]:
    """The document that `delaylab WORDS --json` prints, and what a terminal would show, of the same execution. What the program
    warns of is a warning."""
    command, *others = words
    with tempfile.TemporaryDirectory() as scratch:
        text = Path(scratch) / "text"
        ended = call(command, "--json", f"--text-file={text}", *others)
        read: dict[str, Any] = json.loads(ended.printed)
        warn(ended.warnings)
        return read, text.read_text(encoding="utf-8")
