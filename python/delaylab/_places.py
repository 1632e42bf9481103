"""Where workers leave what they recorded: it travels through the cluster, or is in a folder or an object store that all see.
Workers on the machine of the process that calls `sweep` leave it in a folder there.

A place is made by the process that calls `sweep`, and goes with each share.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import tempfile
import uuid
from pathlib import Path
from typing import Any, Protocol

from . import _delaylab
from .errors import ClusterError, EnvironmentFault, UsageError


class Place(Protocol):
    """What a worker left is known by what `leave` returned, which is small or travels anyway."""

    @property
    def folder(self) -> str | None:
        """Where a worker carries its share out; its own temporary folder where it is None."""
        ...

    def leave(self, run: Path) -> Any:
        """A worker leaves the run of its share."""
        ...

    def take(self, left: Any, scratch: Path) -> Path:
        """The run that was left, in this process' `scratch` if it is not in reach. Who takes it removes it."""
        ...

    def beside(self, scratch: Path) -> Place:
        """The same place, where workers may also see this process' `scratch`."""
        ...

    def remove(self) -> None:
        """Whatever is there yet, such as what lost workers left."""
        ...


def place(shared: str | os.PathLike[str] | None) -> Place:
    """The place that `sweep(shared=…)` names."""
    if shared is None:
        return _Cluster()
    named = os.fspath(shared)
    return _Store(named) if "://" in named else _Folder(named)


def new_folder(name: str, within: str) -> str:
    """A folder that other users see as far as this process' umask lets them: that of `tempfile` is for one user alone."""
    folder = os.path.join(within, f"{name}-{uuid.uuid4().hex}")
    os.mkdir(folder)
    return folder


class _Cluster:
    def __init__(self, scratch: Path | None = None) -> None:
        self._scratch = scratch and scratch.absolute()
        self._known_by = self._scratch and _known_by(self._scratch)

    @property
    def folder(self) -> str | None:
        if self._scratch is None:
            return None
        try:
            is_here = _known_by(self._scratch) == self._known_by
        except OSError:
            return None
        return str(self._scratch) if is_here else None

    def leave(self, run: Path) -> bytes | str:
        is_here = self._scratch is not None and run.is_relative_to(self._scratch)
        return str(run) if is_here else _delaylab.pack(run)

    def take(self, left: bytes | str, scratch: Path) -> Path:
        return Path(left) if isinstance(left, str) else _unpacked(left, scratch)

    def beside(self, scratch: Path) -> Place:
        try:
            return _Cluster(scratch)
        except OSError:  # nothing here says which machine this is
            return self

    def remove(self) -> None:
        pass


def _known_by(folder: Path) -> tuple[object, ...]:
    """The same for two processes that see one folder of one machine as one user."""
    found = folder.stat()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    return boot, found.st_dev, found.st_ino, os.geteuid()


class _Folder:
    def __init__(self, shared: str) -> None:
        try:
            self.folder = new_folder("sweep", os.path.abspath(shared))
        except OSError as error:
            raise EnvironmentFault(
                f"`shared` {shared!r} cannot be written: {error.strerror}. Name a folder that this machine and each worker see"
            ) from error

    def leave(self, run: Path) -> str:
        return str(run)

    def take(self, left: str, scratch: Path) -> Path:
        return Path(left)

    def beside(self, scratch: Path) -> Place:
        return self

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class _Store:
    """A URL that fsspec knows, such as `s3://bucket/sweeps`."""

    folder = None

    def __init__(self, url: str) -> None:
        self._url = f"{url.rstrip('/')}/sweep-{uuid.uuid4().hex}"
        _fsspec(url)

    def leave(self, run: Path) -> str:
        url = f"{self._url}/share-{uuid.uuid4().hex}.tar"
        try:
            with _fsspec(url).open(url, "wb") as file:
                file.write(_delaylab.pack(run))
        except Exception as error:  # each store has errors of its own
            raise ClusterError(f"cannot write {url}: {error}") from None
        return url

    def take(self, left: str, scratch: Path) -> Path:
        try:
            with _fsspec(left).open(left, "rb") as file:
                packed: bytes = file.read()
        except Exception as error:
            raise ClusterError(f"cannot read {left}: {error}") from error
        self._delete(left)
        return _unpacked(packed, scratch)

    def beside(self, scratch: Path) -> Place:
        return self

    def remove(self) -> None:
        self._delete(self._url)

    def _delete(self, url: str) -> None:
        # Nothing is left there, nothing may be deleted, or the store is gone.
        with contextlib.suppress(Exception):
            files, path = _fsspec(url).core.url_to_fs(url)
            files.rm(path, recursive=True)


def _fsspec(url: str) -> Any:
    try:
        fsspec = importlib.import_module("fsspec")
        fsspec.get_filesystem_class(url.split("://")[0])
    except (ImportError, ValueError) as error:
        raise UsageError(
            f"{url} cannot be reached: {error}. Here and on each worker it takes fsspec and the package for such URLs, "
            "as in `pip install s3fs` for s3://"
        ) from error
    return fsspec


def _unpacked(packed: bytes, folder: Path) -> Path:
    """The unfinished run that was packed, in this folder."""
    run = Path(tempfile.mkdtemp(suffix=".partial", dir=folder))
    _delaylab.unpack(packed, run)
    return run
