//! A run in one table: for each combination of levels how much was lost, how long it took, and where.

use super::groups::worst_of;
use super::{RunData, ShownDelay, Ways};
use crate::words::percent;
use delaylab_model::Nanos;
use delaylab_model::units::format_duration;
use delaylab_stats::summary::{Distribution, Summary};
use delaylab_store::frame::{Frame, Values};

/// What came of each combination of levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Digest {
    /// What the levels are of: factors, and `probe` where there are several.
    pub factors: Vec<String>,
    /// Which delay p50 and p99 are of, as in `response`.
    pub delay: &'static str,
    /// In the order of the design.
    pub rows: Vec<DigestRow>,
    /// Combinations that have no row: those with the least loss and the smallest p99.
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
    /// ... and of them those that were lost.
    pub lost: u64,
    /// The median delay.
    pub p50: Option<Nanos>,
    /// Its p99, where there are packets enough for one.
    pub p99: Option<Nanos>,
    /// Of the median response, the network's part.
    pub network: Option<Nanos>,
    /// And the hosts'.
    pub host: Option<Nanos>,
}

impl RunData {
    /// Of at most so many rows, the worst ones; all without a limit.
    pub fn digest(&self, most: Option<usize>) -> Digest {
        self.digest_of(self.shown_delay(), most)
    }

    /// The same for readers, in one quantity a row: network and host are parts of the response, so where stamps tell them
    /// apart p50 and p99 are the response's, too.
    pub fn digest_to_read(&self, most: usize) -> Digest {
        let digest = self.digest(Some(most));
        let mut rows = digest.rows.iter();
        match rows.any(|row| row.network.or(row.host).is_some()) && self.ways() == Ways::RoundTrip {
            true => self.digest_of(ShownDelay::Response, Some(most)),
            false => digest,
        }
    }

    fn digest_of(&self, delay: ShownDelay, most: Option<usize>) -> Digest {
        let apart = self.apart(most.is_none());
        let summaries: Vec<&Summary> = apart.rows.iter().map(|(.., summary)| *summary).collect();
        let places = worst_of(&summaries, most.unwrap_or(summaries.len()));
        let left_out = apart.left_out + summaries.len() - places.len();
        let rows = places.into_iter().map(|place| {
            let (levels, trials, summary) = &apart.rows[place];
            let levels = levels.iter().map(|level| (*level).to_owned()).collect();
            DigestRow::new(levels, *trials, summary, delay)
        });
        Digest {
            rows: rows.collect(),
            factors: apart.heads.iter().map(|head| (*head).to_owned()).collect(),
            delay: delay.name(self.ways()),
            left_out,
        }
    }
}

impl DigestRow {
    pub(super) fn new(
        levels: Vec<String>,
        trials: usize,
        summary: &Summary,
        delay: ShownDelay,
    ) -> Self {
        let delays = delay.distribution(summary);
        let median = summary.anatomy.iter().find(|at| at.label == "p50");
        let whole = |ns: f64| ns.round() as Nanos;
        Self {
            levels,
            trials,
            sent: summary.counts.sent,
            lost: summary.counts.lost,
            p50: delays.map(|delays| delays.p50),
            p99: delays.and_then(Distribution::carried_p99),
            network: median.and_then(|at| at.network_ns).map(whole),
            host: median.and_then(|at| at.host_ns).map(whole),
        }
    }

    /// The part of what was sent that was lost; `None` where nothing was.
    pub fn lost_share(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.lost as f64 / self.sent as f64)
    }

    /// As people read them: a cell for each of [`Digest::heads`].
    pub fn cells(&self) -> Vec<String> {
        let text = |ns: Option<Nanos>| ns.map_or_else(|| "–".to_owned(), format_duration);
        let times = [self.p50, self.p99, self.network, self.host].map(text);
        let lost = percent(self.lost, self.sent);
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

    /// For programs: times in nanoseconds. A factor named like a figure is `factor_…`, as in the table of trials.
    pub fn frame(&self) -> Frame {
        let whole = |name: &str, of: fn(&DigestRow) -> Option<i64>| {
            let values = self.rows.iter().map(of).collect();
            (name.to_owned(), Values::Whole(values))
        };
        let share = self.rows.iter().map(DigestRow::lost_share).collect();
        let delay = self.delay.replace(' ', "_");
        let numbers = [
            whole("trials", |row| i64::try_from(row.trials).ok()),
            whole("sent", |row| i64::try_from(row.sent).ok()),
            whole("lost", |row| i64::try_from(row.lost).ok()),
            ("lost_share".to_owned(), Values::Number(share)),
            whole(&format!("{delay}_p50_ns"), |row| row.p50),
            whole(&format!("{delay}_p99_ns"), |row| row.p99),
            whole("network_ns", |row| row.network),
            whole("host_ns", |row| row.host),
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
    fn network_and_host_stand_beside_the_delay_that_they_are_parts_of() {
        let mut run = waits();
        run.findings.clear();
        assert_eq!(run.digest(None).delay, "round trip");
        let read = run.digest_to_read(12);
        assert_eq!(read.delay, "response");
        assert!(read.rows.iter().any(|row| row.network.is_some()));
        let (.., summary) = run.apart(false).rows[0];
        let median = summary.response.as_ref().unwrap().p50;
        assert_eq!(read.rows[0].p50, Some(median));
    }

    #[test]
    fn a_frame_has_a_value_for_each_row_and_names_with_units() {
        for (name, run) in runs() {
            let digest = run.digest(None);
            let frame = digest.frame();
            let mut out = Vec::new();
            frame.write_csv(&mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.lines().count(), digest.rows.len() + 1, "{name}");
            let heads = text.lines().next().unwrap();
            assert!(heads.ends_with("network_ns,host_ns"), "{name}: {heads}");
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
