"""Web and name servers of Debian, asked by curl, httping, hey, wrk and dnsperf, and by delaylab in the same rounds.

nginx and Unbound run in `b`. What the others can say (connecting, the first byte, a whole answer) is compared, and
CPU time of the client for each request. None of the others separates the network from the server.
"""

import contextlib
import json
import pathlib
import re
import sys
import tempfile

from .arena import CouldNotMeasure
from .load import started
from .table import Heading, compared, per_second
from .table import time as duration
from .tools import DELAYLAB

COMMANDS = ("nginx", "unbound", "curl", "httping", "wrk", "hey", "dnsperf")
COUNT, SECONDS = 100, 3
TIME_OUT_S = 60
WEB = """daemon off; pid {folder}/pid; error_log stderr; worker_processes 1;
events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 1000000000; keepalive_timeout 1d;
    server {{ listen {address}:80; location / {{ return 200 "{page}"; }} }} }}
"""
NAMES = """server:
    interface: {address}
    access-control: 0.0.0.0/0 allow
    pidfile: ""
    username: ""
    chroot: ""
    directory: "{folder}"
    use-syslog: no
    do-ip6: no
    do-daemonize: no
    module-config: "iterator"
    local-zone: "." redirect
    local-data: ". 3600 A 192.0.2.1"
remote-control:
    control-enable: no
"""


def measure(arena, options):
    rounds = options.rounds or 3
    found = {}
    with tempfile.TemporaryDirectory() as folder, serving(arena, pathlib.Path(folder)):
        for number in range(rounds):
            print(f"servers: round {number + 1} of {rounds}", file=sys.stderr)
            for name, ask in ASKED.items():
                for what, value in ask(arena, folder).items():
                    found.setdefault((name, what), []).append(value)
    rows = []
    for peer, whats in COMPARED.items():
        rows.append(Heading(f"servers: {rounds} rounds", peer, "delaylab"))
        for what, show, goal in whats:
            rows.append(compared(what, found[peer, what], found[f"beside {peer}", what], show, goal))
    return rows


@contextlib.contextmanager
def serving(arena, folder):
    files = {"nginx": WEB.format(folder=folder, address=arena.server, page="x" * 1000),
             "unbound": NAMES.format(folder=folder, address=arena.server)}
    for name, text in files.items():
        (folder / name).write_text(text)
    nginx = ["nginx", "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx")]
    unbound = ["unbound", "-d", "-p", "-c", str(folder / "unbound")]
    with started(arena, nginx), started(arena, unbound):
        yield


def delaylab(arena, *words):
    return json.loads(arena.run([DELAYLAB, "ping", *words, "--json", "-q"], TIME_OUT_S).output())


def stage(document, *names):
    """The mean of these stages at the median, in nanoseconds."""
    parts = document["stats"]["anatomy"][0]["stages"]
    return sum(part["time_ns"] for part in parts if set(part["stage"].split("+")) & set(names))


def url(arena):
    return f"http://{arena.server}/"


def by_curl(arena, _):
    form = "%{time_connect} %{time_starttransfer} %{time_total}\\n"
    words = ["curl", "-s", "-o", "/dev/null", "-H", "Connection: close", "-w", form]
    lines = []
    for _ in range(COUNT):
        lines.append([float(word) * 1e9 for word in arena.run([*words, url(arena)], TIME_OUT_S).output().split()])
    middle = sorted(range(COUNT), key=lambda at: lines[at][2])[COUNT // 2]
    return {"connecting": lines[middle][0], "the whole response": lines[middle][2]}


def fresh(arena, _):
    document = delaylab(arena, url(arena), "--fresh", "-c", str(COUNT), "-i", "5ms")
    return {"connecting": stage(document, "connect"), "the whole response": document["stats"]["response"]["p50_ns"]}


def by_httping(arena, _):
    words = ["httping", "-c", str(COUNT), "-i", "0.005", "-G", "-g", url(arena)]
    said = arena.run(words, TIME_OUT_S).output()
    times = sorted(float(found) for found in re.findall(r"time=\s*([\d.]+) ms", said))
    if not times:
        raise CouldNotMeasure(f"`{' '.join(words)}` said no times")
    return {"the whole response": times[len(times) // 2] * 1e6}


def cost(ended, requests):
    return ended.cpu_s * 1e9 / requests


def by_hey(arena, _):
    ended = arena.run(["hey", "-z", f"{SECONDS}s", "-c", "1", url(arena)], TIME_OUT_S)
    found = re.search(r"\[200\]\s+(\d+) responses", ended.output())
    return {"CPU time a request": cost(ended, int(found[1])), "requests": int(found[1]) / SECONDS}


def by_wrk(arena, _):
    ended = arena.run(["wrk", "-t", "1", "-c", "1", "-d", f"{SECONDS}s", url(arena)], TIME_OUT_S)
    requests = int(re.search(r"(\d+) requests in", ended.output())[1])
    return {"CPU time a request": cost(ended, requests), "requests": requests / SECONDS}


def closed_loop(arena, *words):
    """How many were answered, and how it ended."""
    ended = arena.run([DELAYLAB, "ping", *words, "--after-reply", "0s", "-w", f"{SECONDS}s",
                       "--allow-load", "-q"], TIME_OUT_S)
    return int(re.search(r"(\d+) received", ended.output())[1]), ended


def kept(arena, _):
    requests, ended = closed_loop(arena, url(arena), "--no-handshakes")
    return {"CPU time a request": cost(ended, requests), "requests": requests / SECONDS}


def by_dnsperf(arena, folder):
    asked = pathlib.Path(folder) / "asked"
    asked.write_text("www.example.test A\n")
    words = ["dnsperf", "-s", arena.server, "-d", str(asked), "-l", str(SECONDS), "-c", "1", "-q", "1"]
    ended = arena.run(words, TIME_OUT_S)
    said = ended.output()
    answered = int(re.search(r"Queries completed:\s+(\d+)", said)[1])
    mean = float(re.search(r"Average Latency \(s\):\s+([\d.]+)", said)[1])
    return {"CPU time a question": cost(ended, answered), "mean response": mean * 1e9}


def names(arena, _):
    server = f"dns://{arena.server}/www.example.test"
    answered, ended = closed_loop(arena, server)
    document = delaylab(arena, server, "--after-reply", "0s", "-c", "2000", "--allow-load")
    return {"CPU time a question": cost(ended, answered), "mean response": document["stats"]["response"]["mean_ns"]}


ASKED = {"curl": by_curl, "beside curl": fresh, "httping": by_httping, "beside httping": fresh, "hey": by_hey,
         "beside hey": kept, "wrk": by_wrk, "beside wrk": kept, "dnsperf": by_dnsperf, "beside dnsperf": names}
COMPARED = {
    "curl": [("connecting", duration, ""), ("the whole response", duration, "")],
    "httping": [("the whole response", duration, "")],
    "hey": [("CPU time a request", duration, "≤ 1.25 ×"), ("requests", per_second, "")],
    "wrk": [("CPU time a request", duration, ""), ("requests", per_second, "")],
    "dnsperf": [("CPU time a question", duration, ""), ("mean response", duration, "")],
}
