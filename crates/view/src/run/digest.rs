//! A run in one table: for each combination of levels how much was lost, how long it took, and where.

use super::worst::worst_of;
use super::{RunData, RunStream, ShownDelay, Ways};
use crate::words::or_unknown;
use delaylab_model::Nanos;
use delaylab_model::plan::level_of;
use delaylab_model::units::{format_duration, format_part};
use delaylab_stats::summary::{Distribution, Summary};
use delaylab_store::frame::{Frame, Values};

/// What came of each combination of levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Digest {
    /// What the levels are of: factors, and `probe` where there are several.
    pub factors: Vec<String>,
    /// Which delay p50 and p99 are of for people, as in `response`.
    pub delay: &'static str,
    /// In the order of the design.
    pub rows: Vec<DigestRow>,
    /// Combinations that have no row: all but the [`super::groups::WORST`].
    pub left_out: usize,
}

/// What came of one combination.
#[derive(Debug, Clone, PartialEq)]
pub struct DigestRow {
    /// Its levels.
    pub levels: Vec<String>,
    /// How many trials it has.
    pub trials: usize,
    /// Packets that were sent, ...
    pub sent: u64,
    /// ... of them those of which it is known how they ended, ...
    pub ended: u64,
    /// ... and those that were lost.
    pub lost: u64,
    /// Those of the delay that people are shown.
    pub shown: Quantiles,
    /// From when a packet was due until its reply was read.
    pub response: Quantiles,
    /// From when it was sent.
    pub round_trip: Quantiles,
    /// Where all packets are frames, and in place of the other two: until a frame arrived.
    pub one_way: Quantiles,
    /// Of the median response, the network's part; of frames with others none, as nothing is the median of both.
    pub network: Option<Nanos>,
    /// And the hosts'.
    pub host: Option<Nanos>,
}

/// The quantiles of a delay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quantiles {
    /// The median.
    pub p50: Option<Nanos>,
    /// p99, where there are packets enough for one.
    pub p99: Option<Nanos>,
}

impl Quantiles {
    fn new(delay: ShownDelay, summary: &Summary) -> Self {
        let delays = delay.distribution(summary);
        Self {
            p50: delays.map(|delays| delays.p50),
            p99: delays.and_then(Distribution::carried_p99),
        }
    }
}

impl RunData {
    /// Of at most this number of rows, the worst ones; all without a limit.
    pub fn digest(&self, most: Option<usize>) -> Digest {
        let delay = self.shown_delay();
        let apart = self.apart(true);
        let summaries: Vec<[&Summary; 1]> = (apart.rows.iter())
            .map(|(.., summary)| [*summary])
            .collect();
        let places = worst_of(&summaries, delay, most.unwrap_or(summaries.len()));
        let left_out = summaries.len() - places.len();
        let rows = places.into_iter().map(|place| {
            let (levels, trials, summary) = &apart.rows[place];
            let ways = self.ways_of(&apart.heads, levels);
            let levels = levels.iter().map(|level| (*level).to_owned()).collect();
            DigestRow::new(levels, *trials, summary, delay, ways)
        });
        Digest {
            rows: rows.collect(),
            factors: apart.heads.iter().map(|head| (*head).to_owned()).collect(),
            delay: delay.name(self.ways()),
            left_out,
        }
    }

    /// Where the packets of a row go that has these levels of `heads`.
    fn ways_of(&self, heads: &[&str], levels: &[&str]) -> Ways {
        let ways = self.ways();
        if ways != Ways::Both {
            return ways;
        }
        let streams = self.trials.iter().map(|trial| &trial.stream);
        let of_levels = |stream: &&RunStream| {
            let mut levels = heads.iter().zip(levels);
            levels.all(|(head, level)| {
                match level_of(&stream.factors, head) {
                    Some(own) => own.label == *level,
                    // Not a factor: the column of probes.
                    None => stream.name == *level,
                }
            })
        };
        Ways::new(streams.filter(of_levels).map(|stream| stream.frames))
    }
}

