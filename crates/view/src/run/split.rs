//! What the delay of frames is made of (seed 001): forwarding in the devices, propagation on the links,
//! and transceiving at both ends, which is what is left: with virtual ports, this host's own way.

use delaylab_lab::experiment::Resolved;
use delaylab_model::frames::FRAME_OVERHEAD;
use delaylab_model::hop::Hop;
use delaylab_model::path::Path;
use delaylab_model::plan::levels_in_words;
use delaylab_model::probe::Probe;
use delaylab_model::quantity::Duration;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;

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
            let probe = trial.probes.get(usize::from(row.probe));
            let split = probe.and_then(|probe| split(&trial.path, probe, row, &hops));
            let Some(split) = split else {
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

fn split(path: &Path, probe: &Probe, row: &TrialRow, hops: &[Hop]) -> Option<Split> {
    let frames = probe.frames?;
    let counts = |hop: &&Hop| hop.probe == row.probe && row.counts(hop.seq);
    let own: Vec<&Hop> = hops.iter().filter(counts).collect();
    // Links before the first device are not counted alike in all worlds.
    let nearest = own.iter().map(|hop| hop.hop).min()?;
    let through = own.iter().filter(|hop| hop.hop == nearest).count() as f64;
    let devices = (own.len() as f64 / through).round().max(1.0);
    let waited = own.iter().map(|hop| (hop.t_dequeue - hop.t_enqueue) as f64);
    let waited = waited.sum::<f64>() / through;
    let time = |time: Option<Duration>| time.map_or(0.0, |Duration(ns)| ns as f64);
    let bits = (u64::from(frames.size) + FRAME_OVERHEAD) as f64 * 8.0;
    let line = |rate: Option<u64>| rate.map(|rate| bits * 1e9 / rate as f64);
    let last = line(path.rate_at(probe.to.as_deref()))?;
    let between = line(path.rate.map(|rate| rate.0)).unwrap_or(last);
    let latency = time(path.switch.as_ref().and_then(|switch| switch.latency));
    Some(Split {
        label: levels_in_words(&row.factors, None),
        probe: row.probe_name.clone(),
        delay: row.figure("round_trip_mean_ns")?,
        forwarding: waited + last + (devices - 1.0) * between + devices * latency,
        propagation: (devices + 1.0) * time(path.propagation),
        trials: 1.0,
    })
}
