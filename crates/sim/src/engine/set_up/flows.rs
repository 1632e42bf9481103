//! Those who send: streams of frames, loads, and connections of loads and probes.

use super::{LOADS, Maker, TICKS, seed_for};
use crate::amounts::Amounts;
use crate::engine::frames::FrameStream;
use crate::engine::sections::{TCP_HEADERS, TIMESTAMP_OPTION, arrivals};
use crate::engine::shares::{Shares, stretch};
use crate::engine::tcp_load::settings_of;
use crate::engine::{Barrier, Connection, Flow, Load, MOST_SERIES, Transfers};
use crate::trace::Trace;
use delaylab_model::Picos;
use delaylab_model::frames::Frames;
use delaylab_model::load::{Load as LoadSection, LoadKind};
use delaylab_model::probe::{Pacing, Probe};
use delaylab_model::quantity::Duration;
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_stats::random::SplitMix;
use delaylab_topology::Ends;
use delaylab_topology::time::picos;
use delaylab_traffic::tcp;
use delaylab_traffic::tester::Ledger;
use std::collections::BTreeMap;

impl Maker<'_> {
    pub(super) fn flows(&mut self) -> Result<(), Refusal> {
        let trial = self.trial;
        for (probe, ends) in trial.probes.iter().zip(&self.built.probes) {
            match probe.frames {
                Some(frames) => self.frames(probe, frames, ends)?,
                None => self.probe(probe, ends)?,
            }
            self.names.push(probe.name.as_str().into());
        }
        for index in 0..trial.probes.len() {
            self.connections_of(index);
        }
        let first_load = self.flows.len();
        self.names.resize(first_load, "probe".into());
        self.first_load = first_load as u32;
        for (load, streams) in trial.loads.iter().zip(&self.built.loads) {
            let together = load.kind == LoadKind::Transfers && load.barrier.unwrap_or(true);
            let is_tcp = matches!(load.kind, LoadKind::Tcp | LoadKind::Transfers);
            let streams_of_it = streams.len() as u32;
            self.barriers
                .push((together && streams_of_it > 0).then_some(Barrier {
                    first: self.flows.len() as u32,
                    streams: streams_of_it,
                    waits_for: streams_of_it,
                }));
            let goodput = is_tcp && streams_of_it > 0;
            self.goodputs.push(goodput.then(Amounts::default));
            let first = self.flows.len();
            for (stream, ends) in streams.iter().enumerate() {
                self.load(load, stream as u64, ends)?;
                self.names.push(match streams.len() {
                    1 => load.name.as_str().into(),
                    _ => format!("{} {}", load.name, stream + 1).into(),
                });
            }
            let stretch = stretch(self.built.mtu, self.fair_share(first));
            // Of others it is not counted what arrives when.
            let connections = self.flows[first..].iter().filter_map(Flow::connection);
            let begins = connections.map(|connection| connection.starts).collect();
            self.shares.push(Shares::new(&load.name, begins, stretch));
        }
        Ok(())
    }

    /// The least that a flow from this one on gets, in bit/s, where the line of each of its links is shared evenly among them.
    fn fair_share(&self, first: usize) -> u64 {
        let connections = self.flows[first..].iter().filter_map(Flow::connection);
        let mut through: BTreeMap<u32, u64> = BTreeMap::new();
        for port in connections.flat_map(|connection| self.links(connection.data)) {
            *through.entry(*port).or_default() += 1;
        }
        let shares = through.iter();
        let shares = shares.map(|(&port, flows)| self.network.ports[port as usize].rate / flows);
        shares.min().unwrap_or(u64::MAX)
    }

    /// A stream of a tester's frames.
    fn frames(&mut self, probe: &Probe, frames: Frames, ends: &Ends) -> Result<(), Refusal> {
        let index = self.flows.len() as u16;
        let [channel, _] = self.channels(ends, probe.dscp, 0)?;
        let Pacing::Frames { interval_ps } = probe.pacing else {
            return refuse(
                "probe",
                "frames are paced by `load`, a share of the line rate",
            );
        };
        self.flows.push(Flow::Frames(Box::new(FrameStream {
            channel,
            ip_size: frames.ip_size(),
            start: picos(Some(Duration(frames.start))),
            interval: interval_ps,
            count: probe.frames_due(),
            drain: picos(Some(Duration(probe.timeout))),
            ledger: Ledger::new(self.trial.id, index, probe),
            done: false,
        })));
        Ok(())
    }

    /// The connections of a probe over TCP: one each way, or as many as it can have at once.
    fn connections_of(&mut self, index: usize) {
        let next = self.flows.len() as u32;
        let (visits, [out, back], host, peer) = match &mut self.flows[index] {
            Flow::TcpProbe(probe) => {
                (probe.requests, probe.replies) = (next, next + 1);
                (1, probe.channels, probe.asking.host, probe.peer)
            }
            Flow::Fresh(probe) => {
                probe.first = next;
                let visits = probe.visits.len();
                self.spare += 2 * visits;
                (visits, probe.channels, probe.asking.host, probe.peer)
            }
            _ => return,
        };
        let settings = tcp::Settings {
            // A probe asks on an open connection; one that is made for a request begins with that.
            handshake: false,
            ..self.of_probes()
        };
        let ends = [(out, back, host, peer), (back, out, peer, host)];
        let ends = [false, true].into_iter().zip(ends);
        for (is_reply, (data, acks, from, to)) in (0..visits).flat_map(|_| ends.clone()) {
            self.flows.push(Flow::Tcp(Box::new(Connection {
                sender: tcp::Sender::new(&settings, 0),
                receiver: tcp::Receiver::new(&settings),
                data,
                acks,
                from,
                to,
                headers: TCP_HEADERS + TIMESTAMP_OPTION,
                sending: false,
                queued: 0,
                throttled: false,
                starts: 0,
                probe: Some((index as u32, is_reply)),
                stream: None,
                cwnd: None,
                delivered: 0,
                goodput: None,
                transfers: None,
                srtt: None,
            })));
        }
    }

    /// How many flows there are, without the connections that take each other's place.
    fn flows_so_far(&self) -> usize {
        self.flows.len() - self.spare
    }

    fn load(&mut self, load: &LoadSection, stream: u64, ends: &Ends) -> Result<(), Refusal> {
        let start = picos(load.start) + stream * picos(load.stagger);
        let host = self.number(ends.from);
        if !matches!(load.kind, LoadKind::Tcp | LoadKind::Transfers) {
            let seed = seed_for(self.trial, LOADS, self.flows_so_far() as u64);
            let mut arrivals = arrivals(load, start, seed)?;
            let [channel, _] = self.channels(ends, load.class.0, 0)?;
            let next = arrivals.next();
            self.flows.push(Flow::Load(Box::new(Load {
                arrivals,
                host,
                channel,
                next,
                waiting: false,
                late: false,
            })));
            return Ok(());
        }
        let settings = self.out_of_step(settings_of(load, self.built.mtu)?);
        let [data, acks] = self.channels(ends, load.class.0, settings.ecn_bits())?;
        let option = if settings.timestamps {
            TIMESTAMP_OPTION
        } else {
            0
        };
        let series = self.flows_so_far() < MOST_SERIES;
        self.flows.push(Flow::Tcp(Box::new(Connection {
            sender: tcp::Sender::new(&settings, start),
            receiver: tcp::Receiver::new(&settings),
            data,
            acks,
            from: host,
            to: self.number(ends.to),
            headers: TCP_HEADERS + option,
            sending: false,
            queued: 0,
            throttled: false,
            starts: start,
            probe: None,
            stream: Some((self.shares.len() as u32, stream as u32)),
            cwnd: series.then(|| Trace::starting(start, settings.initial_window)),
            delivered: 0,
            goodput: series.then(Amounts::default),
            transfers: self.transfers(load, start),
            srtt: None,
        })));
        Ok(())
    }

    /// What the streams of this load transfer, the first from `start` on.
    fn transfers(&self, load: &LoadSection, start: Picos) -> Option<Box<Transfers>> {
        let bytes = load.bytes.filter(|_| load.kind == LoadKind::Transfers)?.0;
        let number = self.barriers.len() as u32 - 1;
        let together = self.barriers.last().is_some_and(Option::is_some);
        Some(Box::new(Transfers {
            bytes,
            gap: picos(load.gap),
            left: load.rounds.map_or(u32::MAX, |rounds| rounds - 1),
            due: Some(start),
            begun: Vec::new(),
            ended: Vec::new(),
            barrier: together.then_some(number),
        }))
    }

    /// Hosts were not switched on together: where the ticks of coarse timers fall is drawn.
    fn out_of_step(&self, mut settings: tcp::Settings) -> tcp::Settings {
        if let tcp::Timer::Coarse { tick, phase, .. } = &mut settings.timer {
            let seed = seed_for(self.trial, TICKS, self.flows_so_far() as u64);
            *phase = (SplitMix::new(seed).uniform() * *tick as f64) as Picos;
        }
        settings
    }
}
