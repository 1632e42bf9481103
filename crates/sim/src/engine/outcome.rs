//! What comes of a simulation beside its records.

use super::flow_control::Control;
use super::links::mix;
use super::probes::taken;
use super::{Engine, Flow, Hop, Node, Noise};
use crate::event_set::EventSet;
use crate::nic::Nic;
use crate::trace::{OverTime, Trace};
use delaylab_model::noise::ClockReads;
use delaylab_model::plan::Unit as Counted;
use delaylab_model::probe::HostCondition;
use delaylab_model::series::{KeptSeries, SeriesPoint, SeriesValue};
use delaylab_model::trial::{Dropped, RecordFacts, ReflectorClock, Residence};
use delaylab_switch::Cause;
use std::sync::Arc;

impl<E: EventSet> Engine<E> {
    /// A digest of every arrival at the end of a link (what, where and when) and of the records taken so far. Two
    /// simulations that agree in it have done the same.
    pub fn trace_hash(&self) -> u64 {
        mix(self.digest, self.digest_of_records)
    }

    /// How to read the records of this probe.
    pub fn record_facts(&self, probe: usize) -> RecordFacts {
        let alone = match &self.flows[probe] {
            Flow::Probe(probe) => probe.loopback,
            flow => matches!(flow, Flow::Frames(_)),
        };
        // What comes back by itself meets no reflector.
        match alone {
            true => RecordFacts::default(),
            false => RecordFacts {
                reflector_clock: ReflectorClock::Same,
                residence: Residence::ToDriver,
            },
        }
    }

    /// As in `s1→s2`.
    pub fn port_name(&self, port: u32) -> Arc<str> {
        self.port_names[port as usize].clone()
    }

    /// What probes' packets met in queues since the last call.
    pub fn take_hops(&mut self) -> Vec<Hop> {
        taken(&mut self.hops)
    }

    /// What disturbed the measuring host since the last call.
    pub fn take_noise(&mut self) -> Vec<Noise> {
        std::mem::take(&mut self.noise)
    }

    /// What clock reads of the measuring host cost. To be called once, at the end.
    pub fn take_clock_reads(&mut self, trial: u32) -> Vec<ClockReads> {
        ClockReads::rows(trial, std::mem::take(&mut self.clock_reads))
    }

    /// Units in the queues of switches and on links.
    pub(super) fn count_under_way(&mut self) {
        let on_links: usize = (self.ports.iter().map(|port| port.pipe.len()))
            .chain(self.controls.iter().map(Control::under_way))
            .sum();
        let backlog = |node: &Node| {
            let ports = 0..node.ports.len();
            ports
                .map(|port| node.switch.backlog(port).items)
                .sum::<u64>()
        };
        let queued: u64 = self.switches.iter().map(backlog).sum();
        self.counts.under_way = on_links as u64 + queued;
    }

    /// Cells or packets of loads that were dropped.
    pub fn lost_load(&self) -> u64 {
        self.lost_load
    }

    /// Where something was dropped and why, as sentences that repeated trials share.
    pub fn warnings(&self) -> Vec<String> {
        let what = if self.in_cells { "cells" } else { "packets" };
        let sentence = |&(port, cause): &(u32, Cause)| {
            let port = &self.port_names[port as usize];
            let why = cause.words();
            Dropped { what, port, why }.sentence()
        };
        self.counts.dropped.keys().map(sentence).collect()
    }

    /// What its hosts cannot do that they were asked for.
    pub fn lacks(&self, condition: HostCondition) -> Option<String> {
        let loaded = self.hosts.iter().any(|host| !host.daemons.is_empty());
        let nothing = condition == HostCondition::Stressed && !loaded;
        nothing.then(|| {
            "condition stressed changes nothing: the simulated hosts have no processes in it. Set path.host.noise = \
             \"linux\", or list some as path.host.daemon"
                .to_owned()
        })
    }

