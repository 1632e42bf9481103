//! Lost requests by TCP of which the far kernel says that they had come there: it acknowledged them.

use super::combination::{Place, dropped, place, planned_trial, rows_of_trials};
use super::line::ports_there_alone;
use delaylab_lab::experiment::Resolved;
use delaylab_model::method::Method;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::trial::Dropped;
use delaylab_model::units::format_duration_f64;
use delaylab_model::words::were;
use delaylab_stats::functional::Functional;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use std::collections::{BTreeMap, BTreeSet};

/// Lost requests by TCP, and after what time the far kernel acknowledged those that came to it. Of a refused one or one whose reply was
/// corrupt it is known what came back.
#[derive(Debug, Clone, Default)]
pub(super) struct UnansweredRequests {
    count: u64,
    ack_delays_ns: Vec<f64>,
}

impl UnansweredRequests {
    /// Of the requests of each of these rows, by the trial and probe of those that go by TCP: each trial is read once.
    pub(super) fn of_rows(run: &Run, rows: &[&TrialRow]) -> BTreeMap<Place, Self> {
        let by_tcp = rows.iter().filter(|row| is_by_tcp(row.method));
        let mut of_rows: BTreeMap<_, _> = by_tcp.map(|row| (place(row), Self::default())).collect();
        let trials: BTreeSet<u32> = of_rows.keys().map(|(trial, _)| *trial).collect();
        for trial in trials {
            run.scan(Some(trial), |row, record| {
                if let Some(of_row) = of_rows.get_mut(&place(row)) {
                    of_row.push(record);
                }
            });
        }
        of_rows
    }

    /// Takes a record: it counts if it is of such a request.
    pub(super) fn push(&mut self, record: &Record) {
        if record.outcome != Outcome::Lost || !is_by_tcp(record.method) {
            return;
        }
        self.count += 1;
        let sent = record.t_tx.or(record.t_send);
        let acknowledged = record.t_ack.zip(sent);
        let after = acknowledged.map(|(at, sent)| at.saturating_sub(sent).max(0) as f64);
        self.ack_delays_ns.extend(after);
    }

    /// All of these together.
    pub(super) fn of_all<'a>(each: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        each.into_iter().for_each(|one| all.merge(one));
        all
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.ack_delays_ns.extend(&other.ack_delays_ns);
    }

    fn all_acknowledged(&self) -> bool {
        self.ack_delays_ns.len() as u64 == self.count
    }

    /// Had most of them arrived?
    pub(super) fn are_most(&self) -> bool {
        2 * self.ack_delays_ns.len() as u64 > self.count
    }

    /// `all 30 requests were acknowledged, 46.0 ms after being sent (median), so that they arrived`; `None` where most were not.
    pub(super) fn said(&self) -> Option<String> {
        if !self.are_most() {
            return None;
        }
        let requests = match (self.ack_delays_ns.len() as u64, self.count) {
            (1, 1) => "the request was".to_owned(),
            (count, all) if count == all => format!("all {all} requests were"),
            (count, all) => format!("{count} of {all} requests {}", were(count)),
        };
        let median = Functional::Quantile(0.5).value(&mut self.ack_delays_ns.clone())?;
        Some(format!(
            "{requests} acknowledged, {} after being sent (median), so that they arrived",
            format_duration_f64(median)
        ))
    }
}

/// Where these trials dropped packets of which lost requests or their replies may be: a queue on the way back drops replies, whatever
/// became of requests. Of requests that the far kernel has all, a queue on the way there dropped none: TCP sends again what it dropped.
pub(super) fn may_have_dropped<'a>(
    run: &'a Run,
    resolved: Option<&Resolved>,
    rows: &[&TrialRow],
    acknowledged: &UnansweredRequests,
) -> Vec<Dropped<'a>> {
    let there = |row: &&TrialRow| {
        let trial = planned_trial(resolved, row.trial);
        trial.map_or_else(BTreeSet::new, |trial| ports_there_alone(trial, row.probe))
    };
    // Those of the way there of each of them.
    let there = match acknowledged.all_acknowledged() {
        true => rows.iter().map(there).reduce(|all, own| &all & &own),
        false => None,
    };
    let there = there.unwrap_or_default();
    let all = dropped(rows_of_trials(run, rows));
    all.filter(|it| !there.contains(it.port)).collect()
}

/// Does the far kernel acknowledge its requests?
fn is_by_tcp(method: Method) -> bool {
    method.is_stream() || method.asks_server()
}

/// That requests came to the far kernel, which acknowledged them, and nothing else came back: whatever is wrong is behind that.
pub(super) fn acknowledged_clause(unanswered: &UnansweredRequests) -> Option<String> {
    Some(format!(
        "{}; the server does not answer, or its \
         replies are lost on the way back (if only large ones are, a link there carries smaller packets than both ends expect, \
         and a short answer, as `--head` asks for, would come)",
        unanswered.said()?
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::MILLISECOND;

    /// A refusal is an answer, and so are other bytes.
    #[test]
    fn only_lost_requests_by_tcp_count_as_acknowledged() {
        let said = |each: &[(Method, Outcome, bool)]| {
            let mut found = UnansweredRequests::default();
            for &(method, outcome, is_acknowledged) in each {
                let mut record = Record::due(0, 0, 0, method, 0);
                record.outcome = outcome;
                record.t_send = Some(0);
                record.t_ack = is_acknowledged.then_some(MILLISECOND);
                found.push(&record);
            }
            found.said()
        };
        let others = [
            (Method::Http, Outcome::Refused, true),
            (Method::Http, Outcome::Corrupt, true),
            (Method::Http, Outcome::Late, true),
            (Method::Udp, Outcome::Lost, false),
        ];
        assert_eq!(said(&others), None);
        for method in [Method::Http, Method::Tcp] {
            let lost = [(method, Outcome::Lost, true), (method, Outcome::Lost, true)];
            assert_eq!(
                said(&[&others[..], &lost].concat()).unwrap(),
                "all 2 requests were acknowledged, 1.00 ms after being sent (median), so that they arrived"
            );
        }
        let most = [
            (Method::Http, Outcome::Lost, true),
            (Method::Http, Outcome::Lost, false),
        ];
        assert_eq!(said(&most), None);
    }
}
