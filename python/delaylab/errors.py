"""What can go wrong, with the sentence that the program would print: what it is, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .runs import Run


class DelaylabError(Exception):
    """Any error of delaylab. An argument of the wrong type is a `TypeError`, which names it."""


class UsageError(DelaylabError):
    """What was asked for cannot be done (exit code 2 of the program)."""


class UnreachableError(DelaylabError):
    """The target cannot be reached, or did not answer, and there is no run (exit code 1 of `ping` and `run`)."""


class ConditionError(DelaylabError):
    """A condition of `fail_if` holds (exit code 1 of `ping`). The run is recorded all the same: `run` is it."""

    def __init__(self, message: str, run: Run) -> None:
        super().__init__(message)
        self.run = run

    def __reduce__(self) -> tuple[type[ConditionError], tuple[str, Run]]:
        return type(self), (str(self), self.run)


class ModelError(DelaylabError):
    """No model can be made of a run (exit code 1 of `calibrate` and `predict`)."""


class EnvironmentFault(DelaylabError):
    """This host lacks something: a privilege, a program, room on disk (exit code 3)."""


class InternalFault(DelaylabError):
    """A fault of delaylab's own (exit code 4)."""


class ClusterError(DelaylabError):
    """A cluster did not carry out what it was given. What it did carry out is kept."""


class RunWarning(UserWarning):
    """What to know before trusting a run that was just recorded, was opened without being checked, or of which something was asked.
    `run.problems` has it, too."""
