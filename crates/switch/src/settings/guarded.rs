//! Flow control in a file's `[path.switch]`.

use super::Counts;
use super::read::Reader;
use crate::flow_control::{Parameters, Set};
use delaylab_model::PICOS_PER_NANO;
use delaylab_model::path::{Discipline, FlowControl, FlowControlKind};
use delaylab_model::quantity::Size;
use delaylab_model::refusal::{Refusal, refuse};

/// As many as a frame can say.
const QUANTA: u16 = u16::MAX;
/// A response that is longer is a mistake.
const SLOWEST: i64 = 1_000_000_000;

impl Reader<'_> {
    pub(super) fn flow_control(&self) -> Result<Option<Parameters>, Refusal> {
        let Some(given) = &self.switch.flow_control else {
            return Ok(None);
        };
        self.beside_flow_control()?;
        if given.xoff.0 == 0 {
            return refuse(
                "flow_control.xoff",
                "is what a port holds before it asks for a pause: give more than 0",
            );
        }
        if given.xon.is_some_and(|Size(xon)| xon > given.xoff.0) {
            return refuse(
                "flow_control.xon",
                "a pause ends at or below where it began: lower it to `xoff` at most",
            );
        }
        let response = given.response.map(|response| response.0);
        if response.is_some_and(|response| !(0..=SLOWEST).contains(&response)) {
            return refuse(
                "flow_control.response",
                "is between 0 and 1 s: some microseconds are usual",
            );
        }
        Ok(Some(Parameters {
            kind: given.kind,
            lossless: self.lossless(given)?,
            xoff: given.xoff.0,
            xon: given.xon.map(|xon| xon.0),
            headroom: given.headroom.map(|headroom| headroom.0),
            quanta: given.quanta.unwrap_or(QUANTA),
            response: response.map(|response| response.cast_unsigned() * PICOS_PER_NANO),
        }))
    }

    fn lossless(&self, given: &FlowControl) -> Result<Set, Refusal> {
        if given.priorities.is_empty() {
            return Ok(Set::MAX);
        }
        if given.kind == FlowControlKind::Pause {
            return refuse(
                "flow_control.priorities",
                "PAUSE stops all of a port: leave them out, or set `kind` to \"pfc\"",
            );
        }
        let mut lossless = 0;
        for name in &given.priorities {
            let Some(place) = self.queues.iter().position(|queue| queue == name) else {
                let all = self.queues.join(", ");
                let why = format!("there is no class queue `{name}`: there are {all}");
                return refuse("flow_control.priorities", why);
            };
            lossless |= 1 << place;
        }
        Ok(lossless)
    }

    /// What cannot stand beside flow control.
    fn beside_flow_control(&self) -> Result<(), Refusal> {
        let switch = self.switch;
        if self.limits.counts == Counts::Cells {
            return refuse(
                "flow_control",
                "is Ethernet's: leave `framing` out, or take the discipline \"credit\"",
            );
        }
        if !self.only_takes_turns() && self.discipline != Discipline::Red {
            return refuse(
                "flow_control",
                "is for fifo, per-flow, drr, priority, wrr, wfq and red: other disciplines drop what flow control keeps",
            );
        }
        let others = [
            ("pool", switch.pool.is_some()),
            ("alpha", switch.alpha.is_some()),
            ("threshold", switch.threshold.is_some()),
            ("queue_buffer", switch.queue_buffer.is_some()),
        ];
        if let Some((field, _)) = others.into_iter().find(|(_, given)| *given) {
            return refuse(
                field,
                "with flow control each input port has `xoff` and headroom for a priority, and `buffer` is for the \
                 others at each output port: leave it out",
            );
        }
        let lossy = [
            ("shaper", switch.shaper.is_some()),
            ("policer", switch.policer.is_some()),
            ("reset", switch.reset.is_some()),
            ("pause", switch.pause.is_some()),
        ];
        match lossy.into_iter().find(|(_, given)| *given) {
            Some((field, _)) => refuse(
                field,
                "is not there together with `flow_control`: leave one of the two out",
            ),
            None => Ok(()),
        }
    }
}
