"""What to know before trusting a run, as warnings of Python."""

from __future__ import annotations

import sys
import warnings
from typing import Iterable

from .errors import RunWarning


def warn(sentences: Iterable[str]) -> None:
    """Each once, at the line of the user: the first that is not of this package."""
    level = 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        frame = frame.f_back
        level += 1
    for sentence in dict.fromkeys(sentences):
        warnings.warn(sentence, RunWarning, stacklevel=level)
