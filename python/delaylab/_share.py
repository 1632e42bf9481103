"""What a worker of a cluster carries out. It is sent by its name: workers have the package installed."""

from __future__ import annotations

import shutil
import socket
import tempfile
from typing import Any

from . import _delaylab
from ._places import Place, new_folder
from .errors import ClusterError, DelaylabError


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
        folder = place.folder
        scratch = new_folder("share", folder) if folder else tempfile.mkdtemp(prefix="share-")
        left = place.leave(_delaylab.carry_out_share(toml, set(trials), scratch, 1))
        # Unless it was removed meanwhile, with all that is in it, and made again by what was written.
        stays = folder is not None and place.folder == folder
        return left
    except DelaylabError as error:
        raise type(error)(f"worker {host}: {error}") from None
    except OSError as error:
        raise ClusterError(f"worker {host}: {error}") from None
    finally:
        if scratch is not None and not stays:
            shutil.rmtree(scratch, ignore_errors=True)
