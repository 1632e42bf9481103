//! What was lost: how much, in which combination of levels that was answered most, and the likely reason. A
//! delay says nothing of packets that never arrived, and where the slowest are dropped those that are left look fast.

use super::acknowledged::{UnansweredRequests, may_have_dropped};
use super::blackouts::end;
use super::combination::{self, Place, dropped, is_blackout, place, rows_of_trials};
use super::gather::{GatheredStream, with_requests};
use super::instead::{counted_errors, counted_failures, failures, rejected};
use super::met::{Met, timeout};
use super::stretch::{self, LossyStretch};
use super::totals::{lost_share, total};
use super::which_way::which_way;
use delaylab_lab::experiment::Resolved;
use delaylab_model::Nanos;
use delaylab_model::distinct::Distinct;
use delaylab_model::trial::Dropped;
use delaylab_model::units::{format_duration, format_part, format_share};
use delaylab_model::words::{a_few, were};
use delaylab_stats::outage;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Labels that share the largest share are named, and reasons with a count, up to this many.
const MAX_NAMED: usize = 4;

/// From this share on almost nothing was answered. Chosen by hand.
const ALMOST_ALL: f64 = 0.9;

/// Packets that were lost, some of them in combinations of levels of which others were answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Losses {
    /// Packets that were lost.
    pub lost: u64,
    /// Packets that were sent.
    pub sent: u64,
    /// Are handshakes beside requests among them?
    pub with_handshakes: bool,
    /// How many of the lost ones are of combinations of levels that lost everything.
    pub in_blackouts: u64,
    /// How those ended: `every` packet `was lost`, or `no` packet `was answered in time`.
    pub blackouts_end: (&'static str, &'static str),
    /// The combination of levels with the largest share, and its probe where there are several: its label and that
    /// share, 0 to 1; several labels where that is the share of each. `None` where there is one alone.
    pub most: Option<(String, f64)>,
    /// The longest outage of any stream.
    pub outage: Option<InTrial<outage::Outage>>,
    /// Where most of what one stream lost is close together, with packets that were answered between.
    pub stretch: Option<InTrial<LossyStretch>>,
    /// Corrupt replies, which are no answers and no losses: an outage may have more packets than were lost.
    pub corrupt: u64,
    /// The likely reason, where the run's tables tell it.
    pub reason: Option<String>,
}

/// Packets one after the other that were not answered, or most losses of a stream close together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InTrial<T> {
    /// The trial, where there are several.
    pub trial: Option<u32>,
    /// How many, and when.
    pub span: T,
}

impl<T> InTrial<T> {
    fn new(run: &Run, row: &TrialRow, span: T) -> Self {
        let trial = (run.trial_count() > 1).then_some(row.trial);
        Self { trial, span }
    }

    /// ` of trial 3`; empty where there is one alone.
    fn of_trial(&self) -> String {
        let trial = self.trial.map(|trial| format!(" of trial {trial}"));
        trial.unwrap_or_default()
    }
}

/// What `Explanation::outage_warning` says of this run, by what its trials kept: records are read only of those that older
/// versions recorded, and of requests in trials that dropped packets: those that were acknowledged were not lost by that. Of
/// others it is left out that they were.
pub fn outage_warning(run: &Run, resolved: Option<&Resolved>) -> Option<String> {
    let acknowledged = |rows: &[&TrialRow]| {
        let all = run.trials().iter();
        let dropping = all.filter(|row| dropped(std::iter::once(*row)).next().is_some());
        let dropping: BTreeSet<u32> = dropping.map(|row| row.trial).collect();
        let rows = rows.iter().filter(|row| dropping.contains(&row.trial));
        UnansweredRequests::of_rows(run, &rows.copied().collect::<Vec<_>>())
    };
    find(
        run,
        resolved,
        |row| read_outage(run, row),
        |_| None,
        acknowledged,
    )?
    .outage_warning()
}

