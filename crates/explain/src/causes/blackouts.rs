//! Combinations of levels of which nothing was answered in time, and the likely reason: what the run's own tables know of
//! the queues that packets met, of drops, refusals and time-outs.

use super::combination::{self, Place, is_blackout, place, planned_trial, rows_of_trials, tried};
use super::line::ports_there_alone;
use super::met::{Met, timeout};
use super::totals::total;
use crate::grouped::grouped;
use delaylab_lab::experiment::Resolved;
use delaylab_model::distinct::Distinct;
use delaylab_model::method::Method;
use delaylab_model::plan::levels_in_words;
use delaylab_model::quantity::Share;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::trial::{Dropped, LossDirection};
use delaylab_model::units::{format_duration, format_duration_f64};
use delaylab_model::words::{a_few, plural, were};
use delaylab_stats::functional::Functional;
use delaylab_stats::summary::refusals::{self, Refusals};
use delaylab_stats::unanswered;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use schemars::JsonSchema;
use serde::Serialize;
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Labels that a warning names.
const MAX_NAMED_LABELS: usize = 4;
/// A queue that held so much of its most on average was full all the time.
const ALL_THE_TIME: f64 = 0.9;

/// One combination of levels, and one probe, of which no packet was answered in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Blackout {
    /// Its levels and, where there are several, its probe.
    pub label: String,
    /// The parts of that.
    #[serde(skip)]
    levels: Vec<String>,
    /// Packets that were sent, or could not be. Trials that are copies of another one count once.
    #[serde(rename = "tried")]
    pub packets: u64,
    /// How many of them were answered after their time-out.
    pub late: u64,
    /// How many of them had a reply that is not what was sent or asked for, or was cut short.
    pub corrupt: u64,
    /// The likely reason.
    pub reason: String,
}

/// Every combination of levels of which no packet was answered in time. `resolved` is the run's experiment, where that is known:
/// a device benchmark loses everything on purpose, and has none.
pub fn find(run: &Run, resolved: Option<&Resolved>) -> Vec<Blackout> {
    if resolved.is_some_and(|resolved| resolved.procedure.is_some()) {
        return Vec::new();
    }
    let mut distinct = Distinct::new();
    let alike = combination::rows_by_label(run, |row, label| {
        distinct.is_first(row.facts.trace_hash, label.to_owned())
    });
    let lost = alike.into_iter().filter(|(_, rows)| is_blackout(rows));
    let of = |(label, rows): (String, Vec<&TrialRow>)| Blackout {
        packets: tried(&rows),
        late: total(&rows, "late"),
        corrupt: total(&rows, "corrupt"),
        reason: reason(run, resolved, &rows),
        levels: levels(&label, &rows),
        label,
    };
    lost.map(of).collect()
}

/// Is this why a combination of levels lost everything?
pub fn is_reason(blackouts: &[Blackout], why: &str) -> bool {
    blackouts.iter().any(|blackout| blackout.reason == why)
}

/// The levels of the combination with this label and, where that names it, its probe.
fn levels(label: &str, rows: &[&TrialRow]) -> Vec<String> {
    let Some(row) = rows.first() else {
        return Vec::new();
    };
    let factors = row.factors.iter();
    let factors = factors.map(|factor| levels_in_words([factor], None));
    let probe = levels_in_words([], Some(&row.probe_name));
    let probe = Some(probe).filter(|probe| label.ends_with(probe));
    factors.chain(probe).collect()
}

/// A warning for each reason, with the combinations that have it.
pub fn warnings(blackouts: &[Blackout]) -> Vec<String> {
    let by_reason = grouped(blackouts.iter().map(|it| (it.reason.as_str(), it)));
    let each = by_reason.into_iter();
    each.map(|(reason, all)| warning(reason, &all)).collect()
}

