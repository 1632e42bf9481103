#!/usr/bin/env python3
"""The dumbbell in SimPy: dumbbell_simpy.py FLOWS SECONDS. Prints one line of JSON.

A plain model, as SimPy's manual would have it: a link is a process that takes packets from a store,
and propagation is a timeout. Senders keep a full window under way and receivers answer every second
segment; the bottleneck holds every window, so nothing is lost and nothing needs to be repeated. What
TCP does beyond that (slow start, timers) is left out, which is in SimPy's favour.
"""

import sys
from collections import namedtuple

import simpy

from report import Report

RATE, DELAY_S, MTU, BOTTLENECK = 155.52e6, 5e-6, 9188, 624_000
FRAMING, WINDOW, ACK = 2, 65_536, 52
SEGMENT = MTU - ACK
STAGGER_S, ECHO_FROM_S, ECHO_EVERY_S, ECHO = 0.1, 0.5, 0.005, 1024 + 28

Packet = namedtuple("Packet", "size flow sent back")


class Link:
    """A queue and a line, each packet handed on when its last bit has arrived."""
    hops = 0

    def __init__(self, env, hand_on, limit=float("inf")):
        self.env, self.hand_on, self.limit = env, hand_on, limit
        self.queue, self.queued = simpy.Store(env), 0
        env.process(self.transmit())

    def send(self, packet):
        if self.queued + packet.size <= self.limit:
            self.queued += packet.size
            self.queue.put(packet)

    def transmit(self):
        while True:
            packet = yield self.queue.get()
            self.queued -= packet.size
            yield self.env.timeout((packet.size + FRAMING) * 8 / RATE)
            self.env.process(self.travel(packet))

    def travel(self, packet):
        yield self.env.timeout(DELAY_S)
        Link.hops += 1
        self.hand_on(packet)


class Echo:
    def __init__(self, env):
        self.env, self.round_trips = env, []

    def run(self):
        yield self.env.timeout(ECHO_FROM_S)
        while True:
            self.out(Packet(ECHO, 0, self.env.now, False))
            yield self.env.timeout(ECHO_EVERY_S)

    def at_server(self, packet):
        self.back(packet._replace(back=True))

    def at_client(self, packet):
        self.round_trips.append(self.env.now - packet.sent)


class Bulk:
    """Whole segments of a window."""

    def __init__(self, env, flow):
        self.env, self.flow, self.unanswered = env, flow, 0

    def run(self):
        yield self.env.timeout(STAGGER_S * (self.flow - 1))
        self.send(WINDOW // SEGMENT)

    def send(self, segments):
        for _ in range(segments):
            self.out(Packet(MTU, self.flow, self.env.now, False))

    def at_server(self, _):
        self.unanswered += 1
        if self.unanswered == 2:
            self.unanswered = 0
            self.back(Packet(ACK, self.flow, self.env.now, True))

    def at_client(self, _):
        self.send(2)


def dumbbell(env, applications):
    """Two routers and a pair of hosts for each application."""
    ways = {}
    forward = Link(env, lambda packet: ways[packet.flow, False].send(packet), BOTTLENECK)
    backward = Link(env, lambda packet: ways[packet.flow, True].send(packet), BOTTLENECK)
    for flow, application in enumerate(applications):
        ways[flow, False] = Link(env, application.at_server)
        ways[flow, True] = Link(env, application.at_client)
        application.out = Link(env, forward.send).send
        application.back = Link(env, backward.send).send
        env.process(application.run())


def main():
    flows, seconds = int(sys.argv[1]), float(sys.argv[2])
    env = simpy.Environment()
    echo = Echo(env)
    dumbbell(env, [echo, *(Bulk(env, flow) for flow in range(1, flows + 1))])
    with Report() as report:
        env.run(until=seconds)
    micros = [1e6 * round_trip for round_trip in echo.round_trips]
    report.show(hops=Link.hops, echo_mean_us=sum(micros) / len(micros), echo_max_us=max(micros))


if __name__ == "__main__":
    main()