/// Of all trials; `None` where nothing was lost, and of a device benchmark, which loses packets on purpose. `outage` says the
/// longest outage of a row that has not kept it, `stretch` where most losses of a row are, `acknowledged` of these rows which lost
/// requests of each had arrived.
pub(super) fn find(
    run: &Run,
    resolved: Option<&Resolved>,
    outage: impl Fn(&TrialRow) -> Option<outage::Outage>,
    stretch: impl Fn(&TrialRow) -> Option<LossyStretch>,
    acknowledged: impl Fn(&[&TrialRow]) -> BTreeMap<Place, UnansweredRequests>,
) -> Option<Losses> {
    if resolved.is_some_and(|resolved| resolved.procedure.is_some()) {
        return None;
    }
    let mut distinct = Distinct::new();
    let mut alike = combination::rows_by_label(run, |row, _| {
        distinct.is_first(row.facts.trace_hash, row.probe)
    });
    let of_all = |alike: &[(String, Vec<&TrialRow>)], name: &str| -> u64 {
        alike.iter().map(|(_, rows)| total(rows, name)).sum()
    };
    let (lost, sent) = (of_all(&alike, "lost"), of_all(&alike, "sent"));
    let with_requests = with_requests(run);
    let is_handshake =
        |row: &&TrialRow| row.method.is_handshake() && with_requests.contains(&row.trial);
    let with_handshakes = alike.iter().flat_map(|(_, rows)| rows).any(is_handshake);
    let blackouts: Vec<(String, Vec<&TrialRow>)> = alike
        .extract_if(.., |(_, rows)| is_blackout(rows))
        .collect();
    let in_blackouts = of_all(&blackouts, "lost");
    if lost == in_blackouts {
        return None;
    }
    // What was never sent has no share.
    alike.retain(|(_, rows)| total(rows, "sent") > 0);
    let rows: Vec<&TrialRow> = alike.iter().flat_map(|(_, rows)| rows).copied().collect();
    let rows: Vec<&TrialRow> = rows
        .into_iter()
        .filter(|row| total(&[row], "lost") > 0)
        .collect();
    Some(Losses {
        lost,
        sent,
        with_handshakes,
        in_blackouts,
        blackouts_end: end(of_all(&blackouts, "late"), of_all(&blackouts, "corrupt")),
        most: most(&alike),
        outage: longest_outage(run, &rows, outage),
        stretch: lossy_stretch(run, &rows, stretch),
        corrupt: total(&rows, "corrupt"),
        reason: reason(run, resolved, &rows, acknowledged(&rows)),
    })
}

/// Where most was lost: the labels with the largest share, where they are not all there are.
fn most(alike: &[(String, Vec<&TrialRow>)]) -> Option<(String, f64)> {
    let shares = alike.iter().map(|(_, rows)| lost_share(rows));
    let largest = shares.max_by(f64::total_cmp)?;
    let all = alike.iter().filter(|(_, rows)| lost_share(rows) >= largest);
    let labels: Vec<&str> = all.map(|(label, _)| label.as_str()).collect();
    (labels.len() < alike.len()).then(|| (a_few(&labels, MAX_NAMED), largest))
}