/// The warning of combinations that have one reason.
fn warning(reason: &str, all: &[&Blackout]) -> String {
    let packets: u64 = all.iter().map(|blackout| blackout.packets).sum();
    let late: u64 = all.iter().map(|blackout| blackout.late).sum();
    let corrupt: u64 = all.iter().map(|blackout| blackout.corrupt).sum();
    let (every, ended) = end(late, corrupt);
    let counted = |count: u64, what: &str| match count {
        0 => String::new(),
        count if count == packets => format!(", all {what}"),
        count => format!(", {count} {what}"),
    };
    let came = counted(late, "answered too late") + &counted(corrupt, "with a corrupt reply");
    match all {
        [one] => {
            let label = Some(&one.label).filter(|label| !label.is_empty());
            let of = label.map_or(String::new(), |label| format!(" of {label}"));
            format!("{every} packet{of} {ended} ({packets}{came}): {reason}")
        }
        several => {
            let shared = shared(several);
            let with = match shared.as_slice() {
                [] => String::new(),
                levels => format!("with {}, ", levels.join(", ")),
            };
            let named = a_few(&apart(several, &shared), MAX_NAMED_LABELS);
            format!(
                "{with}{every} packet of each of these {ended}: {named} ({packets} in all{came}): {reason}"
            )
        }
    }
}

/// How packets ended of which none was answered in time: `every` packet of them `was lost`, where none of these was late or corrupt.
pub(super) const fn end(late: u64, corrupt: u64) -> (&'static str, &'static str) {
    match (late, corrupt) {
        (0, 0) => ("every", "was lost"),
        (_, 0) => ("no", "was answered in time"),
        _ => ("no", "was answered correctly"),
    }
}

/// Levels that all of several have.
fn shared<'a>(blackouts: &[&'a Blackout]) -> Vec<&'a str> {
    let first = blackouts.first().map_or(&[][..], |first| &first.levels);
    let in_all = |level: &&String| blackouts.iter().all(|it| it.levels.contains(level));
    first.iter().filter(in_all).map(String::as_str).collect()
}

/// The levels of each but for these, which all of them have: `size 64B, threshold 1%`.
fn apart(blackouts: &[&Blackout], shared: &[&str]) -> Vec<String> {
    let own = |blackout: &&Blackout| {
        let levels = blackout.levels.iter().map(String::as_str);
        let own: Vec<&str> = levels.filter(|level| !shared.contains(level)).collect();
        own.join(", ")
    };
    blackouts.iter().map(own).collect()
}

fn reason(run: &Run, resolved: Option<&Resolved>, rows: &[&TrialRow]) -> String {
    let all = tried(rows);
    let most = |name: &str| 2 * total(rows, name) > all;
    if most("local_error") {
        return "this host could not send them".to_owned();
    }
    if most("refused") {
        return refused(run, rows)
            .unwrap_or_else(|| "they were refused on the way or at the target".to_owned());
    }
    if most("corrupt") {
        return corrupt(rows);
    }
    let timeout = rows.first().and_then(|row| timeout(resolved, row));
    let met = Met::new(run, resolved, rows);
    let waited = met.worst_queue();
    if most("late") {
        return waited
            .map(|port| format!("they {}", port.waited_clause()))
            .unwrap_or_else(|| {
                let timeout = timeout.map(|timeout| format!(" of {}", format_duration(timeout)));
                format!(
                    "the replies came after their time-out{}",
                    timeout.unwrap_or_default()
                )
            });
    }
    let loses_all = loses_all(resolved, rows);
    let dropped = dropped(run, rows, &met, loses_all);
    let lost = match loses_all {
        Some(_) => dropped,
        None => met.loss_reason(rows, dropped.as_deref()),
    };
    let unanswered = OnceCell::new();
    let unanswered = || {
        unanswered.get_or_init(|| {
            UnansweredRequests::of_all(UnansweredRequests::of_rows(run, rows).values())
        })
    };
    let lost = lost.map(|lost| {
        let Some(arrived) = acknowledged_clause(unanswered()) else {
            return lost;
        };
        match may_have_dropped(run, resolved, rows, unanswered()).as_slice() {
            [] if loses_all.is_none() && met.worst_queue().is_none() => arrived,
            _ => format!("{arrived}; {lost}"),
        }
    });
    lost.or_else(|| met.still_waiting_reason())
        .or_else(|| {
            let way = which_way(rows, false)?;
            Some(match too_large(run, resolved, rows) {
                Some(why) => format!("{way}; {why}"),
                None => way,
            })
        })
        .or_else(|| rejected(rows))
        .or_else(|| {
            rows.iter()
                .flat_map(|row| row.facts.flaws.first())
                .next()
                .cloned()
        })
        .or_else(|| instead(run, rows))
        .or_else(|| acknowledged_clause(unanswered()))
        .or_else(|| too_large(run, resolved, rows))
        .unwrap_or_else(|| match timeout {
            Some(timeout) => format!(
                "no reply came within {}, and nothing that the run recorded says why",
                format_duration(timeout)
            ),
            None => "nothing that the run recorded says why".to_owned(),
        })
}

