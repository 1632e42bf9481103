"""A laboratory for network delay: measure it, divide it into stages, attribute it to causes, simulate it.

>>> import delaylab as dl
>>> experiment = dl.Experiment.load("wait-time-jitter")
>>> experiment.title
'Variation of the response time against the wait between packets'

| call | does |
|---|---|
| `run` | carries an experiment out: simulations in this process, live paths and testbeds by the program |
| `ping` | probes a target, and returns the run of it |
| `open` | opens a run on disk |
| `resume` | continues a run that was interrupted |
| `merge` | makes one run of shards |
| `sweep` | carries a simulation out on a cluster: Dask, Ray, or an executor of `concurrent.futures` |
| `compare` | says what changed between two runs |
| `list_experiments` | the catalogue |

Names, units and defaults are those of experiment files and of JSON documents. Times in tables are integers of
nanoseconds, and only means and standard deviations are floats; arguments take `datetime.timedelta` or text with a
unit, as in `"10ms"`. Errors are exceptions of `delaylab.errors`, with the sentence that the program would print; an
argument of the wrong type is a `TypeError`, and what to know before trusting a run that was just recorded is a
`RunWarning`.
"""

from ._delaylab import version as _version
from .answers import Answer, Calibration
from .commands import compare, merge, ping, resume
from .errors import (
    ClusterError,
    ConditionError,
    DelaylabError,
    EnvironmentFault,
    InternalFault,
    ModelError,
    RunWarning,
    UnreachableError,
    UsageError,
)
from .experiment import Experiment, list_experiments, run
from .runs import Finding, Findings, Picture, Run, Table

# Not in `__all__`: `from delaylab import *` leaves that of Python.
from .runs import open as open
from .sweeps import sweep

__version__ = _version()

__all__ = [
    "Answer",
    "Calibration",
    "ClusterError",
    "ConditionError",
    "DelaylabError",
    "EnvironmentFault",
    "Experiment",
    "Finding",
    "Findings",
    "InternalFault",
    "ModelError",
    "Picture",
    "Run",
    "RunWarning",
    "Table",
    "UnreachableError",
    "UsageError",
    "__version__",
    "compare",
    "list_experiments",
    "merge",
    "ping",
    "resume",
    "run",
    "sweep",
]
