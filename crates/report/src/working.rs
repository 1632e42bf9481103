//! Working latency: what load does to the response, stage by stage.

use crate::ping::Ping;
use delaylab_live::load::StreamReport;
use delaylab_model::units::{format_duration, format_duration_f64};
use delaylab_stats::anatomy::{Stage, StageSet};
use delaylab_stats::quantile::trimmed_mean;
use delaylab_stats::summary::{AnatomyAt, Distribution, Interval, Summary};

/// A ping without load and one under it.
#[derive(Debug, Clone, Copy)]
pub struct Working<'a> {
    /// Before the load began.
    pub idle: Ping<'a>,
    /// While it was sent.
    pub loaded: Ping<'a>,
    /// The load as the user wrote it.
    pub load: &'a str,
    /// What each of its streams did.
    pub streams: &'a [StreamReport],
}

/// The stage that grew most at the median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Which.
    pub stages: StageSet,
    /// Idle, around the median response.
    pub idle_ns: f64,
    /// The same under load.
    pub loaded_ns: f64,
}

/// Round trips a minute: 60 s / mean round trip.
pub fn round_trips_a_minute(summary: &Summary) -> Option<f64> {
    let round_trip = summary.round_trip.as_ref()?;
    (round_trip.mean > 0.0).then(|| 60e9 / round_trip.mean)
}

/// Responsiveness as draft-ietf-ippm-responsiveness-08 has it ("Aggregating the Measurements"), in round trips a
/// minute, of what a probe has: 60 s / trimmed mean, of probes on a connection of their own.
pub fn on_its_own(summary: &Summary) -> Option<f64> {
    a_minute(summary.trimmed_round_trip?)
}

fn a_minute(mean_ns: f64) -> Option<f64> {
    (mean_ns > 0.0).then(|| 60e9 / mean_ns)
}

/// Share of round trips in a trimmed mean (TMP of the draft).
const TRIMMED: f64 = 0.95;

