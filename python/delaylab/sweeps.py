"""Simulations on a cluster: Dask, Ray, or an executor of `concurrent.futures`."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import shutil
from pathlib import Path
from typing import Any, Generator, Protocol

from . import _arguments, _delaylab, _kept
from ._places import Place, place, remove_folder, temporary
from ._progress import Progress, told
from ._share import carry_out
from .errors import ClusterError, DelaylabError, UsageError
from .experiment import Experiment, chosen
from .runs import Run, recorded

_MOST_TRIALS = 200
# A share has this many trials at least, or this part of what a worker has to do where that is fewer.
_FEW_TRIALS = 16
_FEWEST_PART = 32
# Where nothing says how many there will be: for fewer, shares are small.
_UNKNOWN_WORKERS = 64


class _Engine(Protocol):
    """What carries shares out."""

    def workers(self) -> int:
        """About how many at once, 0 where that is not known yet. Fails where no share can be carried out."""
        ...

    def results(self, shares: list[tuple[Any, ...]]) -> Generator[Any, None, None]:
        """What came of each share, as it comes. Where it is closed, what is under way is cancelled."""
        ...


class _Dask:
    def __init__(self, client: Any, retries: int) -> None:
        self._client = client
        self._retries = retries

    def workers(self) -> int:
        if self._client.asynchronous:
            raise ClusterError("the client of Dask is asynchronous: make one without `asynchronous=True`")
        if self._client.status != "running":
            raise ClusterError(
                f"the client of Dask is {self._client.status}: make a new one, as in `distributed.Client(\"HOST:8786\")`"
            )
        threads = self._client.nthreads()
        there: int = sum(threads.values())
        # Those that were asked for and are not there yet count, too.
        cluster = getattr(self._client, "cluster", None)
        asked = len(getattr(cluster, "plan", ()))
        if asked <= len(threads):
            return there
        each = _threads_of_each(cluster)
        return max(there, asked * each if each else max(asked, _UNKNOWN_WORKERS))

    def results(self, shares: list[tuple[Any, ...]]) -> Generator[Any, None, None]:
        import distributed

        futures = [
            self._client.submit(carry_out, *share, pure=False, retries=self._retries) for share in shares
        ]
        # It has no types.
        as_completed: Any = distributed.as_completed
        coming = as_completed(futures, loop=self._client.loop)
        try:
            for batch in coming.batches():
                # What came back is kept before what failed ends the sweep.
                for future in sorted(batch, key=lambda future: future.status != "finished"):
                    result = future.result()
                    future.release()
                    yield result
        finally:
            # Where the scheduler is gone, what it had is, too.
            with contextlib.suppress(Exception):
                self._client.cancel(futures)


def _threads_of_each(cluster: Any) -> int | None:
    """How many threads a worker that was asked for will have, where the cluster says so: dask-jobqueue by the job, whose processes
    are the workers."""
    for spec in getattr(cluster, "worker_spec", {}).values():
        options = spec.get("options", {})
        if threads := options.get("nthreads"):
            return int(threads)
        if options.get("cores") and options.get("processes"):
            return max(1, int(options["cores"]) // int(options["processes"]))
    return None


class _Ray:
    def __init__(self, ray: Any, retries: int) -> None:
        self._ray = ray
        self._retries = retries

    def workers(self) -> int:
        if not self._ray.is_initialized():
            raise ClusterError("Ray is not running: call `ray.init()` first, or `ray.init(\"auto\")` for a cluster that is there")
        return int(self._ray.cluster_resources().get("CPU", 0))

    def results(self, shares: list[tuple[Any, ...]]) -> Generator[Any, None, None]:
        remote = self._ray.remote(carry_out).options(max_retries=self._retries, retry_exceptions=True)
        waiting = [remote.remote(*share) for share in shares]
        try:
            while waiting:
                self._ray.wait(waiting)
                done, waiting = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)
                failed = None
                for one in done:
                    try:
                        result = self._ray.get(one)
                    except self._ray.exceptions.RayError as error:
                        failed = failed or error
                        continue
                    yield result
                if failed is not None:
                    cause = getattr(failed, "cause", None)
                    raise cause if isinstance(cause, Exception) else failed
        finally:
            for one in waiting:
                # Where Ray is gone, what it had is, too.
                with contextlib.suppress(Exception):
                    self._ray.cancel(one)


class _Executor:
    def __init__(self, executor: concurrent.futures.Executor, retries: int) -> None:
        self._executor = executor
        self._retries = retries

    def workers(self) -> int:
        # One that is shut down or broken says so when it is handed something.
        self._submit(int)
        return getattr(self._executor, "_max_workers", None) or 0

    def results(self, shares: list[tuple[Any, ...]]) -> Generator[Any, None, None]:
        share_of = {self._submit(carry_out, *share): (share, 0) for share in shares}
        try:
            while share_of:
                done, _ = concurrent.futures.wait(share_of, return_when=concurrent.futures.FIRST_COMPLETED)
                # What came back is kept before what failed ends the sweep.
                for future in sorted(done, key=_failed):
                    share, tries = share_of.pop(future)
                    try:
                        result = future.result()
                    except concurrent.futures.BrokenExecutor as error:
                        raise _broken(error) from error
                    except Exception:
                        if tries == self._retries:
                            raise
                        share_of[self._submit(carry_out, *share)] = (share, tries + 1)
                        continue
                    yield result
        finally:
            for future in share_of:
                future.cancel()

    def _submit(self, *work: Any) -> concurrent.futures.Future[Any]:
        try:
            return self._executor.submit(*work)
        except concurrent.futures.BrokenExecutor as error:
            raise _broken(error) from error
        except RuntimeError as error:
            raise ClusterError(f"the executor takes no work: {error}. Make a new one") from error


def _failed(future: concurrent.futures.Future[Any]) -> bool:
    return future.cancelled() or future.exception() is not None


def _broken(error: concurrent.futures.BrokenExecutor) -> ClusterError:
    """An executor ends all of its work with the first process that it loses: no share can be repeated on it."""
    return ClusterError(
        f"the executor is broken: {str(error).rstrip('.')}. One that lost a process takes no more work: make a new one for the "
        "next sweep, and look whether memory was short"
    )


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
    package. Each worker carries out shares of the trials, `trials_per_share` at a time (chosen, if it is left out: the last ones
    are small). What it recorded it sends through the cluster, unless it runs as the same user on the machine of this process and
    sees its folder. With `shared` it leaves it there for this process to take: a folder that every machine sees under this name,
    or a URL of an object store that fsspec knows, such as `s3://bucket/sweeps`. With `design.stop` rounds follow each other as
    their results ask for.

    A share that failed is repeated `retries` times. So is one whose worker was lost, on Ray; Dask repeats that one as often as
    its setting `distributed.scheduler.allowed-failures` says (3 times); an executor of processes is broken as soon as one of
    them is killed, which ends the sweep.

    `progress` is called with how many trials are done, of how many (with `design.stop`, of this round); `True` shows a bar, by
    rich or tqdm where they are installed. What to know before trusting the run is a `RunWarning`, and in `run.problems`.

    Raises `ClusterError` where the cluster fails, and the errors of a simulation. What was recorded until then stays in a
    folder that ends in `.partial`: `delaylab resume` continues it, on one machine.
    """
    size = None if trials_per_share is None else _arguments.whole("trials_per_share", trials_per_share)
    if size is not None and size < 1:
        raise UsageError(f"trials_per_share is {size}: a share has 1 trial or more. Leave it out to have it chosen")
    if _arguments.whole("retries", retries) < 0:
        raise UsageError(f"retries is {retries}: give 0 or more")
    folder = _arguments.path("output", output)
    _arguments.progress(progress)
    engine = _engine(cluster, int(retries))
    resolved = chosen(experiment).resolve(folder)
    # A cluster that cannot work is refused before anything is made.
    _workers(engine)
    left_at = place(None if shared is None else _arguments.path("shared", shared))
    try:
        run = _delaylab.Gathered(resolved, folder, _arguments.supplied())
        with told(progress) as tell:
            made, warnings = _swept(run, resolved.toml, engine, left_at, size, tell)
    finally:
        left_at.remove()
    return recorded(made, warnings)


