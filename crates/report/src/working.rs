//! Working latency: what load does to the response, stage by stage.

use crate::ping::Ping;
use delaylab_live::load::StreamReport;
use delaylab_stats::anatomy::{Stage, StageSet};
use delaylab_stats::summary::{AnatomyAt, Distribution, Summary};

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

/// Round trips a minute: 60 s / mean round trip. (draft-ietf-ippm-responsiveness counts the same way, of
/// the round trips of HTTP and its handshakes; these are the probe's own.)
pub fn round_trips_a_minute(summary: &Summary) -> Option<f64> {
    let round_trip = summary.round_trip.as_ref()?;
    (round_trip.mean > 0.0).then(|| 60e9 / round_trip.mean)
}

impl Working<'_> {
    /// The stage that grew most at the median, where the response grew beyond its own idle variation.
    pub fn growth(&self) -> Option<Growth> {
        let idle = self.idle.summary.response.as_ref()?;
        let loaded = self.loaded.summary.response.as_ref()?;
        if loaded.p50 - idle.p50 <= own_variation(idle) {
            return None;
        }
        let (idle, loaded) = (median(self.idle.summary)?, median(self.loaded.summary)?);
        let grown = loaded.parts.iter().filter_map(|part| {
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
        let by = |growth: &Growth| growth.loaded_ns - growth.idle_ns;
        grown.max_by(|a, b| by(a).total_cmp(&by(b)))
    }

    /// Which queue grew, in a sentence.
    pub fn verdict(&self) -> String {
        let medians = |ping: &Ping<'_>| ping.summary.response.as_ref().map(|response| response.p50);
        let (Some(idle), Some(loaded)) = (medians(&self.idle), medians(&self.loaded)) else {
            return "Nothing was answered in one of the two parts: they cannot be compared."
                .to_owned();
        };
        let time = delaylab_model::units::format_duration;
        let Some(growth) = self.growth() else {
            return format!(
                "No queue grew: the median response is {} idle and {} under load, within its own variation.",
                time(idle),
                time(loaded)
            );
        };
        let share = (growth.loaded_ns - growth.idle_ns) / (loaded - idle) as f64;
        format!(
            "Under load the median response grows from {} to {}; {} of it is {}.",
            time(idle),
            time(loaded),
            crate::style::short_percent(share.min(1.0)),
            place(growth.stages)
        )
    }
}

/// From the median to the 90th percentile: what half of the slower half differs by.
fn own_variation(idle: &Distribution) -> i64 {
    idle.p90 - idle.p50
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

    #[test]
    fn round_trips_a_minute_are_those_of_the_mean() {
        let sample = one();
        let mean = sample.summary.round_trip.as_ref().unwrap().mean;
        let expected = 60e9 / mean;
        assert_eq!(round_trips_a_minute(&sample.summary), Some(expected));
    }
}
