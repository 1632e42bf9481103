#!/usr/bin/env python3
"""The dumbbell in ns-3. Prints one line of JSON.

ns-3 runs as it was compiled for its wheel; Python only puts the network together. What is called for
each packet (counting hops, the echo's round trips) is C++ too.
"""

import argparse

import cppyy
from ns import ns

from report import Report

LINK = {"rate": "155.52Mbps", "delay": "5us"}
HEADERS = 20 + 20 + 12  # IPv4, TCP, the timestamp option
SEND_SIZE = 8_192
BOTTLENECK = "624000B"
# Of a host: it has no limit. ns-3's default of 100 packets would lose a tenth of what slow start sends at an MTU of 1500.
ENDLESS = "1000000p"
ECHO_FROM_S, ECHO_EVERY_S, ECHO_SIZE, ECHO_LAST_S = 0.5, 0.005, 1024, 0.25
ECHO_PORT, BULK_PORT = 9, 5001

COUNTERS = """
#include <algorithm>
#include <unordered_map>
#include "ns3/core-module.h"
#include "ns3/network-module.h"

namespace dumbbell {
uint64_t hops = 0, echoes = 0, requests = 0;
std::unordered_map<uint64_t, double> sent_us;  // by packet, for some are lost; the server sends the same one back
double sum_us = 0, max_us = 0, until_us = 0;  // later requests may be under way at the end: they are not counted

double now() { return ns3::Simulator::Now().GetNanoSeconds() / 1e3; }
void hop(ns3::Ptr<const ns3::Packet>) { ++hops; }
void sent(ns3::Ptr<const ns3::Packet> packet) {
    if (now() >= until_us) return;
    ++requests;
    sent_us[packet->GetUid()] = now();
}
void received(ns3::Ptr<const ns3::Packet> packet) {
    auto request = sent_us.find(packet->GetUid());
    if (request == sent_us.end()) return;
    double round_trip = now() - request->second;
    sent_us.erase(request);
    ++echoes;
    sum_us += round_trip;
    max_us = std::max(max_us, round_trip);
}
void count(ns3::Ptr<ns3::NetDevice> device) {
    device->TraceConnectWithoutContext("PhyRxEnd", ns3::MakeCallback(&hop));
}
void watch(ns3::Ptr<ns3::Application> echo) {
    echo->TraceConnectWithoutContext("Tx", ns3::MakeCallback(&sent));
    echo->TraceConnectWithoutContext("Rx", ns3::MakeCallback(&received));
}
}
"""


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flows", type=int, help="bulk TCP flows")
    parser.add_argument("seconds", type=float, help="simulated time")
    parser.add_argument("--mtu", type=int, default=9188, help="of every link, bytes [9188]")
    parser.add_argument("--window", type=int, default=65_536, help="socket buffers, bytes [65536]")
    parser.add_argument("--stagger", type=float, default=0.1, help="seconds between the starts of two flows [0.1]")
    parser.add_argument("--no-sack", action="store_true", help="without selective acknowledgements (RFC 2018)")
    parser.add_argument("--classic-recovery", action="store_true", help="RFC 6582's recovery, not ns-3's default of PRR")
    return parser.parse_args()


def set_defaults(args):
    recovery = "ns3::TcpClassicRecovery" if args.classic_recovery else "ns3::TcpPrrRecovery"
    for name, value in {
        "TcpL4Protocol::SocketType": ns.StringValue("ns3::TcpNewReno"),
        "TcpL4Protocol::RecoveryType": ns.TypeIdValue(ns.TypeId.LookupByName(recovery)),
        "TcpSocketBase::Sack": ns.BooleanValue(not args.no_sack),
        "TcpSocket::SegmentSize": ns.UintegerValue(args.mtu - HEADERS),
        "TcpSocket::SndBufSize": ns.UintegerValue(args.window),
        "TcpSocket::RcvBufSize": ns.UintegerValue(args.window),
        "BulkSendApplication::SendSize": ns.UintegerValue(SEND_SIZE),
        "PointToPointNetDevice::Mtu": ns.UintegerValue(args.mtu),
    }.items():
        ns.Config.SetDefault(f"ns3::{name}", value)


