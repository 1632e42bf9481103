//! What was lost: how much, in which combination of levels that was answered most, and the likely reason. A
//! delay says nothing of packets that never arrived, and where the slowest are dropped those that are left look fast.

use super::blackouts::{refused, which_way};
use super::combination::{self, lost_share, total};
use delaylab_lab::experiment::Resolved;
use delaylab_model::distinct::Distinct;
use delaylab_model::trial::Dropped;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use std::collections::BTreeSet;

/// Packets that were lost, some of them in combinations of levels of which others were answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Losses {
    /// Packets that were lost.
    pub lost: u64,
    /// Packets that were sent.
    pub sent: u64,
    /// How many of the lost ones are of combinations of levels that lost everything.
    pub in_blackouts: u64,
    /// The combination of levels with the largest share, and its probe where there are several: its label and that
    /// share, 0 to 1. `None` where there is one alone.
    pub most: Option<(String, f64)>,
    /// The likely reason, where the run's tables tell it.
    pub reason: Option<String>,
}

/// Of all trials; `None` where nothing was lost, and of a device benchmark, which loses packets on purpose.
pub(super) fn find(run: &Run, resolved: Option<&Resolved>) -> Option<Losses> {
    if resolved.is_some_and(|resolved| resolved.procedure.is_some()) {
        return None;
    }
    let mut distinct = Distinct::new();
    let mut alike = combination::rows_by_label(run, |row, _| {
        distinct.counts(row.facts.trace_hash, row.probe)
    });
    let of_all = |alike: &[(String, Vec<&TrialRow>)], name: &str| -> u64 {
        alike.iter().map(|(_, rows)| total(rows, name)).sum()
    };
    let (lost, sent) = (of_all(&alike, "lost"), of_all(&alike, "sent"));
    alike.retain(|(_, rows)| total(rows, "received") > 0);
    let in_blackouts = lost - of_all(&alike, "lost");
    let (label, rows) = alike
        .iter()
        .max_by(|a, b| lost_share(&a.1).total_cmp(&lost_share(&b.1)))?;
    let reason = || match drops(rows.iter().copied()) {
        known if !known.is_empty() => Some(known),
        _ => Some(rows)
            .filter(|rows| 2 * total(rows, "refused") > total(rows, "lost"))
            .and_then(|rows| refused(run, rows))
            .or_else(|| which_way(rows)),
    };
    (lost > in_blackouts).then(|| Losses {
        lost,
        sent,
        in_blackouts,
        most: (alike.len() > 1).then(|| (label.clone(), lost_share(rows))),
        reason: reason(),
    })
}

/// `the queue of s1→s2 dropped packets (the buffer was full)`; empty where no trial says so.
pub(super) fn drops<'a>(rows: impl Iterator<Item = &'a TrialRow>) -> String {
    let warnings = rows.flat_map(|row| &row.facts.warnings);
    let dropped = warnings.filter_map(|warning| Dropped::read(warning));
    let words = dropped.map(|it| format!("the queue of {} dropped packets ({})", it.port, it.why));
    let words: BTreeSet<String> = words.collect();
    words.into_iter().collect::<Vec<_>>().join("; ")
}

/// A share of packets: `0.34 %`, `59.7 %`.
fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 0.01 => "<0.01 %".to_owned(),
        percent if percent < 1.0 => format!("{percent:.2} %"),
        percent => format!("{percent:.1} %"),
    }
}

impl Losses {
    /// `48 of 14280 packets were lost (0.34 %), the largest share in case CoDel, streams 4 (2.7 %): the queue of r→s
    /// dropped packets (CoDel).`
    pub fn sentence(&self) -> String {
        let share = percent(self.lost as f64 / self.sent.max(1) as f64);
        let were = if self.lost == 1 { "was" } else { "were" };
        let (blackouts, of_rest) = match self.in_blackouts {
            0 => (String::new(), ""),
            lost => (
                format!(", {lost} of them where every packet was lost"),
                " of the rest",
            ),
        };
        let most = self.most.as_ref().map_or_else(String::new, |(label, of)| {
            format!(", the largest share{of_rest} in {label} ({})", percent(*of))
        });
        let reason = self.reason.as_ref();
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        format!(
            "{} of {} packets {were} lost ({share}){blackouts}{most}{reason}.",
            self.lost, self.sent
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_share_is_named_with_its_reason() {
        let losses = Losses {
            lost: 48,
            sent: 14_280,
            in_blackouts: 0,
            most: Some(("case CoDel, streams 4".to_owned(), 0.0269)),
            reason: Some("the queue of r→s dropped packets (CoDel)".to_owned()),
        };
        assert_eq!(
            losses.sentence(),
            "48 of 14280 packets were lost (0.34 %), the largest share in case CoDel, streams 4 (2.7 %): the queue \
             of r→s dropped packets (CoDel)."
        );
        let with_blackouts = Losses {
            lost: 2556,
            in_blackouts: 2508,
            reason: None,
            ..losses
        };
        assert_eq!(
            with_blackouts.sentence(),
            "2556 of 14280 packets were lost (17.9 %), 2508 of them where every packet was lost, the largest share of \
             the rest in case CoDel, streams 4 (2.7 %)."
        );
        let one = Losses {
            lost: 1,
            sent: 20_000,
            in_blackouts: 0,
            most: None,
            reason: None,
        };
        assert_eq!(one.sentence(), "1 of 20000 packets was lost (<0.01 %).");
    }
}
