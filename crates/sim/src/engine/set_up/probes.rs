//! A probe as a flow: over datagrams, over connections that stay, or with a connection for each request.

use super::{Maker, PROBES, seed_for};
use crate::engine::request_bytes::{RequestBytes, is_by_tls, is_fresh};
use crate::engine::sections::{DATAGRAM_HEADERS, TCP_HEADERS, TIMESTAMP_OPTION, WINDOW};
use crate::engine::visits::{FreshProbe, MOST_VISITS, Says, Visit};
use crate::engine::{Asking, Flow, ProbeFlow, Serves, TcpProbe};
use crate::packet::ChannelId;
use delaylab_model::probe::Probe;
use delaylab_model::record::Answer;
use delaylab_model::refusal::Refusal;
use delaylab_model::request::Request;
use delaylab_topology::Ends;
use delaylab_traffic::prober::{Config, Expected, Prober};
use delaylab_traffic::tcp;
use std::collections::VecDeque;

/// What a probe asks with.
struct Asked<'a> {
    probe: &'a Probe,
    /// What a request to a server takes; `None`: its packets are not requests.
    bytes: Option<RequestBytes>,
    /// Bytes of a request or payload, and of its reply.
    request: u32,
    reply: u32,
    /// Is it asked on a connection?
    on_stream: bool,
    /// The request, where each is on a connection of its own.
    fresh: Option<&'a Request>,
}

impl<'a> Asked<'a> {
    fn new(probe: &'a Probe) -> Self {
        let request = probe.request.as_ref();
        let bytes = request.map(RequestBytes::from_request);
        let (own, reply) = match bytes {
            Some(bytes) => (bytes.request, bytes.reply),
            None => (probe.payload, probe.reply_payload.unwrap_or(probe.payload)),
        };
        Self {
            probe,
            bytes,
            request: own,
            reply,
            on_stream: request.is_some_and(Request::is_asked_on_stream),
            fresh: request.filter(|asked| is_fresh(asked)),
        }
    }

    /// Bytes of its IP packet; `None`: it is asked on connections.
    fn ip_size(&self) -> Option<u32> {
        let is_datagram = !self.on_stream && self.fresh.is_none();
        match &self.probe.request {
            Some(_) => is_datagram.then_some(self.request + DATAGRAM_HEADERS),
            None => self.probe.method.ip_size(false, self.request),
        }
    }

    /// What is said on a connection of its own.
    fn says(&self, request: &Request) -> Says {
        match self.bytes.filter(|_| self.on_stream) {
            None => Says::Nothing,
            Some(bytes) if is_by_tls(request) => Says::ByTls(bytes),
            Some(bytes) => Says::Plain(bytes),
        }
    }
}

impl Maker<'_> {
    /// A probe that is no stream of frames.
    pub(super) fn probe(&mut self, probe: &Probe, ends: &Ends) -> Result<(), Refusal> {
        let asked = Asked::new(probe);
        let channels = self.channels(ends, probe.dscp, probe.ecn)?;
        let flow = match (asked.fresh, asked.ip_size()) {
            (Some(request), _) => {
                Flow::Fresh(Box::new(self.on_fresh(&asked, request, ends, channels)))
            }
            (None, Some(ip_size)) => {
                Flow::Probe(Box::new(self.on_datagrams(&asked, ip_size, ends, channels)))
            }
            (None, None) => Flow::TcpProbe(Box::new(self.on_streams(&asked, ends, channels))),
        };
        self.flows.push(flow);
        Ok(())
    }

    /// With a connection for each request.
    fn on_fresh(
        &self,
        asked: &Asked<'_>,
        request: &Request,
        ends: &Ends,
        channels: [ChannelId; 2],
    ) -> FreshProbe {
        FreshProbe {
            asking: self.asking(asked, ends),
            channels,
            peer: self.number(ends.to),
            settings: self.of_probes(),
            says: asked.says(request),
            server: self.serves(asked, asked.reply),
            first: 0,
            visits: vec![Visit::default(); MOST_VISITS],
            free: (0..MOST_VISITS).collect(),
            made: 0,
        }
    }

    fn on_datagrams(
        &self,
        asked: &Asked<'_>,
        ip_size: u32,
        ends: &Ends,
        [out, back]: [ChannelId; 2],
    ) -> ProbeFlow {
        ProbeFlow {
            asking: self.asking(asked, ends),
            out,
            back,
            ip_size,
            loopback: ends.from == ends.to,
            server: self.serves(asked, asked.reply + DATAGRAM_HEADERS),
        }
    }

    /// On connections that stay, one each way.
    fn on_streams(&self, asked: &Asked<'_>, ends: &Ends, channels: [ChannelId; 2]) -> TcpProbe {
        TcpProbe {
            asking: self.asking(asked, ends),
            request: u64::from(asked.request.max(1)),
            reply: u64::from(asked.reply.max(1)),
            requests: 0,
            replies: 0,
            channels,
            peer: self.number(ends.to),
            asked: 0,
            answered: 0,
            stamps: VecDeque::new(),
            server: self.serves(asked, asked.reply),
            acknowledged: 0,
            least_round_trip: None,
        }
    }

    /// The prober of the next flow.
    fn asking(&self, asked: &Asked<'_>, ends: &Ends) -> Asking {
        let index = self.flows.len() as u16;
        let probe = asked.probe;
        let loopback = ends.from == ends.to;
        let prober = Prober::new(Config {
            trial: self.trial.id,
            probe: index,
            method: probe.method,
            dscp: probe.dscp.code_point(),
            ip_size: asked.ip_size(),
            target: None,
            pacing: probe.pacing,
            seed: seed_for(self.trial, PROBES, u64::from(index)),
            start: 0,
            count: probe.count,
            duration: probe.duration,
            timeout: probe.timeout,
            expected: Expected {
                // A handshake alone is no request that could be stamped.
                departures: !probe.method.is_handshake(),
                follow_ups: !loopback && probe.request.is_none(),
                acks: asked.on_stream,
            },
        });
        Asking {
            prober,
            host: self.number(ends.from),
            waiting: false,
            only_waits: false,
            done: false,
        }
    }

    /// The server, with replies of this length; `None`: a reflector does.
    fn serves(&self, asked: &Asked<'_>, reply: u32) -> Option<Serves> {
        Some(Serves {
            server: self.number_of_server(asked.probe)?,
            reply,
            plain: asked.bytes?.plain,
            answer: match asked.probe.request.as_ref()? {
                Request::Http(_) => Answer::Status(200),
                Request::Connect { .. } => Answer::Open,
                Request::Dns(_) => Answer::Code(0),
            },
        })
    }

    /// The number of the server that a probe asks.
    fn number_of_server(&self, probe: &Probe) -> Option<u32> {
        let path = &self.trial.path;
        let asked = path.server_of(probe)?;
        let mut servers = path.server.iter().zip(0..);
        let (_, number) = servers.find(|(server, _)| server.name == asked.name)?;
        Some(number)
    }

    /// How the end systems of a probe over TCP are, from the handshake on.
    pub(super) fn of_probes(&self) -> tcp::Settings {
        let mss = self.built.mtu - TCP_HEADERS - TIMESTAMP_OPTION;
        tcp::Settings {
            application: tcp::Application::Requests,
            host_queue: None,
            ..tcp::Settings::modern(mss, WINDOW)
        }
    }
}
