//! What packets met in the queues of their path, where the world sees into it: a packet that waits longer than its time-out counts
//! as lost, though nothing dropped it.

use super::combination::{dropped, planned_trial, rows_of_trials};
use super::totals::total;
use delaylab_lab::experiment::Resolved;
use delaylab_model::Nanos;
use delaylab_model::hop::Direction;
use delaylab_model::record::Outcome;
use delaylab_model::units::{format_duration, format_duration_f64};
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What packets met in the queues of their path.
#[derive(Debug, Default)]
pub(super) struct Met {
    /// In the order of the way.
    pub(super) ports: Vec<QueueWaits>,
    /// The first queue of the way of which packets before these are known, which warmed their stream up: its place on the way, from 0.
    warmup_first_queue: Option<(u16, QueueWaits)>,
    /// Does the world see into the path?
    pub(super) sees_queues: bool,
    /// Lost packets whose time-out passed before a queue of their trial dropped anything: where packets wait too long, these did.
    /// Some may wait still as the trial ends. None are known where a path loses packets on purpose.
    not_dropped: u64,
}

/// A queue.
#[derive(Debug)]
pub(super) struct QueueWaits {
    pub(super) name: Arc<str>,
    /// The longest wait there.
    most: Nanos,
    /// Packets that waited there for as long as their time-out, and more.
    too_long: u64,
    /// That time-out; the shortest where there are several.
    timeout: Option<Nanos>,
}

impl Met {
    /// The packets of these rows.
    pub(super) fn new(run: &Run, resolved: Option<&Resolved>, rows: &[&TrialRow]) -> Self {
        let sees_queues = run.tables().contains(&"hops");
        let mut met = Self {
            sees_queues,
            ..Self::default()
        };
        for row in rows.iter().filter(|_| sees_queues) {
            let timeout = timeout(resolved, row);
            run.for_each_hop(Some(row.trial), |hop| {
                let waited = hop.t_dequeue.saturating_sub(hop.t_enqueue);
                match hop.probe == row.probe {
                    true if row.counts(hop.seq) => met.port(&hop.port).add(waited, timeout),
                    true if hop.direction == Direction::Forward => {
                        met.add_warmup(hop.hop, &hop.port, waited, timeout);
                    }
                    true => {}
                    false => {}
                }
            });
        }
        let is_configured = || {
            let mut dropped = dropped(rows_of_trials(run, rows));
            dropped.any(|it| it.is_configured())
        };
        if met.worst_queue().is_some() && !is_configured() {
            let each = rows.iter();
            let each = each.map(|row| not_dropped(run, row, timeout(resolved, row)));
            met.not_dropped = each.sum();
        }
        met
    }

    fn port(&mut self, name: &Arc<str>) -> &mut QueueWaits {
        let known = self.ports.iter().position(|port| port.name == *name);
        let at = known.unwrap_or(self.ports.len());
        if known.is_none() {
            self.ports.push(QueueWaits::new(name));
        }
        &mut self.ports[at]
    }

    fn add_warmup(&mut self, at: u16, name: &Arc<str>, waited: Nanos, timeout: Option<Nanos>) {
        if self
            .warmup_first_queue
            .as_ref()
            .is_some_and(|(known, _)| *known < at)
        {
            return;
        }
        let known = self.warmup_first_queue.take();
        let known = known.filter(|(known, port)| *known == at && port.name == *name);
        let mut first = known.map_or_else(|| QueueWaits::new(name), |(_, port)| port);
        first.add(waited, timeout);
        self.warmup_first_queue = Some((at, first));
    }

    /// Where packets wait still that left no queue as long as they counted: in the first one at most, which is named where those before
    /// them waited too long there. `None` where any left one, and where the world does not see into the path.
    pub(super) fn still_waiting_reason(&self) -> Option<String> {
        if !self.sees_queues || !self.ports.is_empty() {
            return None;
        }
        Some(match &self.warmup_first_queue {
            Some((_, before)) if before.timeout.is_some() => before.still_waiting_clause(),
            _ => "none of them left the first queue of the path: others go before them, or there is no way".to_owned(),
        })
    }

