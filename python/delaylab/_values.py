"""Values of Python as the program and experiment files write them."""

from __future__ import annotations

import datetime
import json
import numbers
import os
import re
from collections.abc import Set
from typing import Any, Iterable, Mapping

from ._arguments import is_utf8
from .errors import UsageError


def duration(value: datetime.timedelta) -> str:
    """
    >>> duration(datetime.timedelta(milliseconds=10)), duration(datetime.timedelta(seconds=1.5))
    ('10ms', '1500ms')
    """
    # One of pandas is a timedelta that has nanoseconds, too.
    within = getattr(value, "nanoseconds", 0)
    return _of_nanoseconds(value // datetime.timedelta(microseconds=1) * 1000 + within)


def _of_nanoseconds(nanoseconds: int) -> str:
    for unit, length in (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)):
        if nanoseconds % length == 0:
            return f"{nanoseconds // length}{unit}"
    return f"{nanoseconds}ns"


def literal(value: Any) -> str:
    """A value as `--set` takes it.

    >>> literal("64KiB"), literal(4), literal(True), literal(["64B", 128]), literal(range(3))
    ('64KiB', '4', 'true', '["64B", 128]', '[0, 1, 2]')
    """
    # A path is text, also where it looks like a number.
    written = value if isinstance(value, str) else _nested(value)
    if not is_utf8(written):
        raise UsageError(f"{value!r} is no value of an experiment: it is not UTF-8")
    return written


def _nested(value: Any) -> str:
    value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.timedelta):
        return f'"{duration(value)}"'
    if isinstance(value, (str, os.PathLike)):
        return _quoted(os.fspath(value))
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return _number(float(value))
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {_nested(one)}" for key, one in value.items())
        return "{ " + pairs + " }"
    if isinstance(value, (Set, bytes)) or not isinstance(value, Iterable):
        raise UsageError(
            f"{value!r} is no value of an experiment: text with a unit, a number, a truth value, a timedelta, or a list, "
            "a range, an array or a dict of these"
        )
    return "[" + ", ".join(_nested(one) for one in value) + "]"


def plain(value: Any) -> Any:
    """A scalar of numpy as Python's own, a duration of it as text."""
    if getattr(value, "shape", None) != () or not hasattr(value, "item"):
        return value
    plain = value.item()
    if value.dtype.kind != "m":
        return plain
    if plain is None:
        raise UsageError(f"{value!r} is no value of an experiment: it is no time at all")
    return _of_nanoseconds(int(value.astype("timedelta64[ns]").astype("int64")))


def _number(value: float) -> str:
    """What is whole is written so: a count may have been computed as a float.

    >>> _number(2.0), _number(0.5), _number(1e22)
    ('2', '0.5', '1e+22')
    """
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def _key(key: Any) -> str:
    """
    >>> _key("every"), _key("a b")
    ('every', '"a b"')
    """
    if not isinstance(key, str):
        raise UsageError(f"{key!r} is no name of a value: give text")
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else _quoted(key)


def _quoted(text: str) -> str:
    """Text of TOML, whose escapes are those of JSON.

    >>> print(_quoted('a "b"'), _quoted("two\\nlines"))
    "a \\"b\\"" "two\\nlines"
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def flags(options: Mapping[str, Any]) -> list[str]:
    """Keyword arguments as flags of the program.

    >>> flags({"count": 10, "pattern": "-1", "no_stamps": True, "size": None, "set": ["a=1", "b=2"], "class_": "ef"})
    ['--count=10', '--pattern=-1', '--no-stamps', '--set=a=1', '--set=b=2', '--class=ef']
    """
    words: list[str] = []
    for name, given in options.items():
        # What is a word of Python has a `_` behind it.
        flag = "--" + name.removesuffix("_").replace("_", "-")
        for value in _several(given):
            value = plain(value)
            if value is True:
                words.append(flag)
            elif value is not None and value is not False:
                words.append(f"{flag}={_word(value)}")
    return words


def _several(given: Any) -> Iterable[Any]:
    given = plain(given)
    one = isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable)
    return [given] if one else given


def _word(value: Any) -> str:
    """
    >>> _word(1e4), _word(0.5), _word(datetime.timedelta(milliseconds=3))
    ('10000', '0.5', '3ms')
    """
    if isinstance(value, datetime.timedelta):
        return duration(value)
    return _number(value) if isinstance(value, float) else str(value)
