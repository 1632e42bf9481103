//! What the delay of frames is made of (source 001): forwarding in the devices, propagation on the links,
//! and transceiving at both ends, which is what is left: with virtual ports, this host's own way.

use delaylab_explain::causes::line::{Link, links_there};
use delaylab_lab::experiment::Resolved;
use delaylab_model::frames::FRAME_ENVELOPE;
use delaylab_model::hop::Hop;
use delaylab_model::plan::levels_in_words;
use delaylab_model::trial::Trial;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use std::collections::HashSet;

/// Means of one probe under one combination of levels, in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// Its levels, for people.
    pub label: String,
    /// The probe's name.
    pub probe: String,
    /// From port to port.
    pub delay: f64,
    /// In the devices: waiting, being sent, latency.
    pub forwarding: f64,
    /// On the links.
    pub propagation: f64,
    trials: f64,
}

impl Split {
    /// At both ends.
    pub fn transceiving(&self) -> f64 {
        self.delay - self.forwarding - self.propagation
    }

    /// The mean of this and another trial.
    fn and(&mut self, other: &Self) {
        let all = self.trials + other.trials;
        let mean = |a: f64, b: f64| (a * self.trials + b * other.trials) / all;
        self.delay = mean(self.delay, other.delay);
        self.forwarding = mean(self.forwarding, other.forwarding);
        self.propagation = mean(self.propagation, other.propagation);
        self.trials = all;
    }
}

/// Of every probe of frames whose devices said what frames met in them.
pub fn splits(run: &Run, resolved: &Resolved) -> Vec<Split> {
    let mut splits: Vec<Split> = Vec::new();
    // The trials of a procedure are not those of the file.
    if resolved.procedure.is_some() {
        return splits;
    }
    for planned in &resolved.planned {
        let trial = &planned.trial;
        if trial.probes.iter().all(|probe| probe.frames.is_none()) {
            continue;
        }
        let hops = run.hops(Some(trial.id));
        let rows = run.trials().iter().filter(|row| row.trial == trial.id);
        for row in rows {
            let Some(split) = split(trial, row, &hops) else {
                continue;
            };
            let same =
                |known: &&mut Split| (&known.label, &known.probe) == (&split.label, &split.probe);
            match splits.iter_mut().find(same) {
                Some(known) => known.and(&split),
                None => splits.push(split),
            }
        }
    }
    splits
}

fn split(trial: &Trial, row: &TrialRow, hops: &[Hop]) -> Option<Split> {
    let frames = trial.probes.get(usize::from(row.probe))?.frames?;
    let counts = |hop: &&Hop| hop.probe == row.probe && row.counts(hop.seq);
    let waited = waited(&hops.iter().filter(counts).collect::<Vec<_>>())?;
    let links = links_there(trial, row.probe, frames.size.saturating_sub(FRAME_ENVELOPE));
    // Its own line is what an end of it takes.
    let (_, behind_devices) = links.split_first()?;
    let in_device = |link: &Link| link.latency_ns + link.sending_ns;
    Some(Split {
        label: levels_in_words(&row.factors, None),
        probe: row.probe_name.clone(),
        delay: row.figure("round_trip_mean_ns")?,
        forwarding: waited + behind_devices.iter().map(in_device).sum::<f64>(),
        propagation: links.iter().map(|link| link.propagation_ns).sum(),
        trials: 1.0,
    })
}

/// The mean of what frames waited in all queues on their way; of those that came to the last of them, because the delay is of
/// frames that arrived.
fn waited(hops: &[&Hop]) -> Option<f64> {
    let last = hops.iter().map(|hop| hop.hop).max()?;
    let at_the_last = hops.iter().filter(|hop| hop.hop == last);
    let arrived: HashSet<u64> = at_the_last.map(|hop| hop.seq).collect();
    let of_them = hops.iter().filter(|hop| arrived.contains(&hop.seq));
    let waited = of_them.map(|hop| (hop.t_dequeue - hop.t_enqueue) as f64);
    Some(waited.sum::<f64>() / arrived.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::Nanos;
    use delaylab_model::hop::Direction;

    /// Three of four frames are dropped at the second device.
    #[test]
    fn frames_that_were_lost_on_the_way_do_not_count() {
        let hop = |(seq, hop, waited): (u64, u16, Nanos)| Hop {
            trial: 0,
            probe: 0,
            seq,
            direction: Direction::Forward,
            hop,
            port: "s1→s2".into(),
            t_enqueue: 1_000,
            t_dequeue: 1_000 + waited,
            backlog: 0,
        };
        let hops = [
            (0, 1, 900),
            (1, 1, 20),
            (1, 2, 300),
            (2, 1, 900),
            (3, 1, 900),
        ]
        .map(hop);
        assert_eq!(waited(&hops.iter().collect::<Vec<_>>()), Some(320.0));
        assert_eq!(waited(&[]), None);
    }
}
