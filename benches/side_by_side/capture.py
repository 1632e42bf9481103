"""Do the stamps agree with an independent capture? t_tx of ten thousand probes against tcpdump's."""

import contextlib
import json
import pathlib
import statistics
import struct
import sys
import tempfile
import time
from collections import Counter

from . import table, tools
from .arena import CouldNotMeasure
from .table import Heading, Row

COMMANDS = ("tcpdump",)
COUNT = 10_000
GOAL_NS = 2_000

# The pcap file format with nanoseconds, and what stands before a UDP payload on Ethernet.
MAGIC_NS = 0xA1B23C4D
ETHERNET, UDP = 14, 8


def measure(arena, options):
    print(f"capture: {COUNT:,} probes beside tcpdump", file=sys.stderr)
    client = tools.delaylab_ping(arena, "-i", "1ms", "-c", str(COUNT), "--json")
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file, tools.reflector(arena), capturing(arena, file.name):
        document = json.loads(arena.run(client, tools.grace(COUNT * tools.INTERVAL_S)).output())
        time.sleep(0.5)  # tcpdump reads its ring in blocks
        captured = departures(pathlib.Path(file.name).read_bytes())
    differences = sorted(abs(d) for d in beside(document, captured))
    if len(differences) < COUNT // 2:
        raise CouldNotMeasure(f"only {len(differences)} of {COUNT} probes have both stamps")
    return [Heading("capture: |t_tx − tcpdump|", "median", "p99", ratio=False), row(differences)]


def row(differences):
    median = statistics.median(differences)
    made = Row(f"{len(differences):,} probes", table.time(median),
               table.time(tools.nearest_rank(differences, 0.99)), [])
    made.goal, made.met = f"median < {table.time(GOAL_NS)}", median < GOAL_NS
    return made


@contextlib.contextmanager
def capturing(arena, path):
    """tcpdump on the client's veth while the block runs, from when it says that it listens."""
    # Not in immediate mode: waking tcpdump for each packet would take place between the two stamps.
    command = ["tcpdump", "-i", arena.veth, "-n", "-U", "-B", "16384", "-Z", "root",
               "--time-stamp-precision=nano", "-w", path, f"udp dst port {tools.DELAYLAB_PORT}"]
    with tempfile.TemporaryFile() as log:
        process = arena.start(arena.a, command, stdout=log, stderr=log)
        try:
            wait_for_listening(process, log)
            yield
        finally:
            arena.end(process)


def wait_for_listening(process, log):
    said = b""
    for _ in range(250):
        said = log_text(log)
        if b"listening on" in said:
            return
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise CouldNotMeasure(f"tcpdump does not capture: {said.decode(errors='replace').strip()}")


def log_text(log):
    log.seek(0)
    return log.read()


def departures(pcap):
    """(token, sequence number) to the time (CLOCK_REALTIME) of each echo request captured."""
    if len(pcap) < 24 or struct.unpack_from("<I", pcap)[0] != MAGIC_NS:
        raise CouldNotMeasure("tcpdump wrote no capture in nanoseconds")
    found, at = {}, 24
    while at + 16 <= len(pcap):
        seconds, nanoseconds, length, _ = struct.unpack_from("<IIII", pcap, at)
        payload = udp_payload(pcap[at + 16:at + 16 + length])
        if len(payload) >= 8:
            found[struct.unpack_from(">II", payload)] = seconds * 10**9 + nanoseconds
        at += 16 + length
    return found


def udp_payload(frame):
    ip_header = 4 * (frame[ETHERNET] & 0xF)
    return frame[ETHERNET + ip_header + UDP:]


def beside(document, captured):
    """t_tx − tcpdump's stamp of each probe that has both. The session's token is the one most seen."""
    if not captured:
        raise CouldNotMeasure("tcpdump saw no probe")
    ((token, _),) = Counter(token for token, _ in captured).most_common(1)
    offset = tools.figure(document, "facts.realtime_offset_ns")
    for record in document["round_trips"]:
        departed = captured.get((token, record["seq"]))
        if departed and record.get("t_tx_ns") is not None:
            yield record["t_tx_ns"] + offset - departed