impl DigestRow {
    pub(super) fn new(
        levels: Vec<String>,
        trials: usize,
        summary: &Summary,
        delay: ShownDelay,
        ways: Ways,
    ) -> Self {
        let quantiles = |delay| Quantiles::new(delay, summary);
        let [round_trips, none] = [quantiles(ShownDelay::RoundTrip), Quantiles::default()];
        let (response, round_trip, one_way) = match ways {
            Ways::RoundTrip => (quantiles(ShownDelay::Response), round_trips, none),
            Ways::OneWay => (none, none, round_trips),
            Ways::Both => (none, none, none),
        };
        let whole = |ns: f64| ns.round() as Nanos;
        let median = summary.anatomy_at("p50").filter(|_| ways != Ways::Both);
        Self {
            levels,
            trials,
            sent: summary.counts.sent,
            ended: summary.counts.ended(),
            lost: summary.counts.lost,
            shown: quantiles(delay),
            response,
            round_trip,
            one_way,
            network: median.and_then(|at| at.network_ns).map(whole),
            host: median.and_then(|at| at.host_ns).map(whole),
        }
    }

    /// The part of what ended that was lost; `None` where nothing did.
    pub fn lost_share(&self) -> Option<f64> {
        (self.ended > 0).then(|| self.lost as f64 / self.ended as f64)
    }

    /// As people read them: a cell for each of [`Digest::heads`].
    pub fn cells(&self) -> Vec<String> {
        let text = |ns: Option<Nanos>| or_unknown(ns, format_duration);
        let times = [self.shown.p50, self.shown.p99, self.network, self.host].map(text);
        let lost = format_part(self.lost, self.ended);
        let levels = self.levels.iter().cloned();
        levels.chain([lost]).chain(times).collect()
    }
}

impl Digest {
    /// Heads of the levels' columns, then of the figures'.
    pub fn heads(&self) -> [Vec<String>; 2] {
        let median = format!("{} p50", self.delay);
        let figures = ["lost", &median, "p99", "network", "host"];
        [self.factors.clone(), figures.map(str::to_owned).to_vec()]
    }

