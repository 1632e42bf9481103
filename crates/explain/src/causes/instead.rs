//! What came instead of answers: errors, replies that were none or had other bytes, and why requests failed.

use super::totals::total;
use delaylab_model::words::{plural, were};
use delaylab_stats::summary::refusals::{self, Refusals};
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What is wrong with replies: why requests failed, or that bytes differ.
pub(super) fn corrupt(rows: &[&TrialRow]) -> String {
    match failures(rows.iter().copied()).as_slice() {
        [] => "replies came with other bytes than were sent".to_owned(),
        [(why, _)] => (*why).to_owned(),
        several => counted_failures(several).join("; "),
    }
}

/// What came to some packets instead of an answer, and that nothing came to the others: `20 replies were corrupt; no reply
/// came to the other 40`.
pub(super) fn instead(run: &Run, rows: &[&TrialRow]) -> Option<String> {
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
pub(super) fn refused(run: &Run, rows: &[&TrialRow]) -> Option<String> {
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
