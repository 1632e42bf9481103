"""Servers of Debian, asked by curl, httping, hey, wrk, dnsperf and blackbox_exporter, and by delaylab in the same rounds.

nginx, Unbound and PostgreSQL run in `b`, blackbox_exporter in `a`. What the others can say (connecting, the first byte, a
whole answer) is compared, and CPU time of the client for each request. None of the others separates the network from the server.
"""

import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from .arena import CouldNotMeasure
from .load import started
from .table import Heading, compared, per_second
from .table import time as duration
from .tools import DELAYLAB

COMMANDS = ("nginx", "unbound", "curl", "httping", "wrk", "hey", "dnsperf", "pg_createcluster", "setpriv",
            "prometheus-blackbox-exporter")
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
# What blackbox_exporter is asked to do.
MODULES = """modules:
  page: { prober: http, timeout: 5s, http: { preferred_ip_protocol: ip4 } }
  port: { prober: tcp, timeout: 5s, tcp: { preferred_ip_protocol: ip4 } }
"""
EXPORTER = "127.0.0.1:9115"
POSTGRESQL = 5432


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
    with started(arena, nginx), started(arena, unbound), database(arena), exporter(arena, folder):
        yield


@contextlib.contextmanager
def database(arena):
    """PostgreSQL, which runs as anyone but root, with a cluster of its own."""
    places = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    if not places:
        raise CouldNotMeasure("PostgreSQL has no folder below /usr/lib/postgresql")
    with tempfile.TemporaryDirectory() as folder:
        shutil.chown(folder, "nobody", "nogroup")
        as_nobody = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "env", "HOME=" + folder]
        data = f"{folder}/data"
        arena.run([*as_nobody, str(places[-1] / "initdb"), "-D", data, "-A", "trust", "--no-sync"], TIME_OUT_S).output()
        options = ["-c", f"listen_addresses={arena.server}", "-c", f"port={POSTGRESQL}", "-c", "unix_socket_directories="]
        with started(arena, [*as_nobody, str(places[-1] / "postgres"), "-D", data, *options]):
            yield


@contextlib.contextmanager
def exporter(arena, folder):
    """blackbox_exporter beside the clients."""
    modules = folder / "modules.yml"
    modules.write_text(MODULES)
    command = ["prometheus-blackbox-exporter", f"--config.file={modules}", f"--web.listen-address={EXPORTER}"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = arena.start(arena.a, command, **quiet)
    try:
        time.sleep(0.5)
        yield
    finally:
        arena.end(process)


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


def probed(arena, module, target):
    """What blackbox_exporter says of as many probes: each figure at its median, in nanoseconds."""
    asked = f"http://{EXPORTER}/probe?module={module}&target={target}"
    found = {}
    for _ in range(COUNT):
        said = arena.run(["curl", "-s", asked], TIME_OUT_S).output()
        for name, value in re.findall(r"^(probe_\w+(?:{[^}]*})?) ([\d.e+-]+)$", said, re.MULTILINE):
            found.setdefault(name, []).append(float(value) * 1e9)
    if min(found.get("probe_success", [0])) == 0:
        raise CouldNotMeasure(f"blackbox_exporter: `{asked}` did not succeed")
    return {name: sorted(values)[len(values) // 2] for name, values in found.items()}


def by_blackbox(arena, _):
    said = probed(arena, "page", url(arena))
    phase = {name: said[f'probe_http_duration_seconds{{phase="{name}"}}'] for name in ("connect", "processing", "transfer")}
    return {"connecting": phase["connect"], "request to first byte": phase["processing"], "transfer": phase["transfer"],
            "the whole response": said["probe_duration_seconds"]}


def phases(arena, _):
    document = delaylab(arena, url(arena), "--fresh", "-c", str(COUNT), "-i", "5ms")
    first = stage(document, "send_stack", "local_queue", "forward_path", "server", "return_path")
    return {"connecting": stage(document, "connect"), "request to first byte": first,
            "transfer": stage(document, "transfer"), "the whole response": document["stats"]["response"]["p50_ns"]}


def port_by_blackbox(arena, _):
    return {"connecting": probed(arena, "port", f"{arena.server}:{POSTGRESQL}")["probe_duration_seconds"]}


def port(arena, _):
    document = delaylab(arena, f"{arena.server}:{POSTGRESQL}", "--method", "tcp-connect", "-c", str(COUNT), "-i", "5ms")
    closed = [trip["answer"] for trip in document["round_trips"] if trip["answer"] != "open"]
    if closed:
        raise CouldNotMeasure(f"PostgreSQL's port answered {closed[0]}")
    return {"connecting": document["stats"]["response"]["p50_ns"]}


ASKED = {"curl": by_curl, "beside curl": fresh, "httping": by_httping, "beside httping": fresh, "hey": by_hey,
         "beside hey": kept, "wrk": by_wrk, "beside wrk": kept, "dnsperf": by_dnsperf, "beside dnsperf": names,
         "blackbox_exporter": by_blackbox, "beside blackbox_exporter": phases,
         "blackbox_exporter, PostgreSQL": port_by_blackbox, "beside blackbox_exporter, PostgreSQL": port}
COMPARED = {
    "curl": [("connecting", duration, ""), ("the whole response", duration, "")],
    "httping": [("the whole response", duration, "")],
    "hey": [("CPU time a request", duration, "≤ 1.25 ×"), ("requests", per_second, "")],
    "wrk": [("CPU time a request", duration, ""), ("requests", per_second, "")],
    "dnsperf": [("CPU time a question", duration, ""), ("mean response", duration, "")],
    "blackbox_exporter": [("connecting", duration, ""), ("request to first byte", duration, ""), ("transfer", duration, ""),
                          ("the whole response", duration, "")],
    "blackbox_exporter, PostgreSQL": [("connecting", duration, "")],
}
