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

    def is_over(self) -> bool:
        """A worker asks whether the sweep has ended, so that nothing waits for what it does. Fails where the place is not in reach."""
        ...

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


def temporary(within: str | os.PathLike[str], **named: str) -> Path:
    """A folder for this process alone."""
    try:
        return Path(tempfile.mkdtemp(dir=within, **named))
    except OSError as error:
        raise EnvironmentFault(f"{os.fspath(within)} cannot be written: {error.strerror}") from error


def remove_folder(folder: str | os.PathLike[str]) -> None:
    """Renames it first: workers that are not waited for find nothing by its name, and make nothing in it meanwhile."""
    gone = Path(folder).with_name(f".gone-{Path(folder).name}")
    try:
        os.rename(folder, gone)
    except OSError:
        gone = Path(folder)
    shutil.rmtree(gone, ignore_errors=True)


class _Cluster:
    def __init__(self, scratch: Path | None = None) -> None:
        self._scratch = None if scratch is None else scratch.absolute()
        self._known_by = None if self._scratch is None else _known_by(self._scratch)
        # What tells another machine from a sweep that has ended.
        self._above_known_by = None if self._scratch is None else _known_by(self._scratch.parent)

    def is_over(self) -> bool:
        if self._scratch is None or self.folder is not None:
            return False
        return _is_here(self._scratch.parent, self._above_known_by)

    @property
    def folder(self) -> str | None:
        is_here = self._scratch is not None and _is_here(self._scratch, self._known_by)
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


def _is_here(folder: Path, known_by: tuple[object, ...] | None) -> bool:
    try:
        return _known_by(folder) == known_by
    except OSError:
        return False


class _Folder:
    def __init__(self, shared: str) -> None:
        try:
            self.folder = new_folder("sweep", os.path.abspath(shared))
            # Another machine knows the same folder by it, too, and where it is another folder, mostly another number.
            self._above = os.stat(shared).st_ino
        except OSError as error:
            raise EnvironmentFault(
                f"`shared` {shared!r} cannot be written: {error.strerror}. Name a folder that this machine and each worker see"
            ) from error

    def is_over(self) -> bool:
        try:
            above = os.stat(Path(self.folder).parent)
            is_gone = not os.path.lexists(self.folder)
        except OSError as error:
            raise EnvironmentFault(f"{self.folder} is not seen on this machine: {error.strerror}") from None
        if is_gone and above.st_ino != self._above:
            raise EnvironmentFault(f"{self.folder} is not seen on this machine. Name a folder in `shared` that each worker sees")
        return is_gone

    def leave(self, run: Path) -> str:
        return str(run)

    def take(self, left: str, scratch: Path) -> Path:
        return Path(left)

    def beside(self, scratch: Path) -> Place:
        return self

    def remove(self) -> None:
        remove_folder(self.folder)


class _Store:
    """A URL that fsspec knows, such as `s3://bucket/sweeps`. A file there is gone once the sweep is over."""

    folder = None

    def __init__(self, url: str) -> None:
        self._url = f"{url.rstrip('/')}/sweep-{uuid.uuid4().hex}"
        self._mark = f"{self._url}/open"
        _fsspec(url)
        try:
            files, path = _found(self._url)
            # Where a bucket is no folder to be made, this fails if there is none. What some rights are not enough for, others need not.
            with contextlib.suppress(PermissionError):
                files.mkdir(path, create_parents=False)
            _write(self._mark, b"delaylab")
            files.info(f"{path}/open")
        except Exception as error:  # each store has errors of its own
            self.remove()
            raise EnvironmentFault(
                f"`shared` {url!r} cannot be written and read: {error or type(error).__name__}. Name a bucket or folder that is "
                "there, and give this machine and each worker the rights to it"
            ) from error

    def is_over(self) -> bool:
        files, path = _found(self._mark)
        try:
            files.invalidate_cache()
            files.info(path)
        except FileNotFoundError:
            return True
        except Exception as error:
            raise EnvironmentFault(f"cannot read {self._mark}: {error}") from None
        return False

    def leave(self, run: Path) -> str:
        url = f"{self._url}/share-{uuid.uuid4().hex}.tar"
        try:
            _write(url, _delaylab.pack(run))
        except Exception as error:
            raise ClusterError(f"cannot write {url}: {error}") from None
        # If the sweep ended meanwhile, this may not have been there to be removed.
        with contextlib.suppress(EnvironmentFault):
            if self.is_over():
                self._delete(url)
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
        self._delete(self._mark)
        self._delete(self._url)

    def _delete(self, url: str) -> None:
        # Nothing is left there, nothing may be deleted, or the store is gone.
        with contextlib.suppress(Exception):
            files, path = _found(url)
            files.rm(path, recursive=True)


def _found(url: str) -> tuple[Any, str]:
    """The store and the path in it."""
    found: tuple[Any, str] = _fsspec(url).core.url_to_fs(url)
    return found


def _write(url: str, content: bytes) -> None:
    """Nothing above it is made: no bucket whose name is misspelt, and not again the folder of a sweep that has ended."""
    with _fsspec(url).open(url, "wb", auto_mkdir=False) as file:
        file.write(content)


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
    run = temporary(folder, suffix=".partial")
    _delaylab.unpack(packed, run)
    return run