    /// Every series, until the last packet was under way. To be called once, at the end.
    pub fn take_series(&mut self, trial: u32) -> (Vec<SeriesPoint>, Vec<SeriesValue>) {
        let mut series = Series {
            trial,
            points: Vec::new(),
            values: Vec::new(),
        };
        let (backlog, count) = if self.in_cells {
            (Counted::Cells, Counted::Cells)
        } else {
            (Counted::Bytes, Counted::Packets)
        };
        let end = self.quiet_from();
        for (port, name) in self.ports.iter_mut().zip(&self.port_names) {
            let Some(mut kept) = port.series.take() else {
                continue;
            };
            if port.sent == 0 && kept.drops.value() == 0 {
                continue;
            }
            // What has left the queue and is on the line until after the end still counts as sent.
            if port.line.free_at() < end {
                kept.utilisation.set(port.line.free_at(), 0);
            }
            series.add("backlog", name, backlog, kept.backlog.finish(end));
            series.add(
                "utilisation",
                name,
                Counted::Share,
                kept.utilisation.finish(end),
            );
            series.add("drops", name, count, kept.drops.finish(end));
            let marks = kept.marks.map(|marks| marks.finish(end));
            series.add_some("marks", name, count, marks);
        }
        for control in &mut self.controls {
            for paused in control.paused.drain(..) {
                let (name, trace) = paused.finish(end);
                series.add("paused", &name, Counted::Share, trace.finish(end));
            }
        }
        for (flow, name) in self.flows.iter_mut().zip(&self.flow_names) {
            if let Flow::Tcp(connection) = flow {
                let whole = |trace: Trace| trace.finish(end);
                let cwnd = connection.cwnd.take().map(whole);
                series.add_some("cwnd", name, Counted::Bytes, cwnd);
                let goodput = connection.goodput.take();
                let goodput = goodput.map(|goodput| goodput.finish(end));
                series.add_some("goodput", name, Counted::BitsPerSecond, goodput);
                let srtt = connection.srtt.take().map(whole);
                series.add_some("srtt", name, Counted::Nanoseconds, srtt);
            }
        }
        for (goodput, name) in self.goodputs.iter_mut().zip(&self.load_names) {
            let goodput = goodput.take().map(|goodput| goodput.finish(end));
            series.add_some("load_goodput", name, Counted::BitsPerSecond, goodput);
        }
        for (flow, trace) in self.rates() {
            let name = &self.flow_names[flow as usize];
            series.add("acr", name, Counted::CellsPerSecond, trace.finish(end));
        }
        for shares in std::mem::take(&mut self.shares) {
            series.points.extend(shares.series(trial, end));
        }
        (series.points, series.values)
    }

    /// What [`Engine::take_series`] and `take_transfers` may have at the end, before anything ran.
    pub fn kept_series(&mut self) -> Vec<KeptSeries> {
        let mut kept = Vec::new();
        let mut keep = |series, of: &Arc<str>| {
            let of = of.clone();
            kept.push(KeptSeries { series, of });
        };
        for (port, name) in self.ports.iter().zip(&self.port_names) {
            if let Some(series) = &port.series {
                keep("backlog", name);
                keep("utilisation", name);
                keep("drops", name);
                if series.marks.is_some() {
                    keep("marks", name);
                }
            }
        }
        for paused in self.controls.iter().flat_map(|control| &control.paused) {
            keep("paused", paused.name());
        }
        for (flow, name) in self.flows.iter().zip(&self.flow_names) {
            if let Flow::Tcp(connection) = flow {
                if connection.cwnd.is_some() {
                    for series in ["cwnd", "goodput", "srtt"] {
                        keep(series, name);
                    }
                }
                if connection.transfers.is_some() {
                    keep("fct", name);
                }
            }
        }
        for (goodput, name) in self.goodputs.iter().zip(&self.load_names) {
            if goodput.is_some() {
                keep("load_goodput", name);
            }
        }
        for (channel, abr) in self.nics.iter_mut().flat_map(Nic::all_abr) {
            if abr.trace.is_some() {
                let flow = self.channels[channel as usize].flow;
                keep("acr", &self.flow_names[flow as usize]);
            }
        }
        for shares in self.shares.iter().filter(|shares| shares.is_shared()) {
            keep("fairness", shares.load());
        }
        kept
    }

    /// The allowed cell rates of flows.
    fn rates(&mut self) -> Vec<(u32, Trace)> {
        let mut rates = Vec::new();
        for (channel, abr) in self.nics.iter_mut().flat_map(Nic::all_abr) {
            if let Some(trace) = abr.trace.take() {
                rates.push((self.channels[channel as usize].flow, trace));
            }
        }
        rates.sort_by_key(|(flow, _)| *flow);
        rates
    }
}

struct Series {
    trial: u32,
    points: Vec<SeriesPoint>,
    values: Vec<SeriesValue>,
}

impl Series {
    fn add(&mut self, series: &str, of: &Arc<str>, unit: Counted, over_time: OverTime) {
        let (points, values) = over_time.rows(self.trial, series, of, unit, 0);
        self.points.extend(points);
        self.values.extend(values);
    }

    fn add_some(
        &mut self,
        series: &str,
        of: &Arc<str>,
        unit: Counted,
        over_time: Option<OverTime>,
    ) {
        if let Some(over_time) = over_time {
            self.add(series, of, unit, over_time);
        }
    }
}