/// What the run's tables tell of why packets of these rows were lost. What is seen in one trial is no reason for another: with
/// several reasons each has its count, and of packets for which nothing is seen the direction is said.
fn reason(
    run: &Run,
    resolved: Option<&Resolved>,
    all: &[&TrialRow],
    mut acknowledged: BTreeMap<Place, UnansweredRequests>,
) -> Option<String> {
    acknowledged.retain(|_, of_row| of_row.are_most());
    let each = all.iter();
    let (arrived, rows): (Vec<&TrialRow>, Vec<&TrialRow>) =
        each.partition(|row| acknowledged.contains_key(&place(row)));
    let rows = rows.as_slice();
    let (late, in_time): (Vec<&TrialRow>, Vec<&TrialRow>) =
        rows.iter().partition(|row| may_have_waited(resolved, row));
    let met = Met::new(run, resolved, &late);
    let of_late = drops(rows_of_trials(run, &late));
    let of_late = Some(of_late).filter(|drops| !drops.is_empty());
    let waited = met
        .worst_queue()
        .and_then(|_| met.loss_reason(&late, of_late.as_deref()));
    let (mut seen, mut unseen) = match waited {
        Some(_) => by_drops(run, &in_time),
        None => by_drops(run, rows),
    };
    seen.extend(waited.map(|waited| (total(&late, "lost"), vec![waited])));
    let of_arrived = UnansweredRequests::of_all(acknowledged.values());
    seen.extend(behind_the_network(run, resolved, &arrived, &of_arrived));
    let seen = most_first(seen);
    unseen.retain(|row| 2 * total(&[row], "refused") <= total(&[row], "lost"));
    let several = seen.len() + usize::from(!unseen.is_empty()) > 1;
    let of_each = seen.iter().map(|(lost, reasons)| match several {
        true => format!("{lost} where {}", reasons.join(" or ")),
        false => reasons.join("; "),
    });
    let way = which_way(&unseen, unseen.len() < all.len());
    let unknown = || format!("of {} it is not known why", total(&unseen, "lost"));
    // Both are of all rows: where some of them have another reason they would stand for too many.
    let silent = seen.is_empty() && !unseen.is_empty();
    let told = || rejected(rows).filter(|_| silent);
    let way = way.or_else(told);
    let way = way.or_else(|| (several && !unseen.is_empty()).then(unknown));
    let errors = failed(all).or_else(|| counted_errors(run, all));
    let reasons: Vec<String> = of_each.chain(errors).chain(way).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// How many packets of these rows were lost whose `requests` had arrived, and why; `None` where none had.
fn behind_the_network(
    run: &Run,
    resolved: Option<&Resolved>,
    rows: &[&TrialRow],
    requests: &UnansweredRequests,
) -> Option<Seen> {
    let arrived = format!(
        "{}: the server did not answer them, or its replies were lost on the way back",
        requests.said()?
    );
    let drops = may_have_dropped(run, resolved, rows, requests);
    let why = std::iter::once(arrived).chain(Dropped::reasons(drops));
    let why: Vec<String> = why.collect();
    let lost = total(rows, "lost").saturating_sub(total(rows, "refused"));
    Some((lost, vec![why.join("; ")]))
}

/// Why requests failed, where that is why they count as refused: none had a reply that was corrupt, which is no loss.
fn failed(rows: &[&TrialRow]) -> Option<String> {
    let failures = failures(rows.iter().copied());
    let count: u64 = failures.iter().map(|(_, count)| count).sum();
    let all = count > 0 && count == total(rows, "refused");
    all.then(|| counted_failures(&failures).join("; "))
}

/// How many packets were lost, and the reasons for which they may have been.
type Seen = (u64, Vec<String>);

/// These rows by why their trials dropped packets, and those whose trials dropped none.
fn by_drops<'a>(run: &Run, rows: &[&'a TrialRow]) -> (Vec<Seen>, Vec<&'a TrialRow>) {
    let mut of_trials = BTreeMap::<u32, Vec<Dropped<'_>>>::new();
    for row in rows_of_trials(run, rows) {
        let drops = dropped(std::iter::once(row));
        of_trials.entry(row.trial).or_default().extend(drops);
    }
    let mut alike = BTreeMap::<BTreeSet<&str>, (u64, Vec<Dropped<'_>>)>::new();
    let mut none = Vec::new();
    for row in rows {
        match of_trials.get(&row.trial) {
            Some(drops) if !drops.is_empty() => {
                let why = drops.iter().map(|it| it.why).collect();
                let (lost, all) = alike.entry(why).or_default();
                *lost += total(&[row], "lost");
                all.extend(drops);
            }
            _ => none.push(*row),
        }
    }
    let seen = alike.into_values();
    let seen = seen.map(|(lost, drops)| (lost, Dropped::reasons(drops)));
    (seen.collect(), none)
}

/// The reasons of most packets first, and those of the fewest together where there are many.
fn most_first(mut seen: Vec<Seen>) -> Vec<Seen> {
    seen.sort_by_key(|(lost, _)| Reverse(*lost));
    if seen.len() > MAX_NAMED {
        let few = seen.split_off(MAX_NAMED - 1);
        let lost = few.iter().map(|(lost, _)| lost).sum();
        let reasons: BTreeSet<String> = few.into_iter().flat_map(|(_, reasons)| reasons).collect();
        seen.push((lost, reasons.into_iter().collect()));
    }
    seen
}

/// May packets of this row have waited until their time-out? A queue that grows so long lets others pass which waited half as long.
/// What each packet met is read of such rows alone.
fn may_have_waited(resolved: Option<&Resolved>, row: &TrialRow) -> bool {
    let half = timeout(resolved, row).map(|timeout| timeout as f64 / 2.0);
    half.is_some_and(|half| row.figure("response_max_ns") >= Some(half))
}

/// The longest outage of these rows.
fn longest_outage(
    run: &Run,
    rows: &[&TrialRow],
    outage: impl Fn(&TrialRow) -> Option<outage::Outage>,
) -> Option<InTrial<outage::Outage>> {
    let of = |row: &TrialRow| match &row.facts.unanswered {
        Some(kept) => kept.outage,
        None => outage(row),
    };
    let each = rows.iter().filter_map(|row| Some((row, of(row)?)));
    // Of those that are alike, the last one of the run.
    let (row, longest) = each.max_by_key(|(row, outage)| (outage.packets, place(row)))?;
    Some(InTrial::new(run, row, longest))
}

/// That of these rows in which most was lost.
fn lossy_stretch(
    run: &Run,
    rows: &[&TrialRow],
    stretch: impl Fn(&TrialRow) -> Option<LossyStretch>,
) -> Option<InTrial<LossyStretch>> {
    let each = rows.iter().filter_map(|row| Some((row, stretch(row)?)));
    let (row, most) = each.max_by_key(|(_, stretch)| stretch.lost)?;
    Some(InTrial::new(run, row, most))
}

/// The longest outage of a row, from its records.
fn read_outage(run: &Run, row: &TrialRow) -> Option<outage::Outage> {
    let mut packets = Vec::new();
    run.scan(Some(row.trial), |of, record| {
        if of.probe == row.probe {
            packets.extend(outage::packet(record));
        }
    });
    outage::longest(packets)
}

/// The streams of a run.
pub(super) struct Streams<'a>(BTreeMap<Place, &'a GatheredStream<'a>>);

impl<'a> Streams<'a> {
    pub(super) fn new(streams: &'a [GatheredStream<'a>]) -> Self {
        let each = streams.iter().map(|stream| (place(stream.row), stream));
        Self(each.collect())
    }

    /// The longest outage of a row.
    pub(super) fn outage(&self, row: &TrialRow) -> Option<outage::Outage> {
        let packets = self.ended(row)?;
        outage::longest(packets.map(|(packet, _)| packet).collect())
    }

    /// Where most losses of a row are.
    pub(super) fn stretch(&self, row: &TrialRow) -> Option<LossyStretch> {
        let packets = self.ended(row)?;
        let kept = packets.filter(|(_, is_corrupt)| !is_corrupt);
        stretch::lossy_stretch(&kept.map(|(packet, _)| packet).collect::<Vec<_>>())
    }

    /// Which lost requests of each of these rows had been acknowledged.
    pub(super) fn acknowledged(&self, rows: &[&TrialRow]) -> BTreeMap<Place, UnansweredRequests> {
        let places = rows.iter().map(|row| place(row));
        let each = places.filter_map(|place| Some((place, self.0.get(&place)?.unanswered.clone())));
        each.collect()
    }

    /// When each packet of a row that was waited for to its end was due, and whether it was answered; and whether its reply was corrupt.
    fn ended(
        &self,
        row: &TrialRow,
    ) -> Option<impl Iterator<Item = ((Nanos, bool), bool)> + use<'a>> {
        let stream = *self.0.get(&place(row))?;
        let packets = stream.due.iter().zip(&stream.response).zip(0..);
        let ended = packets.filter(|(_, at)| stream.not_ended.binary_search(at).is_err());
        let each = ended.map(|((due, response), at)| {
            let is_corrupt = stream.corrupt.binary_search(&at).is_ok();
            let is_answered = !response.is_nan() || stream.untimed.binary_search(&at).is_ok();
            ((*due, is_answered), is_corrupt)
        });
        Some(each)
    }
}

