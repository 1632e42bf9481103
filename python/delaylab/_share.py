"""What a worker of a cluster carries out. It is sent by its name: workers have the package installed."""

from __future__ import annotations

import io
import os
import shutil
import socket
import tempfile
import zipfile
from pathlib import Path

from . import _delaylab
from .errors import ClusterError, DelaylabError


def carry_out(toml: str, trials: list[int], version: str, shared: str | None) -> bytes | str:
    """These trials of the experiment: packed, or where they are in the `shared` folder.

    Each call has a folder of its own: what a worker left that was lost on the way is nothing to the next one.
    """
    host = socket.gethostname()
    if version != _delaylab.version():
        raise ClusterError(
            f"worker {host} has delaylab {_delaylab.version()}, and the sweep is of {version}: "
            "simulations of two versions are not one run. Install the same on each worker"
        )
    scratch = tempfile.mkdtemp(prefix="share-", dir=shared)
    try:
        run = _delaylab.carry_out_share(toml, set(trials), scratch, 1)
        if shared is not None:
            return str(run)
        return _packed(run)
    except DelaylabError as error:
        shutil.rmtree(scratch, ignore_errors=True)
        raise type(error)(f"worker {host}: {error}") from None
    except OSError as error:
        raise ClusterError(f"worker {host}: {error}") from None
    finally:
        if shared is None:
            shutil.rmtree(scratch, ignore_errors=True)


def _packed(run: Path) -> bytes:
    """The files of a run. They are compressed already."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for folder, _, names in os.walk(run):
            for name in names:
                path = Path(folder) / name
                archive.write(path, path.relative_to(run))
    return packed.getvalue()


def unpack(packed: bytes, folder: Path) -> Path:
    """The unfinished run that was packed, in this folder."""
    run = Path(tempfile.mkdtemp(suffix=".partial", dir=folder))
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(run)
    return run