impl Working<'_> {
    /// The same on the connections that make the load. What cannot ask on them takes TCP's own estimate of the round
    /// trip, as the draft allows. `None` without a TCP load.
    pub fn on_the_loads(&self) -> Option<f64> {
        let estimates = self.streams.iter().flat_map(|stream| &stream.round_trips);
        let mut estimates: Vec<f64> = estimates.map(|&ns| ns as f64).collect();
        a_minute(trimmed_mean(&mut estimates, TRIMMED)?)
    }

    /// Responsiveness under working conditions: the mean of the two; without a TCP load the probes' alone.
    pub fn responsiveness(&self) -> Option<f64> {
        let own = on_its_own(self.loaded.summary)?;
        Some(self.on_the_loads().map_or(own, |loads| (own + loads) / 2.0))
    }

    /// The stage that grew most at the median, where the median response grew.
    pub fn growth(&self) -> Option<Growth> {
        let all = self.grown()?;
        let by = |growth: &Growth| growth.loaded_ns - growth.idle_ns;
        all.into_iter().max_by(|a, b| by(a).total_cmp(&by(b)))
    }

    /// Each stage at the median, idle and under load, where the median response grew by more than chance.
    fn grown(&self) -> Option<Vec<Growth>> {
        let idle = self.idle.summary.response.as_ref()?;
        let loaded = self.loaded.summary.response.as_ref()?;
        if !is_longer(idle, loaded) {
            return None;
        }
        let (idle, loaded) = (median(self.idle.summary)?, median(self.loaded.summary)?);
        let both = loaded.parts.iter().filter_map(|part| {
            let before = idle
                .parts
                .iter()
                .find(|before| before.stages == part.stages)?;
            Some(Growth {
                stages: part.stages,
                idle_ns: before.ns,
                loaded_ns: part.ns,
            })
        });
        Some(both.collect())
    }

    /// By how much the median response grew, and where: in the hosts or in which queue.
    pub fn verdict(&self) -> String {
        let medians = |ping: &Ping<'_>| ping.summary.response.as_ref().map(|response| response.p50);
        let (Some(idle), Some(loaded)) = (medians(&self.idle), medians(&self.loaded)) else {
            return "Nothing was answered in one of the two parts: they cannot be compared."
                .to_owned();
        };
        let [before, after] = [idle, loaded].map(format_duration);
        let Some(growth) = self.growth() else {
            return format!(
                "No queue grew: the median response is {before} idle and {after} under load, no longer than by chance.{}",
                self.tail()
            );
        };
        let grows = grows(loaded as f64 / (idle as f64).max(1.0));
        let grown = (loaded - idle) as f64;
        let share = (growth.loaded_ns - growth.idle_ns) / grown;
        let where_ = match self.hosts_share() {
            Some(hosts) if hosts >= ALL && !is_on_path(growth.stages) => format!(
                "all of it in the hosts ({}): no queue on the path grew",
                self.largest()
            ),
            Some(hosts) if hosts >= 0.5 && !is_on_path(growth.stages) => format!(
                "{} of it in the hosts ({})",
                crate::style::short_percent(hosts),
                self.largest()
            ),
            _ => format!(
                "{} of it is {}",
                crate::style::short_percent(share.min(1.0)),
                place(growth.stages)
            ),
        };
        format!("Under load the median response {grows}, from {before} to {after}; {where_}.")
    }

    /// How much of what the median response grew by is in the hosts at both ends, without the queue of this host's own
    /// interface: that is on the path of everything that leaves. `None` without the stamps.
    fn hosts_share(&self) -> Option<f64> {
        let (idle, loaded) = (median(self.idle.summary)?, median(self.loaded.summary)?);
        let grown = loaded.response_ns - idle.response_ns;
        let queue = |at: &AnatomyAt| {
            let mut parts = at.parts.iter();
            let own = parts.find(|part| part.stages == StageSet::only(Stage::LocalQueue));
            own.map_or(0.0, |part| part.ns)
        };
        let hosts = |at: &AnatomyAt| Some(at.host_ns? - queue(at));
        (grown > 0.0).then_some((hosts(loaded)? - hosts(idle)?) / grown)
    }

    /// `reflector +32.1 µs, receive wake-up +20.0 µs`: the stages that grew most, to four fifths of all.
    fn largest(&self) -> String {
        let mut grown: Vec<_> = (self.grown().unwrap_or_default().into_iter())
            .map(|growth| (growth.stages, growth.loaded_ns - growth.idle_ns))
            .filter(|(_, by)| *by > 0.0)
            .collect();
        grown.sort_by(|a, b| b.1.total_cmp(&a.1));
        let all: f64 = grown.iter().map(|(_, by)| by).sum();
        let mut so_far = 0.0;
        let enough = grown.iter().take_while(|(_, by)| {
            let before = so_far;
            so_far += by;
            before < 0.8 * all
        });
        let words: Vec<_> = enough
            .map(|(stages, by)| format!("{stages} +{}", format_duration_f64(*by)))
            .collect();
        words.join(", ")
    }

    /// The tail may grow where the median does not.
    fn tail(&self) -> String {
        let p99 = |summary: &Summary| summary.response.as_ref()?.carried_p99();
        match (p99(self.idle.summary), p99(self.loaded.summary)) {
            (Some(idle), Some(loaded)) if loaded as f64 >= TAIL_GROWS * idle as f64 => format!(
                " The slowest 1 % do: p99 {}, from {} to {}.",
                grows(loaded as f64 / (idle as f64).max(1.0)),
                format_duration(idle),
                format_duration(loaded)
            ),
            _ => String::new(),
        }
    }
}

/// So much of the growth is "all of it".
const ALL: f64 = 0.95;
/// Tails differ by themselves: from here on they are worth a word.
const TAIL_GROWS: f64 = 1.5;

