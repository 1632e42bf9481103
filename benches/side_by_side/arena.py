"""Two network namespaces joined by a veth pair: clients in `a`, servers in `b`.

Offloads and queues are left as the kernel makes them. Everything is removed on exit; what a killed
run left behind is removed by the next.
"""

import atexit
import contextlib
import os
import re
import socket
import struct
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass

NETWORK = "10.231.0.0/16"


class CouldNotMeasure(Exception):
    """A sentence that says which tool failed, and how."""


@dataclass
class Ended:
    """A client that ran to its end."""
    command: list
    code: int
    out: str
    err: str
    wall_s: float
    cpu_s: float

    def output(self):
        """What it printed; not without success."""
        if self.code != 0:
            last = (self.err.strip() or self.out.strip() or "no message").splitlines()[-1]
            raise CouldNotMeasure(f"`{' '.join(self.command)}` ended with {self.code}: {last}")
        return self.out


class Arena:
    def __init__(self):
        pid = os.getpid()
        subnet = f"10.231.{pid % 254 + 1}"
        self.a, self.b = f"dlab-acc-{pid}-a", f"dlab-acc-{pid}-b"
        self.veth = "va"
        self.client, self.server = f"{subnet}.1", f"{subnet}.2"
        self.running = []

    def __enter__(self):
        remove_leftovers()
        atexit.register(self.remove)
        try:
            self.build()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def build(self):
        ip("netns", "add", self.a)
        ip("netns", "add", self.b)
        ip("link", "add", self.veth, "netns", self.a, "type", "veth", "peer", "name", "vb", "netns", self.b)
        for namespace, veth, address in (self.a, self.veth, self.client), (self.b, "vb", self.server):
            ip("-n", namespace, "address", "add", f"{address}/24", "dev", veth)
            ip("-n", namespace, "link", "set", "lo", "up")
            ip("-n", namespace, "link", "set", veth, "up")

    def remove(self):
        for process in list(self.running):
            self.end(process)
        for namespace in (self.a, self.b):
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True, check=False)
        atexit.unregister(self.remove)

    def start(self, namespace, command, **options):
        """A process in a namespace. `ip netns exec` becomes the command: its pid and usage are the command's."""
        process = subprocess.Popen(["ip", "netns", "exec", namespace, *command], **options)
        self.running.append(process)
        return process

    def end(self, process):
        """Ends a process that `start` began: asked first, then made to."""
        process.terminate()
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self.running.remove(process)

    @contextlib.contextmanager
    def serving(self, command, port):
        """A server in `b` while the block runs, begun only once it has bound its UDP port."""
        with tempfile.TemporaryFile() as log:
            process = self.start(self.b, command, stdout=log, stderr=log)
            try:
                self.wait_until_bound(process, port, log)
                yield process
            finally:
                self.end(process)

    def wait_until_bound(self, process, port, log):
        bound = socket_line(self.server, port)
        deadline = time.monotonic() + 5
        while process.poll() is None and time.monotonic() < deadline:
            if bound in udp_sockets(process):
                return
            time.sleep(0.02)
        log.seek(0)
        said = log.read().decode(errors="replace").strip()
        raise CouldNotMeasure(f"`{' '.join(process.args[4:])}` does not listen on UDP port {port}: {said}")

    def run(self, command, time_out, keep_output=True):
        """A client in `a`, to its end or until it has taken `time_out` seconds."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            began = time.monotonic()
            process = self.start(self.a, command, stdout=out if keep_output else subprocess.DEVNULL, stderr=err)
            usage = wait_with_usage(process, time_out)
            wall = time.monotonic() - began
            self.running.remove(process)
            texts = [whole_text(file) for file in (out, err)]
        return Ended(command, process.returncode, *texts, wall, usage.ru_utime + usage.ru_stime)


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CouldNotMeasure(f"`ip {' '.join(words)}`: {done.stderr.strip()}")


def remove_leftovers():
    """Removes the namespaces of runs whose process is gone."""
    for name in os.listdir("/run/netns") if os.path.isdir("/run/netns") else []:
        owner = re.fullmatch(r"dlab-acc-(\d+)-[ab]", name)
        if owner and not os.path.exists(f"/proc/{owner[1]}"):
            ip("netns", "del", name)


def socket_line(address, port):
    """How /proc/net/udp writes an address and port."""
    (number,) = struct.unpack("=I", socket.inet_aton(address))
    return f"{number:08X}:{port:04X}"


def udp_sockets(process):
    """/proc/net/udp as the process sees it; empty if it has just ended."""
    try:
        with open(f"/proc/{process.pid}/net/udp") as sockets:
            return sockets.read()
    except OSError:
        return ""


def wait_with_usage(process, time_out):
    """Waits for the process's end (killing it at the time-out) and says what it used."""
    killer = threading.Timer(time_out, process.kill)
    killer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        killer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage


def whole_text(file):
    file.seek(0)
    return file.read().decode(errors="replace")