/// Why packets are dropped, where the experiment asks its switches to lose every one of them, or to damage it.
fn loses_all(resolved: Option<&Resolved>, rows: &[&TrialRow]) -> Option<&'static str> {
    let trial = planned_trial(resolved, rows.first()?.trial)?;
    let impair = trial.path.switch.as_ref()?.impair?;
    let asked = [
        (impair.loss, Dropped::ASKED),
        (impair.corrupt, Dropped::DAMAGED),
    ];
    let mut whole = asked.iter().filter(|(share, _)| *share == Share::WHOLE);
    whole.next().map(|(_, why)| *why)
}

/// What is wrong with replies: why requests failed, or that bytes differ.
fn corrupt(rows: &[&TrialRow]) -> String {
    match failures(rows.iter().copied()).as_slice() {
        [] => "replies came with other bytes than were sent".to_owned(),
        [(why, _)] => (*why).to_owned(),
        several => counted_failures(several).join("; "),
    }
}

/// What came to some packets instead of an answer, and that nothing came to the others: `20 replies were corrupt; no reply
/// came to the other 40`.
fn instead(run: &Run, rows: &[&TrialRow]) -> Option<String> {
    let errors = counted_errors(run, rows);
    let failed = counted_failures(&failures(rows.iter().copied()));
    let replies = match total(rows, "corrupt") {
        1 if failed.is_empty() => Some("1 reply was corrupt".to_owned()),
        count if count > 0 && failed.is_empty() => Some(format!("{count} replies were corrupt")),
        _ => None,
    };
    let mut parts: Vec<String> = failed.into_iter().chain(replies).chain(errors).collect();
    if parts.is_empty() {
        return None;
    }
    let silent = total(rows, "lost").saturating_sub(total(rows, "refused"));
    if silent > 0 {
        parts.push(format!("no reply came to the other {silent}"));
    }
    Some(parts.join("; "))
}

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
    let all = combination::dropped(rows_of_trials(run, rows));
    all.filter(|it| !there.contains(it.port)).collect()
}

/// Does the far kernel acknowledge its requests?
fn is_by_tcp(method: Method) -> bool {
    method.is_stream() || method.asks_server()
}

/// That requests came to the far kernel, which acknowledged them, and nothing else came back: whatever is wrong is behind that.
fn acknowledged_clause(unanswered: &UnansweredRequests) -> Option<String> {
    Some(format!(
        "{}; the server does not answer, or its \
         replies are lost on the way back (if only large ones are, a link there carries smaller packets than both ends expect, \
         and a short answer, as `--head` asks for, would come)",
        unanswered.said()?
    ))
}

