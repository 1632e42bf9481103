"""What can go wrong, with the sentence that the program would print: what it is, and what to do about it."""


class DelaylabError(Exception):
    """Any error of delaylab."""


class UsageError(DelaylabError):
    """What was asked for cannot be done (exit code 2 of the program)."""


class UnreachableError(DelaylabError):
    """The target cannot be reached, did not answer, or a condition that was asked for has failed (exit code 1)."""


class EnvironmentFault(DelaylabError):
    """This host lacks something: a privilege, a program, room on disk (exit code 3)."""


class InternalFault(DelaylabError):
    """A fault of delaylab's own (exit code 4)."""


class ClusterError(DelaylabError):
    """A cluster did not carry out what it was given. What it did carry out is kept."""
