//! What the streams of a port ask of its line together.

use delaylab_model::probe::{Pacing, Probe};
use delaylab_model::refusal::Refusal;
use delaylab_model::{Nanos, PICOS_PER_NANO};

/// More than the whole line by no more than the self-check lets a rate be off.
const MOST: f64 = 1.000_5;

/// A stream whose frames are sent at their rate.
struct Stream<'a> {
    probe: &'a Probe,
    /// When its first and its last frame are due.
    first: Nanos,
    last: Nanos,
    /// Its share of the line. A single one that asks for more than all of it is the user's wish, and gets the whole line.
    share: f64,
}

impl<'a> Stream<'a> {
    fn from_probe(probe: &'a Probe) -> Option<Self> {
        let (Some(frames), Pacing::Frames { interval_ps }) = (probe.frames, probe.pacing) else {
            return None;
        };
        let lasts = u128::from(probe.frames_due().saturating_sub(1)) * u128::from(interval_ps)
            / u128::from(PICOS_PER_NANO);
        let lasts = Nanos::try_from(lasts).unwrap_or(Nanos::MAX);
        let share = frames.line_time as f64 / interval_ps.max(1) as f64;
        frames.paced.then_some(Self {
            probe,
            first: frames.start,
            last: frames.start.saturating_add(lasts),
            share: share.min(1.0),
        })
    }

    fn shares_line(&self, other: &Self) -> bool {
        self.probe.from == other.probe.from && other.first <= self.first && self.first < other.last
    }
}

/// Streams that a port's line has no room for beside those that it sends by then: the sender would fall behind, and
/// blame this host.
pub fn refusals(probes: &[Probe]) -> Vec<Refusal> {
    let streams: Vec<Stream<'_>> = probes.iter().filter_map(Stream::from_probe).collect();
    let refused = |stream: &Stream<'_>| {
        let beside: Vec<f64> = (streams.iter())
            .filter(|other| stream.shares_line(other))
            .map(|other| other.share)
            .collect();
        let sum: f64 = beside.iter().sum();
        (beside.len() > 1 && sum > MOST).then(|| {
            let port = stream.probe.from.as_deref().unwrap_or_default();
            let field = format!("probe.{}.pacing.load", stream.probe.name);
            let reason = format!(
                "the streams from {port} come to {:.1} % of its line",
                sum * 100.0
            );
            Refusal::new(field, reason).remedy("at most 100 % together")
        })
    };
    streams.iter().find_map(refused).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::frames::Frames;
    use delaylab_model::method::Method;
    use delaylab_model::quantity::Share;

    const LINE: u64 = 1_000_000_000;

    fn stream(from: &str, percent: u64, start: Nanos) -> Probe {
        let frames = Frames {
            start,
            ..Frames::new(512).on_line(LINE)
        };
        let load = Share::of_percent(percent);
        Probe {
            from: Some(from.to_owned()),
            frames: Some(frames),
            pacing: Pacing::Frames {
                interval_ps: frames.interval(LINE, load),
            },
            count: Some(1000),
            ..Probe::new(format!("of-{percent}"), Method::Frame)
        }
    }

    #[test]
    fn a_line_carries_no_more_than_the_whole_of_it() {
        let refused = |probes: &[Probe]| {
            let refusals = refusals(probes).into_iter();
            refusals.map(|refusal| refusal.field).collect::<Vec<_>>()
        };
        let (one, half) = (stream("eth1", 60, 0), stream("eth1", 50, 0));
        let none = Vec::<String>::new();
        assert_eq!(
            refused(&[one.clone(), one.clone()]),
            ["probe.of-60.pacing.load"]
        );
        assert_eq!(refused(&[half.clone(), half]), none);
        assert_eq!(refused(&[one.clone(), stream("eth2", 60, 0)]), none);
        // One after the other.
        assert_eq!(
            refused(&[one.clone(), stream("eth1", 60, 10_000_000)]),
            none
        );
        // A single one is the user's to ask for, and one that is not paced takes what there is.
        assert_eq!(refused(&[stream("eth1", 110, 0)]), none);
        let mut as_fast_as_it_can = one.clone();
        as_fast_as_it_can.frames = one.frames.map(|frames| Frames {
            paced: false,
            ..frames
        });
        assert_eq!(refused(&[one, as_fast_as_it_can]), none);
    }
}
