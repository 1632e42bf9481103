"""Arguments that are options of the program: each is checked by the type that its function says, and errors name arguments."""

from __future__ import annotations

import datetime
import difflib
import functools
import inspect
import numbers
import os
import re
from typing import Any, Callable, Iterable, ParamSpec, TypeAlias, TypeVar, Union

from ._arguments import path, text, truth, wrong
from ._values import plain
from .errors import UsageError

Duration: TypeAlias = Union[str, datetime.timedelta]
Size: TypeAlias = str
StrPath: TypeAlias = Union[str, "os.PathLike[str]"]
Texts: TypeAlias = Union[str, Iterable[str]]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def of_the_program(own: Iterable[str] = ()) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Makes a function whose arguments are options of the program check them; `own` are options that the package gives itself."""

    def checked(function: Callable[_P, _R]) -> Callable[_P, _R]:
        signature = inspect.signature(function)
        known = signature.parameters

        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            for name in kwargs:
                if name.removesuffix("_") in own:
                    raise UsageError(f"`{name.removesuffix('_')}` is no argument here: the result is returned, and nothing is printed")
                if name not in known:
                    raise _unknown(function.__name__, name, known)
            bound = signature.bind(*args, **kwargs)
            for name, value in bound.arguments.items():
                bound.arguments[name] = _checked(name, value, known[name])
            try:
                return function(*bound.args, **bound.kwargs)
            except UsageError as error:
                raise UsageError(in_python(str(error), known)) from error

        return call

    return checked


def _unknown(function: str, name: str, known: Iterable[str]) -> TypeError:
    """
    >>> _unknown("ping", "cnt", ["count", "class_"])
    TypeError("ping() has no argument 'cnt': did you mean 'count'?")
    """
    near = difflib.get_close_matches(name, [*known], 1)
    meant = f": did you mean '{near[0]}'?" if near else ""
    return TypeError(f"{function}() has no argument '{name}'{meant}")


def _checked(name: str, value: Any, parameter: inspect.Parameter) -> Any:
    """None counts as not given, where an argument need not be."""
    check = _CHECKS.get(str(parameter.annotation))
    is_left_out = value is None and parameter.default in (None, False)
    return value if check is None or is_left_out else check(name, plain(value))


def _whole(name: str, value: Any) -> int:
    """A whole number, which may have been computed as a float.

    >>> _whole("count", 1e4)
    10000
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise wrong(name, value, "a whole number")
    return int(value)


def _number_or_text(name: str, value: Any) -> int | float | str:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise wrong(name, value, "text, or a number")
    return value


def _duration(name: str, value: Any) -> str | datetime.timedelta:
    if not isinstance(value, (str, datetime.timedelta)):
        raise wrong(name, value, "text with a unit, as in '10ms', or a timedelta")
    return value


def _size(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise wrong(name, value, "text with a unit, as in '64B'")
    return value


def _texts(name: str, value: Any) -> list[str]:
    """One text or several.

    >>> _texts("load", "up"), _texts("load", ("up", "down"))
    (['up'], ['up', 'down'])
    """
    if not isinstance(value, str) and not isinstance(value, Iterable):
        raise wrong(name, value, "text, or several")
    return [text(name, one) for one in ([value] if isinstance(value, str) else value)]


# By how functions of this package write a type.
_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "str": text,
    "str | None": text,
    "bool": truth,
    "int | None": _whole,
    "float | str | None": _number_or_text,
    "int | str | None": _number_or_text,
    "Duration | None": _duration,
    "Size | None": _size,
    "StrPath": path,
    "StrPath | None": path,
    "Texts | None": _texts,
}

_FLAG = re.compile(r"--([a-z][a-z-]*)(?![=a-z-])(?: <[^<>]+>)?(?:\.\.\.)?")


def in_python(said: str, known: Iterable[str]) -> str:
    """What the program says of its flags, with these arguments in their place; commands in backticks stay what they are.

    >>> in_python("error: invalid value '0s' for '--after-reply <TIME>': too short\\n\\nFor more information, try '--help'.", ["after_reply"])
    "invalid value '0s' for 'after_reply': too short"
    >>> in_python("--class: no; `delaylab reflect --class`", ["class_"])
    'class_: no; `delaylab reflect --class`'
    """
    arguments = {name.removesuffix("_").replace("_", "-"): name for name in known}
    said = re.split(r"\n+(?:Usage: |For more information, try )", said.removeprefix("error: "))[0]
    pieces = said.split("`")
    for at, piece in enumerate(pieces):
        is_command = at % 2 == 1 and piece.startswith("delaylab ")
        if not is_command:
            pieces[at] = _FLAG.sub(lambda flag: arguments.get(flag[1], flag[0]), piece)
    return "`".join(pieces)
