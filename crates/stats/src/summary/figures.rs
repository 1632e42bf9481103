//! A summary as a flat list of named figures, for tables.

use super::{Counts, Distribution, Summary};

/// A name with its unit, and the figure where there is one.
pub type Figure = (String, Option<f64>);

/// The figures that are counts.
const fn counted(counts: &Counts) -> [(&'static str, u64); 13] {
    [
        ("sent", counts.sent),
        ("received", counts.received),
        ("lost", counts.lost),
        ("late", counts.late),
        ("duplicate", counts.duplicate),
        ("reordered", counts.reordered),
        ("skipped", counts.skipped),
        ("corrupt", counts.corrupt),
        ("refused", counts.refused),
        ("local_error", counts.local_error),
        ("clock_steps", counts.clock_step),
        ("clock_suspends", counts.clock_suspend),
        ("slow_clock_reads", counts.clock_slow_read),
    ]
}

/// Is the figure of this name a whole number: a count, or a time between two stamps, as a minimum, a quantile or a span is?
/// Means and standard deviations are none.
pub fn is_whole(name: &str) -> bool {
    let mut averages = ["_mean_ns", "_sd_ns"].into_iter();
    let mut counts = counted(&Counts::default()).into_iter();
    counts.any(|(count, _)| count == name)
        || (name.ends_with("_ns") && !averages.any(|average| name.ends_with(average)))
}

impl Summary {
    /// Every figure under a fixed name, always all of them and in the same order: `sent`,
    /// `response_p50_ns`, `ipdv_sd_ns` and so on. Times are nanoseconds.
    pub fn figures(&self) -> Vec<Figure> {
        let measures = [
            ("response", &self.response),
            ("round_trip", &self.round_trip),
            ("network", &self.network),
            ("host", &self.host),
            ("forward", &self.forward),
            ("return", &self.back),
            ("lateness", &self.lateness),
        ];
        let counted = counted(&self.counts).into_iter();
        let counted = counted.map(|(name, count)| (name.to_owned(), Some(count as f64)));
        let measured = measures
            .into_iter()
            .flat_map(|(name, distribution)| of_distribution(name, distribution.as_ref()));
        counted.chain(measured).chain(self.of_variation()).collect()
    }

    fn of_variation(&self) -> Vec<Figure> {
        let variation = &self.variation;
        vec![
            ("ipdv_mean_ns".to_owned(), variation.ipdv_mean_ns),
            ("ipdv_sd_ns".to_owned(), variation.ipdv_sd_ns),
            (
                "ipdv_iqr_ns".to_owned(),
                variation.ipdv_iqr_ns.map(|ns| ns as f64),
            ),
            ("within_500us".to_owned(), self.within_500us),
            ("span_ns".to_owned(), Some(self.span_ns as f64)),
        ]
    }
}

fn of_distribution(name: &str, distribution: Option<&Distribution>) -> Vec<Figure> {
    let figure = |statistic: &str, of: fn(&Distribution) -> Option<f64>| {
        (format!("{name}_{statistic}_ns"), distribution.and_then(of))
    };
    vec![
        figure("min", |d| Some(d.min as f64)),
        figure("mean", |d| Some(d.mean)),
        figure("sd", |d| d.sd),
        figure("iqr", |d| Some(d.iqr as f64)),
        figure("p50", |d| Some(d.p50 as f64)),
        figure("p90", |d| d.carried_p90().map(|ns| ns as f64)),
        figure("p99", |d| d.carried_p99().map(|ns| ns as f64)),
        figure("p999", |d| d.carried_p999().map(|ns| ns as f64)),
        figure("max", |d| Some(d.max as f64)),
    ]
}

#[cfg(test)]
mod tests {
    use crate::summary::SummaryBuilder;
    use delaylab_model::method::Method;
    use delaylab_model::record::{Outcome, Record};
    use delaylab_model::trial::RecordFacts;

    #[test]
    fn names_are_fixed_and_figures_are_the_summarys() {
        let empty = SummaryBuilder::new(RecordFacts::default(), 10).finish();
        let mut builder = SummaryBuilder::new(RecordFacts::default(), 10);
        for seq in 0..3 {
            let mut record = Record::due(0, 0, seq, Method::Udp, 1000);
            record.t_send = Some(1000);
            record.t_recv = Some(1500 + 10 * seq as i64);
            record.outcome = Outcome::Ok;
            builder.push(&record);
        }
        let figures = builder.finish().figures();
        let names =
            |figures: &[super::Figure]| figures.iter().map(|(name, _)| name.clone()).collect();
        let (all, none): (Vec<_>, Vec<_>) = (names(&figures), names(&empty.figures()));
        assert_eq!(all, none);
        let figure = |name: &str| figures.iter().find(|f| f.0 == name).and_then(|f| f.1);
        assert_eq!(figure("received"), Some(3.0));
        assert_eq!(figure("round_trip_p50_ns"), Some(510.0));
        assert_eq!(figure("round_trip_max_ns"), Some(520.0));
        assert_eq!(figure("network_p50_ns"), None);
        // What is called whole is: three packets have a mean and a deviation with fractions.
        for (name, value) in &figures {
            assert!(
                !super::is_whole(name) || value.is_none_or(|value| value.fract() == 0.0),
                "{name}"
            );
        }
        for name in [
            "sent",
            "slow_clock_reads",
            "span_ns",
            "host_p999_ns",
            "ipdv_iqr_ns",
        ] {
            assert!(super::is_whole(name), "{name}");
        }
        for name in [
            "response_mean_ns",
            "response_sd_ns",
            "ipdv_sd_ns",
            "within_500us",
        ] {
            assert!(!super::is_whole(name), "{name}");
        }
    }
}