/// That something came for most of those that count as lost, and was no reply to them.
pub(super) fn rejected(rows: &[&TrialRow]) -> Option<String> {
    let count: u64 = rows.iter().map(|row| row.facts.rejected).sum();
    if count == 0 || 2 * count < total(rows, "lost") {
        return None;
    }
    let what = match rows.iter().all(|row| row.method.asks_server()) {
        true => "malformed, or to another question",
        false => "malformed, or with a wrong key or token",
    };
    let (came, were) = (plural(count, "packet"), were(count));
    Some(format!(
        "{came} that came {were} not taken for replies ({what})"
    ))
}

/// That a link may carry no packets so large, which its errors do not say: only on paths that the run does not see into.
fn too_large(run: &Run, resolved: Option<&Resolved>, rows: &[&TrialRow]) -> Option<String> {
    let row = rows.first().filter(|_| run.world() == Some("live"))?;
    let mut size = None;
    run.scan(Some(row.trial), |of, record| {
        size = size.or(record.ip_size.filter(|_| of.probe == row.probe));
    });
    // Segments have sizes of their own.
    let requests = || {
        let probes = &planned_trial(resolved, row.trial)?.probes;
        Some(probes.get(usize::from(row.probe))?.payload)
    };
    let size = size.or_else(requests)?;
    let each = rows.iter().map(|row| row.facts.loss);
    let loss = each.reduce(|a, b| {
        let (a, b) = (a?, b?);
        Some(LossDirection {
            forward: a.forward + b.forward,
            back: a.back + b.back,
            ..a
        })
    });
    let loss = loss.flatten();
    let loss = loss.as_ref().map(|loss| (loss, total(rows, "lost")));
    unanswered::too_large(row.method, size, loss)
}

/// Packets that could not be sent, and replies that were none, where others were answered, a sentence each without its full stop:
/// `120 of 400 packets were answered with a corrupt reply: the connection was closed`. Empty of a device benchmark.
pub(super) fn failed(run: &Run, resolved: Option<&Resolved>) -> Vec<String> {
    if resolved.is_some_and(|resolved| resolved.procedure.is_some()) {
        return Vec::new();
    }
    let mut distinct = Distinct::new();
    let alike = combination::rows_by_label(run, |row, _| {
        distinct.is_first(row.facts.trace_hash, row.probe)
    });
    let others = alike.into_iter().filter(|(_, rows)| !is_blackout(rows));
    let rows: Vec<&TrialRow> = others.flat_map(|(_, rows)| rows).collect();
    let of = |count: u64, all: u64| (count > 0).then(|| format!("{count} of {all} packets"));
    let unsent = of(total(&rows, "local_error"), tried(&rows));
    let bad = total(&rows, "corrupt");
    let all = [
        unsent.map(|unsent| format!("this host could not send {unsent}")),
        of(bad, total(&rows, "sent")).map(|of_all| {
            format!(
                "{of_all} {} answered with a corrupt reply: {}",
                were(bad),
                corrupt(&rows)
            )
        }),
    ];
    all.into_iter().flatten().collect()
}

/// Why requests failed, and how many each, as probes of servers warn of it: `60 requests failed: the connection was closed`.
pub(super) fn failures<'a>(rows: impl Iterator<Item = &'a TrialRow>) -> Vec<(&'a str, u64)> {
    let mut by_reason: BTreeMap<&str, u64> = BTreeMap::new();
    for warning in rows.flat_map(|row| &row.facts.warnings) {
        let said = warning.split_once(" failed: ");
        let said = said.and_then(|(requests, why)| Some((requests.split_once(' ')?, why)));
        if let Some(((count, "request" | "requests"), why)) = said {
            *by_reason.entry(why).or_default() += count.parse::<u64>().unwrap_or(0);
        }
    }
    let mut all: Vec<(&str, u64)> = by_reason.into_iter().collect();
    all.sort_by_key(|&(_, count)| Reverse(count));
    all
}