/// `the queue of s1→s2 dropped packets (the buffer was full)`; empty where no trial says so.
pub(super) fn drops<'a>(rows: impl Iterator<Item = &'a TrialRow>) -> String {
    Dropped::reasons(dropped(rows)).join("; ")
}

impl Losses {
    /// Is almost nothing answered of the combination that lost most, of those that did not lose everything?
    pub fn is_almost_all(&self) -> bool {
        let share = match &self.most {
            Some((_, share)) => *share,
            None => {
                let [lost, sent] =
                    [self.lost, self.sent].map(|of| of.saturating_sub(self.in_blackouts));
                lost as f64 / sent.max(1) as f64
            }
        };
        share >= ALMOST_ALL
    }

    /// What was lost, where some of it was lost in a row: figures are then of the time in which packets were answered. Without
    /// its full stop.
    pub fn outage_warning(&self) -> Option<String> {
        self.outage.as_ref()?;
        Some(self.sentence().trim_end_matches('.').to_owned())
    }

    /// `48 of 14280 packets were lost (0.34 %), the largest share in case CoDel, streams 4 (2.7 %): the queue of r→s
    /// dropped packets (CoDel).`
    pub fn sentence(&self) -> String {
        let share = format_part(self.lost, self.sent);
        let packets = match self.with_handshakes {
            true => "packets and handshakes",
            false => "packets",
        };
        let were = were(self.lost);
        let (blackouts, of_rest) = match self.in_blackouts {
            0 => (String::new(), ""),
            lost => {
                let (every, ended) = self.blackouts_end;
                (
                    format!(", {lost} of them where {every} packet {ended}"),
                    " of the rest",
                )
            }
        };
        let most = self.most.as_ref().map_or_else(String::new, |(label, of)| {
            format!(
                ", the largest share{of_rest} in {label} ({})",
                format_share(*of)
            )
        });
        let outage = self.outage.as_ref();
        let answer = if self.corrupt > 0 {
            "valid answer"
        } else {
            "answer"
        };
        let outage = match outage {
            Some(outage) => outage.words(answer),
            None => {
                let stretch = self.stretch.as_ref();
                stretch.map_or_else(String::new, |stretch| stretch.words())
            }
        };
        let reason = self.reason.as_ref();
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        format!(
            "{} of {} {packets} {were} lost ({share}){blackouts}{most}{outage}{reason}.",
            self.lost, self.sent
        )
    }
}