/// `doubles`, `grows 12-fold`, `grows by 14 %`.
fn grows(ratio: f64) -> String {
    match ratio {
        r if (1.85..2.25).contains(&r) => "doubles".to_owned(),
        r if r < 1.85 => format!("grows by {:.0} %", (r - 1.0) * 100.0),
        r if r < 9.5 => format!("grows {r:.1}-fold"),
        r => format!("grows {r:.0}-fold"),
    }
}

/// Is the median under load longer, by more than both medians are uncertain? Where their intervals at 95 % are known,
/// they decide; else the standard errors of medians, 0.93 IQR/√n, for as many as three of them.
fn is_longer(idle: &Distribution, loaded: &Distribution) -> bool {
    if let (Interval::Known { high, .. }, Interval::Known { low, .. }) =
        (&idle.p50_interval, &loaded.p50_interval)
    {
        return low > high && loaded.p50 > idle.p50;
    }
    let variance = |d: &Distribution| (0.93 * d.iqr as f64).powi(2) / d.count.max(1) as f64;
    let error = (variance(idle) + variance(loaded)).sqrt();
    (loaded.p50 - idle.p50) as f64 > 3.0 * error
}

/// Is it a stage between the hosts?
fn is_on_path(stages: StageSet) -> bool {
    [Stage::LocalQueue, Stage::ForwardPath, Stage::ReturnPath]
        .into_iter()
        .any(|stage| stages.contains(stage))
}

fn median(summary: &Summary) -> Option<&AnatomyAt> {
    summary.anatomy.iter().find(|at| at.label == "p50")
}