    /// For programs: times in nanoseconds, and the same columns for every run. A factor named like a figure is `factor_…`, as
    /// in the table of trials.
    pub fn frame(&self) -> Frame {
        let whole = |name: &str, of: fn(&DigestRow) -> Option<i64>| {
            let values = self.rows.iter().map(of).collect();
            (name.to_owned(), Values::Whole(values))
        };
        let share = self.rows.iter().map(DigestRow::lost_share).collect();
        let numbers = [
            whole("trials", |row| i64::try_from(row.trials).ok()),
            whole("sent", |row| i64::try_from(row.sent).ok()),
            whole("lost", |row| i64::try_from(row.lost).ok()),
            ("lost_share".to_owned(), Values::Number(share)),
            whole("response_p50_ns", |row| row.response.p50),
            whole("response_p99_ns", |row| row.response.p99),
            whole("network_ns", |row| row.network),
            whole("host_ns", |row| row.host),
            whole("round_trip_p50_ns", |row| row.round_trip.p50),
            whole("round_trip_p99_ns", |row| row.round_trip.p99),
            whole("delay_p50_ns", |row| row.one_way.p50),
            whole("delay_p99_ns", |row| row.one_way.p99),
        ];
        let column = |factor: &String| match numbers.iter().any(|(name, _)| name == factor) {
            true => format!("factor_{factor}"),
            false => factor.clone(),
        };
        let level = |k: usize| self.rows.iter().map(move |row| row.levels[k].clone());
        let levels = self.factors.iter().enumerate();
        let levels: Vec<_> = levels
            .map(|(k, name)| (column(name), Values::Text(level(k).collect())))
            .collect();
        Frame {
            columns: levels.into_iter().chain(numbers).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::run::samples::{classes, runs, waits};

    #[test]
    fn every_combination_has_a_row_unless_few_are_asked_for() {
        let run = classes();
        let all = run.digest(None);
        assert_eq!(all.rows.len(), run.groups.len());
        assert_eq!(all.left_out, 0);
        let few = run.digest(Some(2));
        assert_eq!((few.rows.len(), few.left_out), (2, all.rows.len() - 2));
    }

    #[test]
    fn network_and_host_stand_next_to_the_delay_that_they_are_parts_of() {
        let mut run = waits();
        run.findings.clear();
        let digest = run.digest(None);
        assert_eq!(digest.delay, "response");
        assert!(digest.rows.iter().any(|row| row.network.is_some()));
        let (.., summary) = run.apart(true).rows[0];
        let median = summary.response.as_ref().unwrap().p50;
        assert_eq!(digest.rows[0].shown.p50, Some(median));
    }

    fn csv(run: &RunData) -> String {
        let mut out = Vec::new();
        run.digest(None).frame().write_csv(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_for_programs_does_not_depend_on_findings() {
        let mut run = waits();
        let judged = csv(&run);
        run.findings.clear();
        assert_eq!(csv(&run), judged);
        let (.., summary) = run.apart(true).rows[0];
        let row = &run.digest(None).rows[0];
        assert_eq!(row.response.p50, summary.response.as_ref().map(|d| d.p50));
        assert_eq!(
            row.round_trip.p50,
            summary.round_trip.as_ref().map(|d| d.p50)
        );
        assert_eq!(row.one_way, Quantiles::default());
    }

    #[test]
    fn frames_have_a_delay_and_other_rows_of_the_run_have_none() {
        let mut run = classes();
        let name = run.probes()[0].to_owned();
        assert!(run.probes().len() > 1);
        for trial in &mut run.trials {
            trial.stream.frames = trial.stream.name == name;
        }
        for row in run.digest(None).rows {
            let of_frames = row.levels.contains(&name);
            assert_eq!(row.one_way.p50.is_some(), of_frames, "{row:?}");
            assert_eq!(row.round_trip.p50.is_some(), !of_frames, "{row:?}");
            assert_eq!(row.response.p50.is_some(), !of_frames, "{row:?}");
        }
    }

    #[test]
    fn a_row_of_frames_and_others_has_no_delay() {
        let run = waits();
        let apart = run.apart(true);
        let (levels, trials, summary) = &apart.rows[0];
        let row = |ways| {
            let levels = levels.iter().map(|level| (*level).to_owned()).collect();
            DigestRow::new(levels, *trials, summary, ShownDelay::RoundTrip, ways)
        };
        let both = row(Ways::Both);
        for delay in [both.response, both.round_trip, both.one_way] {
            assert_eq!(delay, Quantiles::default());
        }
        assert_eq!((both.network, both.host), (None, None));
        let alone = row(Ways::RoundTrip);
        assert!(alone.network.is_some());
        assert_eq!((both.sent, both.lost), (alone.sent, alone.lost));
        assert_eq!(both.shown, alone.shown);
    }

    #[test]
    fn a_frame_has_a_value_for_each_row_and_names_with_units() {
        for (name, run) in runs() {
            let text = csv(&run);
            let rows = run.digest(None).rows.len();
            assert_eq!(text.lines().count(), rows + 1, "{name}");
            let heads = text.lines().next().unwrap();
            let figures = "trials,sent,lost,lost_share,response_p50_ns,response_p99_ns,network_ns,host_ns,\
                           round_trip_p50_ns,round_trip_p99_ns,delay_p50_ns,delay_p99_ns";
            assert!(heads.ends_with(figures), "{name}: {heads}");
        }
    }

    #[test]
    fn a_factor_named_like_a_figure_has_a_column_of_its_own() {
        let mut digest = classes().digest(None);
        for name in ["sent", "trials", "host_ns", "size"] {
            digest.factors[0] = name.to_owned();
            let columns = digest.frame().columns;
            let heads: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
            let of_factor = match name {
                "size" => "size".to_owned(),
                _ => format!("factor_{name}"),
            };
            assert_eq!(heads[0], of_factor);
            let times = heads.iter().filter(|head| **head == name).count();
            assert_eq!(times, 1, "{heads:?}");
        }
    }
}
