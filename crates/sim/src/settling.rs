//! Has a probe's response settled by the end of its warm-up? A simulation starts empty, and what it is
//! asked about is seldom its beginning.

use delaylab_model::probe::Probe;
use delaylab_model::record::Record;
use delaylab_model::trial::Trial;
use delaylab_stats::warm_up::mser5;

/// Responses that are looked at: the beginning of a longer simulation.
const MOST: usize = 100_000;
/// A change of the mean that matters.
const MATTERS: f64 = 0.02;

/// The responses of each probe, in the order of their packets.
#[derive(Debug)]
pub struct Settling<'a> {
    probes: &'a [Probe],
    responses: Vec<Vec<(u64, f64)>>,
}

impl<'a> Settling<'a> {
    /// Of this trial's probes.
    pub fn new(trial: &'a Trial) -> Self {
        Self {
            probes: &trial.probes,
            responses: vec![Vec::new(); trial.probes.len()],
        }
    }

    /// A packet has ended.
    pub fn see(&mut self, record: &Record) {
        let responses = &mut self.responses[usize::from(record.probe)];
        if let (true, Some(response)) = (responses.len() < MOST, record.response()) {
            responses.push((record.seq, response as f64));
        }
    }

    /// What the user should know of this probe's warm-up.
    pub fn warning(&mut self, index: usize) -> Option<String> {
        let probe = &self.probes[index];
        if probe.frames.is_some() {
            // A tester means to see how a device fills.
            return None;
        }
        let responses = &mut self.responses[index];
        responses.sort_unstable_by_key(|&(seq, _)| seq);
        let values: Vec<f64> = responses.iter().map(|&(_, response)| response).collect();
        let cut = mser5(&values)?;
        let settled = responses[cut].0;
        let kept = responses.partition_point(|&(seq, _)| !probe.counts(seq));
        let too_short = settled > probe.warmup && differ(&values[kept..], &values[cut..]);
        too_short.then(|| {
            format!(
                "probe `{name}` settles after {settled} packets (by MSER-5) and its warm-up has {}: set \
                 probe.{name}.warmup",
                probe.warmup,
                name = probe.name
            )
        })
    }
}

fn differ(all: &[f64], settled: &[f64]) -> bool {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    (mean(all) / mean(settled) - 1.0).abs() > MATTERS
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::method::Method;
    use delaylab_model::path::Path;
    use delaylab_model::probe::HostCondition;
    use delaylab_model::record::Outcome;

    fn trial(warmup: u64) -> Trial {
        let mut probe = Probe::new("echo", Method::Udp);
        probe.warmup = warmup;
        Trial {
            id: 0,
            target: None,
            probes: vec![probe],
            loads: Vec::new(),
            path: Path::default(),
            host: HostCondition::Normal,
            seed: 1,
        }
    }

    /// 100 packets take ten times as long as the 900 behind them; they end in another order.
    fn warning(warmup: u64) -> Option<String> {
        let trial = trial(warmup);
        let mut settling = Settling::new(&trial);
        for seq in (0..1000).rev() {
            let mut record = Record::due(0, 0, seq, Method::Udp, 0);
            record.outcome = Outcome::Ok;
            record.t_recv = Some(if seq < 100 { 10_000 } else { 1000 });
            settling.see(&record);
        }
        settling.warning(0)
    }

    #[test]
    fn a_warm_up_that_is_too_short_is_said() {
        let said = warning(10).unwrap_or_default();
        assert!(said.contains("settles after 100 packets"), "{said}");
        assert!(said.contains("set probe.echo.warmup"), "{said}");
    }

    #[test]
    fn a_long_enough_one_is_not() {
        assert_eq!(warning(100), None);
        assert_eq!(warning(200), None);
    }
}
