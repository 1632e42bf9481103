//! Combinations of levels of which nothing was answered in time, and the likely reason: what the run's own tables know of
//! the queues that packets met, of drops, refusals and time-outs.

use super::acknowledged::{UnansweredRequests, acknowledged_clause, may_have_dropped};
use super::combination::{self, is_blackout, planned_trial, rows_of_trials, tried};
use super::instead::{corrupt, instead, refused, rejected};
use super::met::{Met, timeout};
use super::totals::total;
use super::which_way::which_way;
use crate::grouped::grouped;
use delaylab_lab::experiment::Resolved;
use delaylab_model::Nanos;
use delaylab_model::distinct::Distinct;
use delaylab_model::plan::levels_in_words;
use delaylab_model::quantity::Share;
use delaylab_model::trial::{Dropped, LossDirection};
use delaylab_model::units::format_duration;
use delaylab_model::words::{a_few, were};
use delaylab_stats::unanswered;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use schemars::JsonSchema;
use serde::Serialize;
use std::cell::OnceCell;
use std::collections::BTreeSet;

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
    if most("late") {
        return too_late(&met, timeout);
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
        .unwrap_or_else(|| not_recorded(timeout))
}

/// Why most replies came after their time-out.
fn too_late(met: &Met, timeout: Option<Nanos>) -> String {
    if let Some(port) = met.worst_queue() {
        return format!("they {}", port.waited_clause());
    }
    let timeout = timeout.map(|timeout| format!(" of {}", format_duration(timeout)));
    format!(
        "the replies came after their time-out{}",
        timeout.unwrap_or_default()
    )
}

fn not_recorded(timeout: Option<Nanos>) -> String {
    match timeout {
        Some(timeout) => format!(
            "no reply came within {}, and nothing that the run recorded says why",
            format_duration(timeout)
        ),
        None => "nothing that the run recorded says why".to_owned(),
    }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::causes::Explanation;
    use crate::causes::testing::row;
    use crate::flawed::Flawed;

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
