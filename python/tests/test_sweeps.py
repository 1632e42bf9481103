"""Sweeps: the same bytes as one process, whatever becomes of workers, and clear errors where it cannot be."""

import concurrent.futures
import importlib
import multiprocessing
import os
import pickle
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import types

import distributed
import pytest
from conftest import content, no_room

import delaylab as dl
from delaylab import _delaylab, _places, _share, sweeps

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture(scope="module")
def dask():
    """A client of two workers. Each takes a second to start: all tests here have the same."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def partial(folder):
    """The one unfinished run in a folder."""
    (found,) = [path for path in folder.iterdir() if path.name.endswith(".partial")]
    return found


# By a folder: with every change where a worker is killed.
@pytest.mark.parametrize("shared", [None, "elsewhere", pytest.param("{}", marks=pytest.mark.long), "file://{}/store"])
def test_dask_gives_the_same_bytes(small, run, dask, tmp_path, shared, monkeypatch):
    if shared == "elsewhere":
        monkeypatch.setattr(_places, "_known_by", lambda folder: "another machine")
        shared = None
    (tmp_path / "store").mkdir()
    seen = []
    swept = dl.sweep(
        small,
        dask,
        output=tmp_path / "runs",
        shared=shared and shared.format(tmp_path),
        trials_per_share=3,
        progress=lambda done, of: seen.append((done, of)),
    )
    assert content(swept) == content(run)
    assert len(seen) == 3 and seen[-1] == (8, 8)
    assert_no_share_is_left(tmp_path)


@pytest.mark.parametrize("share", [0, -1])
def test_a_share_without_trials_is_refused(small, tmp_path, share):
    with (
        concurrent.futures.ProcessPoolExecutor(1, mp_context=SPAWN) as workers,
        pytest.raises(dl.UsageError, match=f"trials_per_share is {share}: a share has 1 trial or more"),
    ):
        dl.sweep(small, workers, output=tmp_path, trials_per_share=share)


def assert_no_share_is_left(folder):
    left = [path for path in folder.rglob("*") if path.name.startswith((".shares", ".gone", "sweep-", "share"))]
    assert not left, left


@pytest.mark.long
def test_ray_gives_the_same_bytes_and_a_lost_worker_costs_its_share_alone(small, tmp_path):
    ray = pytest.importorskip("ray", reason="Ray is not there: scripts/peers.sh installs it")
    long = small.set("probe.echo.duration", "3s").set("probe.large.duration", "3s")
    alone = dl.run(long, output=tmp_path)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        swept = dl.sweep(small, ray, output=tmp_path / "small")
        assert content(swept) == content(dl.run(small, output=tmp_path / "small"))

        killed = []

        @ray.remote
        def process():
            return os.getpid()

        def kill(done, of):
            if not killed:
                killed.append(ray.get(process.remote()))
                os.kill(killed[0], signal.SIGKILL)

        assert content(dl.sweep(long, ray, output=tmp_path, trials_per_share=1, progress=kill)) == content(alone)
        assert killed

        with pytest.raises(dl.ClusterError, match="and the sweep is of 9.9.9"):
            cluster = sweeps._engine(ray, 0)
            list(cluster.results([(small.toml, [0], "9.9.9", _places.place(None))]))
    finally:
        ray.shutdown()


def test_a_worker_that_is_killed_costs_its_share_alone(small, dask, tmp_path):
    long = small.set("probe.echo.duration", "1s").set("probe.large.duration", "1s")
    alone = dl.run(long, output=tmp_path)
    killed = []
    workers = dask.run(os.getpid)

    # Dask starts another one in its place.
    def kill(done, of):
        if not killed:
            killed.append(workers.popitem()[1])
            os.kill(killed[0], signal.SIGKILL)

    swept = dl.sweep(long, dask, output=tmp_path, shared=tmp_path, trials_per_share=1, progress=kill)
    assert killed
    assert_no_share_is_left(tmp_path)
    assert content(swept) == content(alone)


def test_an_executor_that_loses_a_process_says_what_remains(small, tmp_path):
    def kill(done, of):
        for process in [*pool._processes.values()]:
            process.kill()

    with concurrent.futures.ProcessPoolExecutor(1, mp_context=SPAWN) as pool:
        with pytest.raises(dl.ClusterError, match="^the executor is broken: .*takes no more work: make a new one") as raised:
            dl.sweep(small, pool, output=tmp_path, trials_per_share=1, progress=kill)
        left = partial(tmp_path)
        assert ".." not in str(raised.value)
        assert str(raised.value).endswith(f"`delaylab resume {left}` continues it")
        # It stays broken, and nothing is made for it.
        with pytest.raises(dl.ClusterError, match="^the executor is broken"):
            dl.sweep(small, pool, output=tmp_path)
    assert [*tmp_path.iterdir()] == [left]


class Failing(concurrent.futures.ThreadPoolExecutor):
    """Its first work fails, as where a connection to a worker broke."""

    failures = 1

    def submit(self, work, *args):
        if work is not _share.carry_out or not self.failures:
            return super().submit(work, *args)
        self.failures -= 1
        failed = concurrent.futures.Future()
        failed.set_exception(ConnectionResetError("the worker is gone"))
        return failed


def test_a_share_that_failed_on_an_executor_is_repeated(small, tmp_path):
    with Failing(1) as threads:
        assert dl.sweep(small, threads, output=tmp_path, retries=1).complete
    with Failing(1) as threads, pytest.raises(dl.ClusterError, match="ConnectionResetError: the worker is gone. What was"):
        dl.sweep(small, threads, output=tmp_path, retries=0)


def future(one):
    """Of work that is done, or failed."""

    def result():
        if isinstance(one, Exception):
            raise one
        return one

    return types.SimpleNamespace(status="error" if isinstance(one, Exception) else "finished", result=result, release=result)


def test_what_came_back_is_kept_before_what_failed_ends_the_sweep(monkeypatch):
    class Lost(Exception):
        pass

    done = [future(one) for one in (1, Lost("gone"), 2)]
    as_completed = types.SimpleNamespace(batches=lambda: iter([done[1:], done[:1]]))
    monkeypatch.setattr(distributed, "as_completed", lambda futures, loop: as_completed)
    client = Client()
    client.loop, client.submit = None, lambda *_, **__: None

    # The scheduler is gone.
    def cancel(futures):
        raise ConnectionResetError("no connection")

    client.cancel = cancel
    ray = types.ModuleType("ray")
    ray.remote = lambda work: ray
    ray.options = lambda **how: types.SimpleNamespace(remote=lambda one: future(one))
    ray.wait = lambda waiting, num_returns=1, timeout=None: (waiting[1:], waiting[:1]) if timeout == 0 else (waiting[1:2], waiting[:1])
    ray.get = lambda one: one.result()
    ray.cancel = cancel
    ray.exceptions = types.SimpleNamespace(RayError=Lost)
    for cluster in (client, ray):
        came = sweeps._engine(cluster, 0).results([(1,), (Lost("gone"),), (2,)])
        assert next(came) == 2
        with pytest.raises(Lost, match="^gone$"):
            next(came)


def test_a_share_that_was_taken_and_cannot_be_removed_ends_nothing(small, tmp_path, monkeypatch):
    remove = shutil.rmtree

    def refuse(folder, ignore_errors=False, **more):
        if not ignore_errors and not more:
            raise PermissionError(13, "Permission denied", str(folder))
        remove(folder, ignore_errors, **more)

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        assert dl.sweep(small.set("design.repeats", 1), threads, output=tmp_path).complete


class Client:
    """A client of Dask that is in no state to work."""

    asynchronous = False
    status = "closed"

    def submit(self):
        pass


Client.__module__ = "distributed.client"


def test_a_cluster_that_cannot_work_is_refused_before_anything_is_made(small, tmp_path):
    ray = types.ModuleType("ray")
    ray.is_initialized = lambda: False
    asynchronous = Client()
    asynchronous.asynchronous = True
    over = concurrent.futures.ThreadPoolExecutor(1)
    over.shutdown()
    for cluster, remedy in [
        (Client(), "the client of Dask is closed: make a new one"),
        (asynchronous, "the client of Dask is asynchronous: make one without"),
        (ray, r"Ray is not running: call `ray.init\(\)` first"),
        (over, "the executor takes no work: .*shutdown. Make a new one"),
    ]:
        with pytest.raises(dl.ClusterError, match=f"^{remedy}"):
            dl.sweep(small, cluster, output=tmp_path, shared=tmp_path)
    with concurrent.futures.ThreadPoolExecutor(1) as threads, pytest.raises(TypeError, match="^trials_per_share is 1.5"):
        dl.sweep(small, threads, output=tmp_path, trials_per_share=1.5)
    assert not list(tmp_path.iterdir())


def test_workers_that_were_asked_for_count_before_they_are_there(small):
    def client(threads, cluster):
        made = Client()
        made.status = "running"
        made.nthreads = lambda: threads
        made.cluster = cluster
        return sweeps._engine(made, 0)

    coming = types.SimpleNamespace(plan={*range(128)})
    assert client({}, coming).workers() == 128
    assert client({"a": 200}, coming).workers() == 200
    assert client({}, None).workers() == 0
    # Of Slurm: jobs of 16 CPUs, each a process, or several, of which the job alone knows how many.
    jobs = {"cores": 16, "processes": 1}
    for options, workers in [(jobs, 128), ({**jobs, "processes": None}, 64), ({"nthreads": 4}, 32), ({}, 64)]:
        coming = types.SimpleNamespace(plan={*range(8)}, worker_spec={0: {"options": options}})
        assert client({"a": 16}, coming).workers() == workers
    assert client({name: 16 for name in range(8)}, coming).workers() == 128
    one_of_another_kind = concurrent.futures.Executor()
    one_of_another_kind.submit = lambda *_: None
    assert sweeps._engine(one_of_another_kind, 0).workers() == 0
    ray = types.ModuleType("ray")
    ray.is_initialized, ray.cluster_resources = lambda: True, lambda: {"memory": 1.0}
    assert sweeps._engine(ray, 0).workers() == 0


def test_what_is_shared_is_open_as_the_umask_says(tmp_path):
    place = _places.place(tmp_path)
    umask = os.umask(0o002)
    try:
        made = [_places.new_folder("share", place.folder), _places.place(tmp_path).folder]
    finally:
        os.umask(umask)
    assert [stat.S_IMODE(os.stat(folder).st_mode) for folder in made] == [0o775, 0o775]


def test_what_is_recorded_on_this_machine_stays_there(run, tmp_path, monkeypatch):
    here = pickle.loads(pickle.dumps(_places.place(None).beside(tmp_path)))
    assert here.folder == str(tmp_path)
    left = here.leave(tmp_path / "share/run.partial")
    assert here.take(left, tmp_path) == tmp_path / "share/run.partial"
    # A folder of that name on another machine.
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(_places, "_known_by", lambda folder: "another machine")
        assert here.folder is None and not here.is_over()
    assert not here.is_over()
    # Another folder, or none, where this one was.
    tmp_path.rename(tmp_path.with_name("moved"))
    assert here.folder is None and here.is_over()
    tmp_path.mkdir()
    assert here.folder is None and here.is_over()
    packed = here.leave(run.folder)
    assert (here.take(packed, tmp_path) / "experiment.toml").read_text() == run.experiment


def test_a_store_in_which_nothing_may_be_deleted_is_read(run, tmp_path, monkeypatch):
    store = _places.place(f"file://{tmp_path}")
    left = store.leave(run.folder)
    local = importlib.import_module("fsspec.implementations.local").LocalFileSystem

    def refuse(*_, **__):
        raise PermissionError("Access Denied")

    monkeypatch.setattr(local, "rm", refuse)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    taken = store.take(left, scratch)
    assert (taken / "experiment.toml").read_text() == run.experiment
    store.remove()


@pytest.mark.parametrize("shared", [None, "{}", "file://{}"])
def test_no_share_is_begun_once_the_sweep_is_over(small, tmp_path, shared, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    place = _places.place(shared and shared.format(tmp_path)).beside(scratch)
    place.remove()
    _places.remove_folder(scratch)
    with pytest.raises(dl.ClusterError, match="^worker .*: the sweep has ended"):
        _share.carry_out(small.toml, [0], _delaylab.version(), pickle.loads(pickle.dumps(place)))
    assert not [*tmp_path.iterdir()]


def test_a_share_ends_after_a_trial_once_the_sweep_is_over(small, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(_share, "_ASK_EVERY", 0)
    store = _places.place(f"file://{tmp_path}")
    asked = []

    class Watched(_places._Store):
        def is_over(self):
            asked.append(1)
            if len(asked) == 2:
                raise dl.EnvironmentFault("not in reach")
            if len(asked) == 3:
                self.remove()
            return super().is_over()

    store.__class__ = Watched
    with pytest.raises(dl.ClusterError, match="the sweep has ended"):
        _share.carry_out(small.toml, [*range(8)], _delaylab.version(), store)
    assert len(asked) == 3
    assert not [*tmp_path.iterdir()]


def test_dask_ends_a_share_that_travels_once_it_is_cancelled(small, dask, tmp_path):
    came = tmp_path / "came"

    def share(*of):
        usual, _share._ASK_EVERY = _share._ASK_EVERY, 0
        (tmp_path / "begun").touch()
        try:
            _share.carry_out(*of)
            said = "of all trials"
        except dl.ClusterError as error:
            said = str(error)
        finally:
            _share._ASK_EVERY = usual
        came.with_suffix(".new").write_text(said)
        came.with_suffix(".new").rename(came)

    def until(file):
        deadline = time.monotonic() + 60
        while not (file.exists() or time.monotonic() > deadline):
            time.sleep(0.01)

    # Far more trials than are over by the time that it is cancelled.
    long = small.set({"probe.echo.duration": "1s", "design.repeats": 200})
    future = dask.submit(share, long.toml, [*range(400)], _delaylab.version(), _places.place(None))
    distributed.wait(dask.submit(until, tmp_path / "begun"))
    dask.cancel(future)
    distributed.wait(dask.submit(until, came))
    assert "the sweep has ended" in came.read_text()


def test_a_folder_of_shares_that_was_removed_is_not_made_again(small, tmp_path, monkeypatch):
    with pytest.raises(dl.EnvironmentFault, match="No such file"):
        _delaylab.carry_out_share(small.toml, {0}, str(tmp_path / "gone/share"), 1, print)
    assert not [*tmp_path.iterdir()]
    # Nor does a worker find it by its name while it is removed.
    place = _places.place(tmp_path)
    monkeypatch.setattr(shutil, "rmtree", lambda folder, **how: None)
    place.remove()
    assert place.is_over()


def test_what_comes_to_a_store_after_the_sweep_goes_again(run):
    files = importlib.import_module("fsspec").filesystem("memory")
    files.mkdir("/sweeps")
    store = _places.place("memory://sweeps")
    store.leave(run.folder)
    assert len(files.find("/sweeps")) == 2
    store.remove()
    store.leave(run.folder)
    assert not files.find("/sweeps")


def test_a_store_that_a_worker_cannot_read_is_said_before_it_simulates(small, tmp_path, monkeypatch):
    store = _places.place(f"file://{tmp_path}")
    local = importlib.import_module("fsspec.implementations.local").LocalFileSystem

    def refuse(*_, **__):
        raise PermissionError("Access Denied")

    monkeypatch.setattr(local, "info", refuse)
    monkeypatch.setattr(_delaylab, "carry_out_share", None)
    with pytest.raises(dl.EnvironmentFault, match="worker .*: cannot read file://.*/open: Access Denied"):
        _share.carry_out(small.toml, [0], _delaylab.version(), store)


def test_what_cannot_be_written_here_is_an_error_of_ours(small, run, tmp_path):
    packed = _delaylab.pack(run.folder)
    with pytest.raises(dl.EnvironmentFault, match=f"^cannot write {tmp_path}/.*partial: failed to .*: "):
        _places._unpacked(packed[:5000], tmp_path)
    with pytest.raises(dl.EnvironmentFault, match="/none cannot be written: No such file"):
        _places._unpacked(packed, tmp_path / "none")


def test_a_stop_rule_goes_round_by_round(small, tmp_path):
    text = small.toml.replace("repeats = 4", "stop = { of = \"mean(response)\", within = \"4%\", at_most = 12 }")
    adaptive = dl.Experiment.from_toml(text)
    alone = dl.run(adaptive, output=tmp_path)
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        swept = dl.sweep(adaptive, threads, output=tmp_path)
    assert content(swept) == content(alone)
    trials = len({*swept.trials().to_polars()["trial"]})
    assert 4 < trials < adaptive.trials, trials


def test_what_is_no_cluster_or_cannot_be_divided_is_refused(small, tmp_path):
    with pytest.raises(dl.UsageError, match="is no cluster: give a `distributed.Client`"):
        dl.sweep(small, "localhost", output=tmp_path)
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        with pytest.raises(dl.UsageError, match="only simulations are divided"):
            dl.sweep("wait-time-jitter", threads, output=tmp_path)
        with pytest.raises(dl.EnvironmentFault, match="`shared` '/none/such' cannot be written: No such file"):
            dl.sweep(small, threads, output=tmp_path, shared="/none/such")
        with pytest.raises(dl.EnvironmentFault, match="`shared` 'file:///none/such' cannot be written and read: .*No such file"):
            dl.sweep(small, threads, output=tmp_path, shared="file:///none/such")
        with pytest.raises(dl.UsageError, match="none://such cannot be reached: .*pip install s3fs"):
            dl.sweep(small, threads, output=tmp_path, shared="none://such")
    assert not list(tmp_path.iterdir())


def test_other_versions_are_refused_by_name(small):
    with pytest.raises(dl.ClusterError, match="has delaylab .*, and the sweep is of 9.9.9"):
        _share.carry_out(small.toml, [0], "9.9.9", _places.place(None))


def test_what_progress_raises_ends_the_sweep_and_is_no_error_of_the_cluster(small, run, tmp_path):
    def enough(done, of):
        raise ValueError("enough")

    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        with pytest.raises(ValueError, match="^enough$"):
            dl.sweep(small, threads, output=tmp_path, trials_per_share=1, progress=enough)
    left = partial(tmp_path)
    # The program may go on with it at once.
    subprocess.run([os.environ["DELAYLAB"], "resume", left, "-q", "--no-report"], check=True, stdout=subprocess.DEVNULL)
    assert content(dl.open(left.with_suffix(""))) == content(run)


def test_a_full_disk_at_a_worker_is_said_and_nothing_is_lost(small, tmp_path):
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=SPAWN, initializer=no_room) as pool:
        with pytest.raises(dl.EnvironmentFault, match="worker .*no room to write.*delaylab resume"):
            dl.sweep(small, pool, output=tmp_path, retries=1)
    kept = partial(tmp_path)
    # It goes on where there is room.
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        whole = dl.sweep(small, threads, output=tmp_path / "again")
    assert kept.exists() and whole.complete


def _scheduler(tmp_path):
    """A scheduler and a worker of their own processes: the address, and both."""
    file = tmp_path / "scheduler.json"
    words = ["--scheduler-file", str(file), "--no-dashboard"]
    run = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--host", "127.0.0.1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    scheduler = subprocess.Popen([*run, *words], **quiet)
    while not file.exists():
        assert scheduler.poll() is None
        time.sleep(0.05)
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1"]
    return file, scheduler, subprocess.Popen([*worker, *words, "--no-nanny"], **quiet)


def test_a_scheduler_that_dies_is_said_and_nothing_is_lost(small, tmp_path):
    long = small.set("probe.echo.duration", "1s").set("probe.large.duration", "1s")
    file, scheduler, worker = _scheduler(tmp_path)
    runs = tmp_path / "runs"
    try:
        with distributed.Client(
            scheduler_file=str(file), set_as_default=False, timeout=60
        ) as client:
            client.wait_for_workers(1, timeout=90)

            def kill(done, of):
                scheduler.kill()

            with pytest.raises(dl.ClusterError, match="(?s)the cluster failed.*delaylab resume"):
                dl.sweep(long, client, output=runs, trials_per_share=1, progress=kill)
            assert dl.open(partial(runs)).records().to_polars().height > 0
            return
        pytest.fail("there was no cluster to be killed")
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