    /// Why packets of these rows were lost, which waited longer than their time-out or were `dropped` as that says.
    pub(super) fn loss_reason(&self, rows: &[&TrialRow], dropped: Option<&str>) -> Option<String> {
        let [lost, late] = ["lost", "late"].map(|name| total(rows, name));
        match self.worst_queue() {
            Some(port) => port.loss_reason(lost, late, self.not_dropped, dropped),
            None => dropped.map(str::to_owned),
        }
    }

    /// The queue in which most waited longer than their time-out.
    pub(super) fn worst_queue(&self) -> Option<&QueueWaits> {
        let ports = self.ports.iter().filter(|port| port.too_long > 0);
        ports.max_by_key(|port| port.too_long)
    }
}

impl QueueWaits {
    fn new(name: &Arc<str>) -> Self {
        Self {
            name: name.clone(),
            most: 0,
            too_long: 0,
            timeout: None,
        }
    }

    /// `they wait in the queue of s1→s2, in which packets before them waited for up to 6.83 s, longer than their time-out of 1.00 s`.
    fn still_waiting_clause(&self) -> String {
        let most = format_duration_f64(self.most as f64);
        let timeout = self.timeout.map_or_else(String::new, |timeout| {
            format!(
                ", longer than their time-out of {}",
                format_duration(timeout)
            )
        });
        format!(
            "they wait in the queue of {}, in which packets before them waited for up to {most}{timeout}",
            self.name
        )
    }

    fn add(&mut self, waited: Nanos, timeout: Option<Nanos>) {
        self.most = self.most.max(waited);
        if let Some(timeout) = timeout.filter(|&timeout| waited >= timeout) {
            self.too_long += 1;
            self.timeout = Some(self.timeout.map_or(timeout, |known| known.min(timeout)));
        }
    }

    /// `waited in the queue of s1→s2 for up to 5.40 s, longer than their time-out of 1.00 s`.
    pub(super) fn waited_clause(&self) -> String {
        let timeout = self
            .timeout
            .map(|timeout| format!(" of {}", format_duration(timeout)));
        format!(
            "waited in the queue of {} for up to {}, longer than their time-out{}",
            self.name,
            format_duration_f64(self.most as f64),
            timeout.unwrap_or_default()
        )
    }

    /// Why `lost` packets were lost, of which some waited too long here, those that were `not_dropped` among them, and the others,
    /// if there were any, were `dropped` as that says: what became of most first. Those that were answered too `late` waited,
    /// too, and are not lost.
    fn loss_reason(
        &self,
        lost: u64,
        late: u64,
        not_dropped: u64,
        dropped: Option<&str>,
    ) -> Option<String> {
        let waited = self
            .too_long
            .saturating_sub(late)
            .max(not_dropped)
            .min(lost);
        let others = lost - waited;
        match dropped.filter(|_| others > 0) {
            _ if waited == 0 => dropped.map(str::to_owned),
            None => Some(format!("they {}", self.waited_clause())),
            Some(dropped) if waited >= others => Some(format!(
                "{waited} {}; of the others, {dropped}",
                self.waited_clause()
            )),
            Some(dropped) => Some(format!("{dropped}; {waited} {}", self.waited_clause())),
        }
    }
}

