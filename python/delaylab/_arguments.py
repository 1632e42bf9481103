"""Arguments of the wrong type: refused by name before anything is done, with what is expected."""

from __future__ import annotations

import numbers
import os
import reprlib
import sys
from typing import Any, Iterable, Mapping

from .errors import UsageError


def wrong(name: str, value: object, expected: str) -> TypeError:
    """
    >>> wrong("seed", "7", "a whole number")
    TypeError("seed is '7': expected a whole number")
    """
    return TypeError(f"{name} is {reprlib.repr(value)}: expected {expected}")


def whole(name: str, value: Any) -> int:
    """A whole number, also one of numpy."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise wrong(name, value, "a whole number")
    return int(value)


def truth(name: str, value: Any) -> bool:
    """A truth value."""
    if not isinstance(value, bool):
        raise wrong(name, value, "True or False")
    return value


def text(name: str, value: Any) -> str:
    """Text."""
    if not isinstance(value, str):
        raise wrong(name, value, "text")
    if not is_utf8(value):
        raise UsageError(f"{name} is {value!r}, which is not UTF-8")
    return value


def path(name: str, value: Any, expected: str = "a path") -> str:
    """Text or a path. `~` is the user's folder, as in a shell.

    >>> path("output", "~/runs") == os.path.expanduser("~/runs"), path("output", "a~/runs")
    (True, 'a~/runs')
    """
    return os.path.expanduser(_path(name, value, expected))


def path_or_name(name: str, value: Any, expected: str) -> str:
    """The same, or a name, which may begin with anything.

    >>> path_or_name("run", "~/runs/a", "a run") == os.path.expanduser("~/runs/a"), path_or_name("run", "~", "a run")
    (True, '~')
    """
    named = _path(name, value, expected)
    return os.path.expanduser(named) if "/" in named else named


def _path(name: str, value: Any, expected: str) -> str:
    named = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(named, str):
        raise wrong(name, value, expected)
    if not is_utf8(named):
        raise UsageError(f"{name} is {named!r}, which is not UTF-8: rename it")
    return named


def is_utf8(text: str) -> bool:
    """Can it be encoded? The name of a file may have bytes that cannot.

    >>> is_utf8("é"), is_utf8("\\udce9")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def values(name: str, given: Any) -> Mapping[str, Any]:
    """Values by their paths."""
    if not isinstance(given, Mapping):
        raise wrong(name, given, 'a dict of values by their paths, as in {"design.repeats": 2}')
    return given


def names(name: str, given: str | Iterable[str]) -> list[str]:
    """One name or several, each once.

    >>> names("columns", "trial"), names("by", ["size", "load", "size"])
    (['trial'], ['size', 'load'])
    """
    several = [given] if isinstance(given, str) else given
    expected = "a name, or several"
    if not isinstance(several, Iterable):
        raise wrong(name, given, expected)
    listed = list(several)
    if not all(isinstance(one, str) for one in listed):
        raise wrong(name, given, expected)
    return list(dict.fromkeys(listed))


def progress(given: Any) -> None:
    """Refuses what cannot be called with how many trials are done, of how many."""
    if given is not None and not isinstance(given, bool) and not callable(given):
        raise wrong("progress", given, "a function of two numbers, or True for a bar")


def supplied() -> list[str]:
    """How this process was called, for the run's notes: its words may be anything, and there may be none."""
    return [str(word).encode(errors="replace").decode() for word in getattr(sys, "argv", [])]