pub(super) fn counted_failures(failures: &[(&str, u64)]) -> Vec<String> {
    let of = |&(why, count): &(&str, u64)| format!("{} failed ({why})", plural(count, "request"));
    failures.iter().map(of).collect()
}

/// What the errors said that came instead of answers, and who sent them: `ICMP errors came instead of replies (TTL
/// exceeded, from 192.0.2.1)`.
fn refused(run: &Run, rows: &[&TrialRow]) -> Option<String> {
    let (_, what, why) = errors(run, rows)?;
    Some(format!("{what}s came instead of replies ({why})"))
}

/// How many errors came instead of answers, what they are, and what they said: `7 ICMP errors (administratively prohibited,
/// from 192.0.2.1)`; `7 were refused` where no record says more.
pub(super) fn counted_errors(run: &Run, rows: &[&TrialRow]) -> Option<String> {
    let Some((count, what, why)) = errors(run, rows) else {
        let refused = total(rows, "refused");
        let were = were(refused);
        return (refused > 0).then(|| format!("{refused} {were} refused"));
    };
    Some(format!("{} came ({why})", plural(count, what)))
}

fn errors(run: &Run, rows: &[&TrialRow]) -> Option<(u64, &'static str, String)> {
    let mut came = Refusals::default();
    for row in rows.iter().filter(|row| row.figure("refused") > Some(0.0)) {
        match &row.facts.unanswered {
            Some(kept) => {
                let refusals = kept.refusals.iter();
                refusals.for_each(|&(refusal, count)| came.add(refusal, count));
            }
            None => {
                run.scan(Some(row.trial), |of, record| {
                    if of.probe == row.probe {
                        came.push(record);
                    }
                });
            }
        }
    }
    let came = came.listed();
    let by_icmp = came.iter().all(|(refusal, _)| refusal.reason.is_some());
    let what = if by_icmp { "ICMP error" } else { "error" };
    let count = came.iter().map(|(_, count)| count).sum();
    let why = refusals::described(&came);
    (!why.is_empty()).then_some((count, what, why))
}

/// Where packets of the trials were dropped, and how full that queue was. Loss that was asked for is the reason only where all
/// packets are lost so.
fn dropped(run: &Run, rows: &[&TrialRow], met: &Met, loses_all: Option<&str>) -> Option<String> {
    let of_trials = rows_of_trials(run, rows);
    let all = combination::dropped(of_trials);
    let all = all.filter(|it| match loses_all {
        Some(why) => it.why == why,
        None => !it.is_configured(),
    });
    let all: Vec<Dropped<'_>> = all.collect();
    // A queue that the packets never left, rather than one that they passed.
    let passed = |dropped: &&Dropped<'_>| met.ports.iter().any(|port| *port.name == *dropped.port);
    let found = all.iter().find(|it| !passed(it)).or(all.first())?;
    if loses_all.is_some() {
        return Some(found.reason());
    }
    let trials: BTreeSet<u32> = rows.iter().map(|row| row.trial).collect();
    let (mut held, mut long, mut most) = (0.0, 0.0, 0.0_f64);
    for trial in trials {
        run.for_each_series_point(Some(trial), |point| {
            if &*point.series == "backlog" && &*point.of == found.port {
                held += point.mean * point.length as f64;
                long += point.length as f64;
                most = most.max(point.max);
            }
        });
    }
    let share = held / (long * most);
    let full = match share >= ALL_THE_TIME {
        true => ", and was full all the time",
        false => "",
    };
    Some(found.reason() + full)
}