fn not_dropped(run: &Run, row: &TrialRow, timeout: Option<Nanos>) -> u64 {
    // When each queue dropped first: of a large network not all are seen.
    let mut first = BTreeMap::<Arc<str>, Nanos>::new();
    run.for_each_series_point(Some(row.trial), |point| {
        if &*point.series == "drops" && point.max > 0.0 {
            let known = first.entry(point.of.clone()).or_insert(point.t);
            *known = point.t.min(*known);
        }
    });
    let own = [row];
    let mut dropped = dropped(rows_of_trials(run, &own));
    if dropped.any(|it| !first.contains_key(it.port)) {
        return 0;
    }
    let first = first.into_values().min().unwrap_or(Nanos::MAX);
    let Some(timeout) = timeout else {
        return 0;
    };
    let mut lost = 0;
    run.for_each_record(Some(row.trial), |record| {
        let is_own = record.probe == row.probe && row.counts(record.seq);
        let given_up = record.t_send.map(|sent| sent.saturating_add(timeout));
        let is_before = given_up.is_some_and(|at| at < first);
        lost += u64::from(is_own && is_before && record.outcome == Outcome::Lost);
    });
    lost
}

/// How long a row's packets were waited for.
pub(super) fn timeout(resolved: Option<&Resolved>, row: &TrialRow) -> Option<Nanos> {
    let probes = &planned_trial(resolved, row.trial)?.probes;
    Some(probes.get(usize::from(row.probe))?.timeout)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Only what warmed their stream up left a queue.
    #[test]
    fn what_waits_still_is_in_the_first_queue() {
        let mut met = Met {
            sees_queues: true,
            ..Met::default()
        };
        let none = met.still_waiting_reason().unwrap();
        assert!(none.starts_with("none of them left the first queue"));
        let second = 1_000_000_000;
        // That they hardly waited there says nothing of those behind them.
        met.add_warmup(1, &"r→s".into(), 6 * second, Some(second));
        met.add_warmup(0, &"a→r".into(), 3_000, Some(second));
        assert_eq!(met.still_waiting_reason().unwrap(), none);
        for (at, port, waited) in [(0, "a→r", 1), (1, "r→s", 2), (1, "r→s", 6), (0, "a→r", 3)]
        {
            met.add_warmup(at, &port.into(), waited * second, Some(second));
        }
        assert_eq!(
            met.still_waiting_reason().unwrap(),
            "they wait in the queue of a→r, in which packets before them waited for up to 3.00 s, longer than their time-out of 1.00 s"
        );
        met.port(&"r→s".into()).add(second, None);
        assert_eq!(met.still_waiting_reason(), None);
    }

    #[test]
    fn what_became_of_most_comes_first() {
        let port = |too_long| QueueWaits {
            name: "s1→s2".into(),
            most: 5_400_000_000,
            too_long,
            timeout: Some(1_000_000_000),
        };
        let waited =
            "waited in the queue of s1→s2 for up to 5.40 s, longer than their time-out of 1.00 s";
        let dropped = Some("the queue of s1→s2 dropped packets (the buffer was full)");
        let said = |too_long, dropped| port(too_long).loss_reason(100, 0, 0, dropped).unwrap();
        assert_eq!(said(100, dropped), format!("they {waited}"));
        assert_eq!(said(3, None), format!("they {waited}"));
        assert_eq!(
            said(60, dropped),
            format!(
                "60 {waited}; of the others, the queue of s1→s2 dropped packets (the buffer was full)"
            )
        );
        assert_eq!(
            said(40, dropped),
            format!("the queue of s1→s2 dropped packets (the buffer was full); 40 {waited}")
        );
        // Of 63 that waited so long, 60 were answered after all.
        let few = port(63).loss_reason(100, 60, 0, dropped);
        assert!(few.is_some_and(|said| said.ends_with(&format!("; 3 {waited}"))));
        assert_eq!(
            port(60).loss_reason(100, 60, 0, dropped).as_deref(),
            dropped
        );
        assert_eq!(port(60).loss_reason(100, 60, 0, None), None);
        // The time-out of 90 passed before anything was dropped.
        let most = port(63).loss_reason(100, 60, 90, dropped);
        assert!(most.is_some_and(|said| said.starts_with(&format!("90 {waited}; of the others"))));
    }
}
