"""The program `delaylab`, for what needs privileges, real time, or prints documents."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable

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


def program() -> str:
    """Where the program is: what `DELAYLAB` says, else that of this Python environment, else the first in PATH."""
    said = os.environ.get("DELAYLAB")
    if said:
        return said
    own = Path(sysconfig.get_path("scripts")) / "delaylab"
    found = str(own) if own.is_file() else shutil.which("delaylab")
    if found is None:
        raise EnvironmentFault(
            "the program `delaylab` is not there: install the package with pip, which brings it, or set DELAYLAB to where it is"
        )
    return found


def error(command: str, code: int, message: str) -> DelaylabError:
    """The exception for how a command ended."""
    text = message.strip().removeprefix("delaylab: ")
    kind = _WITHOUT_RESULT.get(command, UnreachableError) if code == 1 else _BY_EXIT_CODE.get(code, InternalFault)
    return kind(text or f"delaylab ended with {code}")


def call(
    *words: str, on_line: Callable[[str], None] | None = None, failing: bool = False
) -> tuple[str, str]:
    """Runs `delaylab WORDS`: what it printed, and what it said on standard error.

    `on_line` is handed each line that it prints as it comes. `failing`: exit code 1 is an answer and no error. Ctrl-C
    reaches the program, which ends in good order; what it said then, such as where its records are, is said here, and
    KeyboardInterrupt is raised.
    """
    environment = dict(os.environ, NO_COLOR="1", COLUMNS="100")
    path = program()
    try:
        process = subprocess.Popen(
            [path, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
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
    reader.start()
    with process:
        try:
            for line in process.stdout:
                lines.append(line)
                if on_line is not None:
                    on_line(line)
            code = process.wait()
        except BaseException:
            # From a terminal it has got the signal, too; from anywhere else not.
            process.terminate()
            process.wait()
            reader.join()
            print("".join(said), end="", file=sys.stderr)
            raise
        reader.join()
    text = "".join(said)
    if code != 0 and not (failing and code == 1):
        raise error(words[0], code, text)
    return "".join(lines), text


def document(*words: str) -> dict[str, Any]:
    """The document that `delaylab WORDS --json` prints."""
    command, *others = words
    printed, _ = call(command, "--json", *others)
    read: dict[str, Any] = json.loads(printed)
    return read


def document_and_text(*words: str) -> tuple[dict[str, Any], str]:
    """The document that `delaylab WORDS --json` prints, and what a terminal would show, of the same execution."""
    command, *others = words
    with tempfile.TemporaryDirectory() as scratch:
        text = Path(scratch) / "text"
        read = document(command, f"--text-file={text}", *others)
        return read, text.read_text()


def warnings(said: str) -> list[str]:
    """What the program warned of on standard error."""
    return [line.removeprefix("warning: ") for line in said.splitlines() if line.startswith("warning: ")]