/// The reflector counts what comes to it. Of what was lost behind its last count that arrived, or where nothing counts, the
/// direction is not known. Where these are `some` of what the sentence is about, all have their count.
pub(super) fn which_way(rows: &[&TrialRow], some: bool) -> Option<String> {
    let (mut there, mut back, mut in_host, mut later, mut unknown) = (0, 0, 0, 0, 0);
    for row in rows {
        match row.facts.loss {
            Some(loss) => {
                later += loss.answered_later;
                there += loss.forward;
                back += loss.back;
                in_host += loss.in_host.total();
                unknown += loss.unknown;
            }
            None => unknown += total(&[row], "lost"),
        }
    }
    let one_or_more = |count: u64, one: &str, more: &str| match count {
        1 => one.to_owned(),
        _ => more.to_owned(),
    };
    let mut known = [
        (there, "did not come to the reflector".to_owned()),
        (
            back,
            format!(
                "came to the reflector, and its {} did not come back",
                one_or_more(back, "reply", "replies")
            ),
        ),
        (
            in_host,
            format!(
                "{} dropped in a host, whose buffer was full or whose limit was reached",
                were(in_host)
            ),
        ),
        (
            later,
            format!(
                "{} answered long after {} time-out",
                were(later),
                one_or_more(later, "its", "their")
            ),
        ),
    ];
    known.sort_by_key(|(count, _)| Reverse(*count));
    let all = there + back + in_host + later + unknown;
    let known = known.into_iter().filter(|(count, _)| *count > 0);
    let mut parts: Vec<String> = known
        .map(|(count, what)| match count {
            1 if all == 1 && !some => format!("it {what}"),
            count if count == all && !some => format!("they {what}"),
            count => format!("{count} {what}"),
        })
        .collect();
    if parts.is_empty() {
        return None;
    }
    if unknown > 0 {
        parts.push(format!("of {unknown} it is not known"));
    }
    Some(parts.join("; "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::causes::Explanation;
    use crate::causes::testing::row;
    use crate::flawed::Flawed;
    use delaylab_model::MILLISECOND;
    use delaylab_model::trial::LostInHost;

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

    #[test]
    fn the_direction_of_some_is_not_said_of_all() {
        let words = |losses: &[LossDirection]| {
            let rows: Vec<TrialRow> = losses.iter().map(|&loss| row(&[], Some(loss))).collect();
            which_way(&rows.iter().collect::<Vec<_>>(), false)
        };
        let lost = |forward, back, unknown, own_buffer| LossDirection {
            forward,
            back,
            unknown,
            answered_later: 0,
            in_host: LostInHost {
                own_buffer,
                ..LostInHost::default()
            },
        };
        assert_eq!(words(&[lost(0, 0, 7, 0)]), None);
        for (losses, expected) in [
            (lost(12, 0, 0, 0), "they did not come to the reflector"),
            (
                lost(12, 0, 177, 0),
                "12 did not come to the reflector; of 177 it is not known",
            ),
            (
                lost(0, 3, 0, 0),
                "they came to the reflector, and its replies did not come back",
            ),
            (
                lost(0, 3, 9, 0),
                "3 came to the reflector, and its replies did not come back; of 9 it is not known",
            ),
            (
                lost(5, 3, 9, 0),
                "5 did not come to the reflector; 3 came to the reflector, and its replies did not come back; of 9 it is not known",
            ),
            (
                lost(95, 5, 0, 0),
                "95 did not come to the reflector; 5 came to the reflector, and its replies did not come back",
            ),
            (
                lost(5, 0, 0, 9),
                "9 were dropped in a host, whose buffer was full or whose limit was reached; 5 did not come to the reflector",
            ),
            (
                lost(12, 0, 0, 12),
                "12 did not come to the reflector; 12 were dropped in a host, whose buffer was full or whose limit was reached",
            ),
            (
                lost(0, 0, 500, 1),
                "1 was dropped in a host, whose buffer was full or whose limit was reached; of 500 it is not known",
            ),
            (
                lost(0, 1, 0, 0),
                "it came to the reflector, and its reply did not come back",
            ),
        ] {
            assert_eq!(words(&[losses]).unwrap(), expected);
        }
        let late = LossDirection {
            answered_later: 91,
            ..lost(0, 0, 0, 0)
        };
        let said = "they were answered long after their time-out";
        assert_eq!(words(&[late]).unwrap(), said);
        let both = words(&[late, lost(2, 0, 5, 0)]).unwrap();
        assert_eq!(
            both,
            "91 were answered long after their time-out; 2 did not come to the reflector; of 5 it is not known"
        );
        // What several trials lost is added up.
        let both = words(&[lost(12, 0, 0, 0), lost(0, 0, 5, 0)]).unwrap();
        assert_eq!(
            both,
            "12 did not come to the reflector; of 5 it is not known"
        );
    }

    #[test]
    fn replies_that_are_corrupt_are_no_losses() {
        let mut failed = row(&[("sent", 60), ("received", 0), ("corrupt", 60)], None);
        let bytes = "replies came with other bytes than were sent";
        assert_eq!(corrupt(&[&failed]), bytes);
        let why = "the connection was closed before the end of the reply";
        failed.facts.warnings = vec![format!("59 requests failed: {why}")];
        assert_eq!(corrupt(&[&failed]), why);
        failed
            .facts
            .warnings
            .push("1 request failed: no HTTP".to_owned());
        assert_eq!(
            corrupt(&[&failed]),
            format!("59 requests failed ({why}); 1 request failed (no HTTP)")
        );
        let blackout = |late, corrupt| Blackout {
            label: "probe ping".to_owned(),
            levels: vec!["probe ping".to_owned()],
            packets: 60,
            late,
            corrupt,
            reason: why.to_owned(),
        };
        for (blackout, said) in [
            (blackout(0, 0), "every packet of probe ping was lost (60): "),
            (
                blackout(60, 0),
                "no packet of probe ping was answered in time (60, all answered too late): ",
            ),
            (
                blackout(0, 60),
                "no packet of probe ping was answered correctly (60, all with a corrupt reply): ",
            ),
            (
                blackout(2, 40),
                "no packet of probe ping was answered correctly (60, 2 answered too late, 40 with a corrupt reply): ",
            ),
        ] {
            assert_eq!(warnings(&[blackout]), [format!("{said}{why}")]);
        }
    }

    #[test]
    fn a_flaw_that_lost_everything_is_said_once() {
        let [ended, restarted] = ["the connection ended", "the reflector was restarted"];
        let blackout = Blackout {
            label: String::new(),
            levels: Vec::new(),
            packets: 30,
            late: 0,
            corrupt: 0,
            reason: ended.to_owned(),
        };
        let flawed = |why: &[&str]| Explanation {
            flawed: Some(Flawed {
                trials: 1,
                of: 3,
                why: why.iter().map(|&why| why.to_owned()).collect(),
            }),
            blackouts: vec![blackout.clone()],
            ..Explanation::default()
        };
        let count = "1 of 3 trials is invalid";
        let said = flawed(&[ended]).flawed_answer();
        assert_eq!(said, format!("{count}."));
        let said = flawed(&[ended, restarted]).flawed_answer();
        assert_eq!(said, format!("{count}: {restarted}."));
    }

    #[test]
    fn levels_that_all_of_them_have_are_said_once() {
        let blackout = |levels: &[&str]| Blackout {
            label: levels.join(", "),
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
            packets: 10,
            late: 0,
            corrupt: 0,
            reason: "the buffer was full".to_owned(),
        };
        let two = [
            blackout(&["case back to back", "size 64B", "probe a"]),
            blackout(&["case back to back", "size 128B", "probe b"]),
        ];
        assert_eq!(
            warnings(&two),
            [
                "with case back to back, every packet of each of these was lost: size 64B, probe a; size 128B, probe b \
                 (20 in all): the buffer was full"
            ]
        );
        let nothing_shared = [blackout(&["size 64B"]), blackout(&["size 128B"])];
        assert_eq!(
            warnings(&nothing_shared),
            [
                "every packet of each of these was lost: size 64B; size 128B (20 in all): the buffer was full"
            ]
        );
    }
}