def _swept(
    run: _delaylab.Gathered,
    toml: str,
    engine: _Engine,
    left_at: Place,
    trials_per_share: int | None,
    progress: Progress | None,
) -> tuple[Path, list[str]]:
    try:
        with _kept.said([run.folder]):
            with _scratch(run.folder) as scratch:
                _every_round(run, toml, engine, scratch, left_at, trials_per_share, progress)
            return run.finish()
    finally:
        run.close()


@contextlib.contextmanager
def _scratch(unfinished: Path) -> Generator[Path, None, None]:
    """A folder for what is not part of the run yet. Where this process is killed, `delaylab resume` removes it by the end of its name."""
    folder = temporary(unfinished, prefix=".shares-", suffix=".unfinished")
    try:
        yield folder
    finally:
        remove_folder(folder)


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
        parts = _parts(trials, _workers(engine), trials_per_share)
        at = left_at.beside(scratch)
        shares = [(toml, part, _delaylab.version(), at) for part in parts]
        # Closed at once, whatever is raised here: what is under way is cancelled.
        with contextlib.closing(_coming(engine, shares)) as results:
            for left in results:
                folder = left_at.take(left, scratch)
                done += run.take(folder)
                # It was taken. What cannot be removed now goes with the place.
                shutil.rmtree(folder, ignore_errors=True)
                if progress is not None:
                    progress(done, of)


def _workers(engine: _Engine) -> int:
    """About how many shares at once; whatever the cluster raises is an error of ours."""
    try:
        return engine.workers()
    except DelaylabError:
        raise
    except Exception as error:
        raise ClusterError(f"the cluster cannot be asked for its workers: {type(error).__name__}: {error}") from error


def _coming(engine: _Engine, shares: list[tuple[Any, ...]]) -> Generator[Any, None, None]:
    """What comes of each share; whatever the cluster raises is an error of ours."""
    try:
        yield from engine.results(shares)
    except DelaylabError:
        raise
    except Exception as error:
        raise ClusterError(f"the cluster failed: {type(error).__name__}: {error}") from error


def _parts(trials: list[int], workers: int, size: int | None) -> list[list[int]]:
    """Shares of this size; without one, half of what is left to each worker, so that the last ones are small and no worker waits
    for long.

    >>> [len(part) for part in _parts(list(range(100)), 2, None)]
    [25, 18, 14, 10, 8, 6, 4, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1]
    >>> [len(part) for part in _parts(list(range(7)), 16, None)], [len(part) for part in _parts(list(range(7)), 2, 3)]
    ([1, 1, 1, 1, 1, 1, 1], [3, 3, 1])
    """
    workers = workers or _UNKNOWN_WORKERS
    smallest = max(1, min(_FEW_TRIALS, len(trials) // (_FEWEST_PART * workers)))
    parts, at = [], 0
    while at < len(trials):
        half = (len(trials) - at) // (2 * workers)
        count = size or min(_MOST_TRIALS, max(smallest, half))
        parts.append(trials[at : at + count])
        at += count
    return parts