impl InTrial<LossyStretch> {
    /// `, 40 of them among 101 packets (from 1.42 s to 1.92 s of trial 3)`.
    fn words(&self) -> String {
        let LossyStretch {
            packets,
            lost,
            from,
            to,
        } = self.span;
        let [from, to] = [from, to].map(format_duration);
        format!(
            ", {lost} of them among {packets} packets (from {from} to {to}{})",
            self.of_trial()
        )
    }
}

impl InTrial<outage::Outage> {
    /// `, no answer to 226 in a row (from 870 ms to the end of trial 3)`.
    fn words(&self, answer: &str) -> String {
        let of = self.of_trial();
        let from = match self.span.from {
            0 => "the beginning".to_owned(),
            from => format_duration(from),
        };
        let when = match self.span.to {
            Some(to) => format!("from {from} to {}{of}", format_duration(to)),
            None => format!("from {from} to the end{of}"),
        };
        format!(", no {answer} to {} in a row ({when})", self.span.packets)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::causes::testing::row;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_row_of_losses_is_said_with_when_it_was() {
        let outage = |trial, packets, from, to| InTrial {
            trial,
            span: outage::Outage {
                packets,
                from,
                to,
                other: 0,
            },
        };
        let mut losses = Losses {
            lost: 226,
            sent: 400,
            with_handshakes: false,
            in_blackouts: 0,
            blackouts_end: end(0, 0),
            most: None,
            outage: Some(outage(None, 226, 870 * MS, None)),
            stretch: None,
            corrupt: 0,
            reason: None,
        };
        assert_eq!(
            losses.sentence(),
            "226 of 400 packets were lost (56 %), no answer to 226 in a row (from 870 ms to the end)."
        );
        let stretch = LossyStretch {
            packets: 101,
            lost: 40,
            from: 1420 * MS,
            to: 1920 * MS,
        };
        let close = Losses {
            outage: None,
            stretch: Some(InTrial {
                trial: None,
                span: stretch,
            }),
            ..losses.clone()
        };
        let says = "(56 %), 40 of them among 101 packets (from 1.42 s to 1.92 s).";
        assert!(close.sentence().ends_with(says), "{}", close.sentence());
        losses.corrupt = 1;
        let says = "(56 %), no valid answer to 226 in a row (from 870 ms to the end).";
        assert!(losses.sentence().ends_with(says), "{}", losses.sentence());
        losses.corrupt = 0;
        losses.outage = Some(outage(Some(52), 376, 0, None));
        let says = "no answer to 376 in a row (from the beginning to the end of trial 52).";
        assert!(losses.sentence().ends_with(says), "{}", losses.sentence());
        losses.outage = Some(outage(Some(3), 20, 500 * MS, Some(600 * MS)));
        losses.reason =
            Some("7 ICMP errors came (administratively prohibited, from 10.82.0.2)".to_owned());
        assert_eq!(
            losses.sentence(),
            "226 of 400 packets were lost (56 %), no answer to 20 in a row (from 500 ms to 600 ms of trial 3): 7 ICMP \
             errors came (administratively prohibited, from 10.82.0.2)."
        );
    }

    #[test]
    fn those_that_lose_the_same_share_are_all_named() {
        let of = |lost| row(&[("lost", lost), ("sent", 100)], None);
        let rows = [of(4), of(4), of(3)];
        let labels = ["m icmp", "m stamp", "m tcp"];
        let alike = labels
            .iter()
            .zip(&rows)
            .map(|(label, row)| (label.to_string(), vec![row]));
        let alike: Vec<_> = alike.collect();
        assert_eq!(most(&alike), Some(("m icmp; m stamp".to_owned(), 0.04)));
        assert_eq!(most(&alike[..2]), None);
    }

    #[test]
    fn the_largest_share_is_named_with_its_reason() {
        let losses = Losses {
            lost: 48,
            sent: 14_280,
            with_handshakes: false,
            in_blackouts: 0,
            blackouts_end: end(0, 0),
            most: Some(("case CoDel, streams 4".to_owned(), 0.0269)),
            outage: None,
            stretch: None,
            corrupt: 0,
            reason: Some("the queue of r→s dropped packets (CoDel)".to_owned()),
        };
        assert_eq!(
            losses.sentence(),
            "48 of 14280 packets were lost (0.34 %), the largest share in case CoDel, streams 4 (2.7 %): the queue \
             of r→s dropped packets (CoDel)."
        );
        assert!(!losses.is_almost_all());
        let starved = Losses {
            most: Some(("case CoDel, streams 4".to_owned(), 0.995)),
            ..losses.clone()
        };
        assert!(starved.is_almost_all());
        let with_blackouts = Losses {
            lost: 2556,
            in_blackouts: 2508,
            reason: None,
            ..losses.clone()
        };
        assert_eq!(
            with_blackouts.sentence(),
            "2556 of 14280 packets were lost (18 %), 2508 of them where every packet was lost, the largest share of \
             the rest in case CoDel, streams 4 (2.7 %)."
        );
        let answered_late = Losses {
            lost: 13,
            sent: 120,
            with_handshakes: false,
            in_blackouts: 10,
            blackouts_end: end(50, 0),
            most: None,
            reason: None,
            ..losses
        };
        assert_eq!(
            answered_late.sentence(),
            "13 of 120 packets were lost (11 %), 10 of them where no packet was answered in time."
        );
        let one = Losses {
            lost: 1,
            sent: 20_000,
            with_handshakes: false,
            in_blackouts: 0,
            blackouts_end: end(0, 0),
            most: None,
            outage: None,
            stretch: None,
            corrupt: 0,
            reason: None,
        };
        assert_eq!(one.sentence(), "1 of 20000 packets was lost (<0.01 %).");
    }
}
