"""Values of Python as the program and experiment files write them."""

from __future__ import annotations

import datetime
from typing import Any, Iterable, Mapping

from .errors import UsageError


def duration(value: datetime.timedelta) -> str:
    """
    >>> duration(datetime.timedelta(milliseconds=10)), duration(datetime.timedelta(seconds=1.5))
    ('10ms', '1500ms')
    """
    microseconds = value // datetime.timedelta(microseconds=1)
    for unit, length in (("s", 1_000_000), ("ms", 1_000)):
        if microseconds % length == 0:
            return f"{microseconds // length}{unit}"
    return f"{microseconds}us"


def literal(value: Any) -> str:
    """A value as `--set` takes it.

    >>> literal("64KiB"), literal(4), literal(True), literal(["64B", 128])
    ('64KiB', '4', 'true', '["64B", 128]')
    """
    if isinstance(value, str):
        return value
    return _nested(value)


def _nested(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.timedelta):
        return f'"{duration(value)}"'
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{key} = {_nested(one)}" for key, one in value.items())
        return "{ " + pairs + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_nested(one) for one in value) + "]"
    raise UsageError(
        f"{value!r} is no value of an experiment: text with a unit, a number, a truth value, a timedelta, or a list or dict of these"
    )


def flags(options: Mapping[str, Any]) -> list[str]:
    """Keyword arguments as flags of the program.

    >>> flags({"count": 10, "interval": "10ms", "no_stamps": True, "size": None, "set": ["a=1", "b=2"]})
    ['--count', '10', '--interval', '10ms', '--no-stamps', '--set', 'a=1', '--set', 'b=2']
    """
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            text = duration(one) if isinstance(one, datetime.timedelta) else str(one)
            words += [flag, text]
    return words


def names(value: str | Iterable[str]) -> list[str]:
    """One name or several, each once.

    >>> names("trial"), names(["size", "load", "size"])
    (['trial'], ['size', 'load'])
    """
    return [value] if isinstance(value, str) else list(dict.fromkeys(value))
