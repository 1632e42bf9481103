"""Simulations on a cluster: Dask, Ray, or an executor of `concurrent.futures`."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Generator, Protocol

from . import _delaylab, _program
from ._places import Place, place
from ._progress import Progress, told
from ._share import carry_out
from .errors import ClusterError, DelaylabError, UsageError
from .experiment import Experiment
from .runs import Run
from .runs import open as open_run

_SHARES_PER_WORKER = 4
_MOST_TRIALS = 200


class _Engine(Protocol):
    """What carries shares out."""

    def workers(self) -> int:
        """About how many at once."""
        ...

    def results(self, shares: list[tuple[Any, ...]]) -> Generator[Any, None, None]:
        """What came of each share, as it comes. Where it is closed, what is under way is cancelled."""
        ...


class _Dask:
    def __init__(self, client: Any, retries: int) -> None:
        self._client = client
        self._retries = retries

    def workers(self) -> int:
        return sum(self._client.nthreads().values())

    def results(self, shares: list[tuple[Any, ...]]) -> Generator[Any, None, None]:
        import distributed

        futures = [
            self._client.submit(carry_out, *share, pure=False, retries=self._retries) for share in shares
        ]
        # It has no types.
        as_completed: Any = distributed.as_completed
        coming = as_completed(futures, loop=self._client.loop)
        try:
            for future in coming:
                result = future.result()
                future.release()
                yield result
        finally:
            try:
                self._client.cancel(futures)
            except Exception:  # the scheduler is gone, and what it had with it
                pass


class _Ray:
    def __init__(self, ray: Any, retries: int) -> None:
        self._ray = ray
        self._retries = retries

    def workers(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 1))

    def results(self, shares: list[tuple[Any, ...]]) -> Generator[Any, None, None]:
        remote = self._ray.remote(carry_out).options(max_retries=self._retries, retry_exceptions=True)
        waiting = [remote.remote(*share) for share in shares]
        try:
            while waiting:
                done, waiting = self._ray.wait(waiting)
                try:
                    yield self._ray.get(done[0])
                except self._ray.exceptions.RayTaskError as error:
                    raise error.cause if isinstance(error.cause, Exception) else error
        finally:
            for one in waiting:
                self._ray.cancel(one)


class _Executor:
    def __init__(self, executor: concurrent.futures.Executor, retries: int) -> None:
        self._executor = executor
        self._retries = retries

    def workers(self) -> int:
        return getattr(self._executor, "_max_workers", None) or os.cpu_count() or 1

    def results(self, shares: list[tuple[Any, ...]]) -> Generator[Any, None, None]:
        share_of = {self._executor.submit(carry_out, *share): (share, 0) for share in shares}
        try:
            while share_of:
                done, _ = concurrent.futures.wait(share_of, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    share, tries = share_of.pop(future)
                    try:
                        result = future.result()
                    except DelaylabError:
                        if tries == self._retries:
                            raise
                        share_of[self._executor.submit(carry_out, *share)] = (share, tries + 1)
                        continue
                    yield result
        finally:
            for future in share_of:
                future.cancel()


def _engine(cluster: Any, retries: int) -> _Engine:
    if isinstance(cluster, concurrent.futures.Executor):
        return _Executor(cluster, retries)
    module = type(cluster).__module__.split(".")[0]
    if module == "distributed" and hasattr(cluster, "submit"):
        return _Dask(cluster, retries)
    if getattr(cluster, "__name__", None) == "ray":
        return _Ray(cluster, retries)
    raise UsageError(
        f"{cluster!r} is no cluster: give a `distributed.Client`, the module `ray` once `ray.init()` was called, "
        "or an executor of `concurrent.futures`"
    )


def sweep(
    experiment: str | os.PathLike[str] | Experiment,
    cluster: Any,
    *,
    output: str | os.PathLike[str] = "runs",
    shared: str | os.PathLike[str] | None = None,
    trials_per_share: int | None = None,
    retries: int = 2,
    progress: Progress | bool | None = None,
) -> Run:
    """Carries a simulation out on a cluster. The run is the same, byte for byte in every table, as if one process had.

    `cluster` is a `distributed.Client`, the module `ray`, or an executor of `concurrent.futures` whose processes have the
    package. Each worker carries out shares of the trials, `trials_per_share` at a time, and sends what it recorded through
    the cluster; with `shared` it leaves it there for this process to take: a folder that every machine sees under this name,
    or a URL of an object store that fsspec knows, such as `s3://bucket/sweeps`. A share whose worker was lost, or that failed,
    is repeated `retries` times. With `design.stop` rounds follow each other as their results ask for.

    `progress` is called with how many trials are done, of how many (with `design.stop`, of this round); `True` shows a bar, by
    rich or tqdm where they are installed.

    Raises `ClusterError` where the cluster fails, and the errors of a simulation. What was recorded until then stays in a
    folder that ends in `.partial`: `delaylab resume` goes on with it, on one machine.
    """
    if trials_per_share is not None and trials_per_share < 1:
        raise UsageError(f"trials_per_share is {trials_per_share}: a share has 1 trial or more. Leave it out to have it chosen")
    if retries < 0:
        raise UsageError(f"retries is {retries}: give 0 or more")
    chosen = experiment if isinstance(experiment, Experiment) else Experiment(os.fspath(experiment))
    engine = _engine(cluster, retries)
    resolved = chosen.resolve()
    left_at = place(shared)
    try:
        run = _delaylab.Gathered(resolved, os.fspath(output), [*sys.argv])
        with told(progress) as tell:
            return _swept(run, resolved.toml, engine, output, left_at, trials_per_share, tell)
    finally:
        left_at.remove()


def _swept(
    run: _delaylab.Gathered,
    toml: str,
    engine: _Engine,
    output: str | os.PathLike[str],
    left_at: Place,
    trials_per_share: int | None,
    progress: Progress | None,
) -> Run:
    kept = run.folder
    try:
        with tempfile.TemporaryDirectory(prefix=".sweep-", dir=output) as scratch:
            _every_round(run, toml, engine, Path(scratch), left_at, trials_per_share, progress)
        folder, warnings = run.finish()
    except DelaylabError as error:
        raise type(error)(_with_remedy(str(error), kept)) from error
    except BaseException:
        # Ctrl-C, or what `progress` raised.
        _program.warn(_with_remedy("stopped", kept))
        raise
    finally:
        run.close()
    for warning in warnings:
        _program.warn(f"warning: {warning}")
    return open_run(folder)


def _with_remedy(message: str, kept: Path) -> str:
    return f"{message}. What was recorded is in {kept}: `delaylab resume {kept}` goes on with it"


def _every_round(
    run: _delaylab.Gathered,
    toml: str,
    engine: _Engine,
    scratch: Path,
    left_at: Place,
    trials_per_share: int | None,
    progress: Progress | None,
) -> None:
    done = 0
    while trials := run.next_round():
        of = done + len(trials)
        size = _share_size(len(trials), engine.workers()) if trials_per_share is None else trials_per_share
        parts = [trials[at : at + size] for at in range(0, len(trials), size)]
        shares = [(toml, part, _delaylab.version(), left_at) for part in parts]
        # Closed at once, whatever is raised here: what is under way is cancelled.
        with contextlib.closing(_coming(engine, shares)) as results:
            for left in results:
                folder = left_at.take(left, scratch)
                done += run.take(folder)
                shutil.rmtree(folder)
                if progress is not None:
                    progress(done, of)


def _coming(engine: _Engine, shares: list[tuple[Any, ...]]) -> Generator[Any, None, None]:
    """What comes of each share; whatever the cluster raises is an error of ours."""
    try:
        yield from engine.results(shares)
    except DelaylabError:
        raise
    except Exception as error:
        raise ClusterError(f"the cluster failed: {type(error).__name__}: {error}") from error


def _share_size(trials: int, workers: int) -> int:
    """So many that each worker has several, and the last one does not keep the others waiting for long.

    >>> _share_size(10_000, 2), _share_size(30, 4), _share_size(3, 16)
    (200, 1, 1)
    """
    return max(1, min(_MOST_TRIALS, trials // (_SHARES_PER_WORKER * max(workers, 1))))