class Network:
    """Two routers, and a pair of hosts for the echo and for each flow."""

    def __init__(self, flows):
        self.addresses = ns.Ipv4AddressHelper(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.252"))
        self.stack = ns.InternetStackHelper()
        near, far = self.router(), self.router()
        self.link(near, far, BOTTLENECK)
        self.pairs = [(self.host(near), self.host(far)) for _ in range(flows + 1)]
        ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()

    def router(self):
        nodes = ns.NodeContainer(1)
        self.stack.Install(nodes)
        return nodes.Get(0)

    def host(self, router):
        """A host at this router, and its address."""
        node = self.router()
        return node, self.link(node, router).GetAddress(0)

    def link(self, one, other, queue=None):
        helper = ns.PointToPointHelper()
        # With it a device takes nothing, however small, while its queue has no room for a packet of the
        # MTU: echoes are lost that fit, and the queue never fills. It would bring queue discs, too.
        helper.DisableFlowControl()
        helper.SetDeviceAttribute("DataRate", ns.StringValue(LINK["rate"]))
        helper.SetChannelAttribute("Delay", ns.StringValue(LINK["delay"]))
        devices = helper.Install(one, other)
        interfaces = self.addresses.Assign(devices)
        self.addresses.NewNetwork()
        for i in range(2):
            cppyy.gbl.dumbbell.count(devices.Get(i))
            devices.Get(i).GetQueue().SetMaxSize(ns.QueueSize(queue or ENDLESS))
        return interfaces


def start(helper, node, at_s, end_s):
    applications = helper.Install(node)
    applications.Start(ns.Seconds(at_s))
    applications.Stop(ns.Seconds(end_s))
    return applications.Get(0)


def add_echo(pair, end_s):
    (client, _), (server, address) = pair
    start(ns.UdpEchoServerHelper(ECHO_PORT), server, 0, end_s)
    helper = ns.UdpEchoClientHelper(ns.InetSocketAddress(address, ECHO_PORT).ConvertTo())
    helper.SetAttribute("MaxPackets", ns.UintegerValue(2**32 - 1))
    helper.SetAttribute("Interval", ns.TimeValue(ns.Seconds(ECHO_EVERY_S)))
    helper.SetAttribute("PacketSize", ns.UintegerValue(ECHO_SIZE))
    cppyy.gbl.dumbbell.watch(start(helper, client, ECHO_FROM_S, end_s))


def add_bulk(pair, at_s, end_s):
    (client, _), (server, address) = pair
    anywhere = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), BULK_PORT).ConvertTo()
    start(ns.PacketSinkHelper("ns3::TcpSocketFactory", anywhere), server, 0, end_s)
    there = ns.InetSocketAddress(address, BULK_PORT).ConvertTo()
    helper = ns.BulkSendHelper("ns3::TcpSocketFactory", there)
    helper.SetAttribute("MaxBytes", ns.UintegerValue(0))
    start(helper, client, at_s, end_s)


def main():
    args = options()
    cppyy.cppdef(COUNTERS)
    cppyy.gbl.dumbbell.until_us = (args.seconds - ECHO_LAST_S) * 1e6
    set_defaults(args)
    network = Network(args.flows)
    add_echo(network.pairs[0], args.seconds)
    for i, pair in enumerate(network.pairs[1:]):
        add_bulk(pair, args.stagger * i, args.seconds)
    ns.Simulator.Stop(ns.Seconds(args.seconds))
    with Report() as report:
        ns.Simulator.Run()
    seen = cppyy.gbl.dumbbell
    report.show(
        hops=seen.hops,
        echoes_sent=seen.requests,
        echoes=seen.echoes,
        echo_mean_us=seen.sum_us / seen.echoes,
        echo_max_us=seen.max_us,
    )


if __name__ == "__main__":
    main()
