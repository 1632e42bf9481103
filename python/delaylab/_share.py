"""What a worker of a cluster carries out. It is sent by its name: workers have the package installed."""

from __future__ import annotations

import contextlib
import shutil
import socket
import sys
import tempfile
import time
from typing import Any

from . import _delaylab
from ._places import Place, new_folder
from .errors import ClusterError, DelaylabError, EnvironmentFault

# How often it is asked, in seconds: each worker asks, and a store counts what it is asked.
_ASK_EVERY = 5.0


def carry_out(toml: str, trials: list[int], version: str, place: Place) -> Any:
    """Carries these trials of the experiment out, and leaves them at the place.

    Each call has a folder of its own: what a worker left that was lost on the way is nothing to the next one.
    """
    host = socket.gethostname()
    if version != _delaylab.version():
        raise ClusterError(
            f"worker {host} has delaylab {_delaylab.version()}, and the sweep is of {version}: "
            "simulations of two versions are not one run. Install the same on each worker"
        )
    scratch = None
    stays = False
    try:
        _unless_over(place)
        folder = place.folder
        scratch = new_folder("share", folder) if folder else tempfile.mkdtemp(prefix="share-")
        run = _delaylab.carry_out_share(toml, set(trials), scratch, 1, _Watched(place))
        _unless_over(place)
        left = place.leave(run)
        stays = folder is not None
        return left
    except DelaylabError as error:
        raise type(error)(f"worker {host}: {error}") from None
    except OSError as error:
        raise ClusterError(f"worker {host}: {error}") from None
    finally:
        if scratch is not None and not stays:
            shutil.rmtree(scratch, ignore_errors=True)


def _unless_over(place: Place) -> None:
    if _is_cancelled() or place.is_over():
        raise ClusterError("the sweep has ended, or this worker does not see its place: nothing waits for this share")


def _is_cancelled() -> bool:
    """Dask does not interrupt what is cancelled. Its worker knows."""
    distributed: Any = sys.modules.get("distributed")
    try:
        worker = distributed.get_worker()
        return bool(worker.state.tasks[worker.get_current_task()].state == "cancelled")
    except Exception:  # no worker of Dask, or of a version that knows it by another name
        return False


class _Watched:
    """Ends a share after a trial once nothing waits for it. It is called with how many trials are done, of how many."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._asked = time.monotonic()

    def __call__(self, done: int, of: int) -> None:
        if time.monotonic() - self._asked < _ASK_EVERY:
            return
        self._asked = time.monotonic()
        # What is not in reach now may be there again once there is something to leave.
        with contextlib.suppress(EnvironmentFault):
            _unless_over(self._place)