/// What a stage that grew says of where.
fn place(stages: StageSet) -> String {
    let only = |stage| stages.len() == 1 && stages.contains(stage);
    let path = stages.contains(Stage::ForwardPath) && stages.contains(Stage::ReturnPath);
    let words = if only(Stage::LocalQueue) {
        "the local queue: that of this host's own interface"
    } else if only(Stage::ForwardPath) {
        "the forward path: a queue on the way there"
    } else if only(Stage::ReturnPath) {
        "the return path: a queue on the way back"
    } else if only(Stage::Reflector) {
        "the reflector: its host is busy"
    } else if path && !stages.contains(Stage::LocalQueue) {
        "the path: a queue there or back (with --method udp and a reflector whose clock is known the two \
         are told apart)"
    } else if path {
        "somewhere between the two processes: without stamps nobody can say where"
    } else {
        return format!("this host, which is busy: {stages}");
    };
    words.to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::samples::{Sample, full, one};
    use delaylab_live::load::{Amount, Received};
    use delaylab_model::load::LoadKind;
    use delaylab_stats::summary::SummaryBuilder;

    /// The same packets, `ns` longer on the way there.
    pub(crate) fn delayed(sample: &Sample, ns: i64) -> Sample {
        let mut later = full();
        later.records.clone_from(&sample.records);
        let mut builder = SummaryBuilder::new(later.facts.records, later.records.len());
        for record in &mut later.records {
            for stamp in [
                &mut record.r_rx,
                &mut record.r_user,
                &mut record.r_tx,
                &mut record.t_rx,
                &mut record.t_recv,
            ] {
                *stamp = stamp.map(|t| t + ns);
            }
            builder.push(record);
        }
        later.summary = builder.finish();
        later
    }

    pub(crate) fn streams() -> Vec<StreamReport> {
        vec![StreamReport {
            name: "tcp".to_owned(),
            kind: LoadKind::Tcp,
            lasted: Some(10_000_000_000),
            congestion_control: Some("cubic".to_owned()),
            default_congestion_control: true,
            due: None,
            sent: Amount {
                packets: 0,
                bytes: 12_500_000,
            },
            received: Some(Received {
                amount: Amount {
                    packets: 0,
                    bytes: 12_500_000,
                },
                ..Received::default()
            }),
            retransmits: Some(3),
            round_trips: vec![20_000_000; 10],
            failed: None,
        }]
    }

    #[test]
    fn the_queue_that_grew_is_named() {
        let (idle, streams) = (full(), streams());
        let loaded = delayed(&idle, 20_000_000);
        let working = Working {
            idle: idle.ping(),
            loaded: loaded.ping(),
            load: "tcp",
            streams: &streams,
        };
        let growth = working.growth().unwrap();
        assert!(growth.stages.contains(Stage::ForwardPath));
        assert!(
            (growth.loaded_ns - growth.idle_ns - 2e7).abs() < 1e6,
            "{growth:?}"
        );
        assert!(
            working.verdict().contains("forward path"),
            "{}",
            working.verdict()
        );
        let still = Working {
            loaded: idle.ping(),
            ..working
        };
        assert_eq!(still.growth(), None);
        assert!(still.verdict().contains("No queue grew"));
    }

    /// What the hosts take longer is no queue: that the response doubled is said all the same.
    #[test]
    fn hosts_that_are_busy_are_no_queue() {
        let (idle, streams) = (full(), streams());
        let response = idle.summary.response.as_ref().unwrap().p50;
        let mut loaded = full();
        let mut builder = SummaryBuilder::new(loaded.facts.records, loaded.records.len());
        for record in &mut loaded.records {
            record.t_recv = record.t_recv.map(|t| t + response);
            builder.push(record);
        }
        loaded.summary = builder.finish();
        let working = Working {
            idle: idle.ping(),
            loaded: loaded.ping(),
            load: "tcp",
            streams: &streams,
        };
        let verdict = working.verdict();
        for part in [
            "doubles",
            "all of it in the hosts",
            "receive wake-up +",
            "no queue on the path",
        ] {
            assert!(verdict.contains(part), "{part}: {verdict}");
        }
    }

    /// This host's own interface is a queue, though not one between the hosts.
    #[test]
    fn the_local_queue_is_a_queue() {
        let (idle, streams) = (full(), streams());
        let mut loaded = full();
        let mut builder = SummaryBuilder::new(loaded.facts.records, loaded.records.len());
        for record in &mut loaded.records {
            for stamp in [
                &mut record.t_tx,
                &mut record.r_rx,
                &mut record.r_user,
                &mut record.r_tx,
                &mut record.t_rx,
                &mut record.t_recv,
            ] {
                *stamp = stamp.map(|t| t + 50_000_000);
            }
            builder.push(record);
        }
        loaded.summary = builder.finish();
        let working = Working {
            idle: idle.ping(),
            loaded: loaded.ping(),
            load: "tcp",
            streams: &streams,
        };
        let verdict = working.verdict();
        assert!(verdict.contains("the local queue"), "{verdict}");
        assert!(!verdict.contains("in the hosts"), "{verdict}");
    }

    #[test]
    fn responsiveness_is_that_of_the_draft() {
        let (idle, streams) = (full(), streams());
        let loaded = delayed(&idle, 20_000_000);
        let working = Working {
            idle: idle.ping(),
            loaded: loaded.ping(),
            load: "tcp",
            streams: &streams,
        };
        // Round trips of 20 ms on the load's connections.
        assert_eq!(working.on_the_loads(), Some(3000.0));
        let own = 60e9 / loaded.summary.trimmed_round_trip.unwrap();
        assert_eq!(working.responsiveness(), Some((own + 3000.0) / 2.0));
        let without = Working {
            streams: &[],
            ..working
        };
        assert_eq!(without.responsiveness(), Some(own));
    }

    #[test]
    fn round_trips_a_minute_are_those_of_the_mean() {
        let sample = one();
        let mean = sample.summary.round_trip.as_ref().unwrap().mean;
        let expected = 60e9 / mean;
        assert_eq!(round_trips_a_minute(&sample.summary), Some(expected));
    }
}
