//! What a run does not show, and which privilege or option would.

use super::gather::Gathered;
use delaylab_model::trial::{Delivery, ReflectorClock, Residence, StampPoint};
use delaylab_store::begun::{CUT_SHORT, LACKS_OTHERS};
use delaylab_store::killed::Remedy;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// Something that the run does not show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unknown {
    /// What is not known.
    pub what: String,
    /// Why it is not known.
    #[serde(rename = "reason")]
    pub why: String,
    /// What would show it.
    pub remedy: String,
}

impl Unknown {
    fn new(what: &str, why: impl Into<String>, remedy: &str) -> Self {
        Self {
            what: what.to_owned(),
            why: why.into(),
            remedy: remedy.to_owned(),
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.what, self.why, self.remedy)
    }
}

/// Everything that this run does not show.
pub(super) fn find(run: &Run, gathered: &Gathered<'_>) -> Vec<Unknown> {
    let rows = run.trials();
    let imported = run.is_imported();
    let world = if imported {
        "imported"
    } else {
        run.world().unwrap_or_default()
    };
    // Of what was never answered there is nothing to tell apart.
    let answered = (gathered.answered > 0).then_some(rows);
    let all = [
        complete(run),
        who(rows, world),
        answered.and_then(host_or_network),
        answered.and_then(reflector),
        answered.and_then(each_way),
        within_the_network(run, world),
        of_this_machine(world),
    ];
    all.into_iter().flatten().collect()
}

fn complete(run: &Run) -> Option<Unknown> {
    let remedy = match run.remedy()? {
        Remedy::EndAsItStands => "`delaylab resume` makes a complete run of what is recorded",
        Remedy::Remove => "no packet of it is recorded: measure again",
        Remedy::Continue => "`delaylab resume` continues it",
    };
    let what = "what the rest of the run shows";
    Some(Unknown::new(what, "it did not come to its end", remedy))
}

/// Who had the CPU.
fn who(rows: &[TrialRow], world: &str) -> Option<Unknown> {
    let watched = rows
        .iter()
        .filter(|row| !row.facts.noise_sources.is_empty());
    let watched: BTreeSet<u32> = watched.map(|row| row.trial).collect();
    let all: BTreeSet<u32> = rows.iter().map(|row| row.trial).collect();
    let blind: BTreeSet<u32> = all.difference(&watched).copied().collect();
    if blind.is_empty() {
        return None;
    }
    let what = "which process or interrupt had the CPU";
    if world == "imported" {
        let why = "the tool that measured did not look";
        let remedy = "measure with `delaylab run`, as root or with access to tracefs";
        return Some(Unknown::new(what, why, remedy));
    }
    if let Some((why, remedy)) = without_end(&blind, rows, all.len()) {
        return Some(Unknown::new(what, why, remedy));
    }
    let why = if watched.is_empty() {
        "nothing watched the scheduler".to_owned()
    } else {
        format!(
            "nothing watched the scheduler in {} of {} trials",
            blind.len(),
            all.len()
        )
    };
    let remedy = "run as root, or with access to tracefs; `delaylab doctor` says how";
    Some(Unknown::new(what, why, remedy))
}

/// Why what watched the scheduler is in none of these trials, and what helps, where how each of them ended is not recorded. `of`: how
/// many trials there are.
fn without_end(
    trials: &BTreeSet<u32>,
    rows: &[TrialRow],
    of: usize,
) -> Option<(String, &'static str)> {
    let trials_where = |is_so: fn(&TrialRow) -> bool| -> BTreeSet<u32> {
        let so = rows.iter().filter(|row| is_so(row));
        so.map(|row| row.trial).collect()
    };
    if !trials.is_subset(&trials_where(lacks_its_end)) {
        return None;
    }
    let cut_short = trials.intersection(&trials_where(is_cut_short)).count();
    let not_stored = trials.len() - cut_short;
    let remedy = match (cut_short, not_stored) {
        (_, 0) => "let a measurement come to its end, as root or with access to tracefs",
        (0, _) => "measure where the disk has room, as root or with access to tracefs",
        _ => {
            "let a measurement come to its end where the disk has room, as root or with access to tracefs"
        }
    };
    let each = [(cut_short, "cut short"), (not_stored, "not all stored")];
    let there = each.into_iter().filter(|(count, _)| *count > 0);
    let said: Vec<String> = there
        .map(|(count, how)| format!("{} {how}", how_many_were(count, of)))
        .collect();
    let why = format!(
        "{}, and what watches the scheduler is recorded at the end of a trial",
        said.join(", ")
    );
    Some((why, remedy))
}

/// `1 of 3 trials was`.
fn how_many_were(some: usize, of: usize) -> String {
    match (some, of) {
        (1, 1) => "the trial was".to_owned(),
        (1, of) => format!("1 of {of} trials was"),
        (some, of) => format!("{some} of {of} trials were"),
    }
}

fn is_cut_short(row: &TrialRow) -> bool {
    row.facts
        .flaws
        .iter()
        .any(|flaw| flaw.starts_with(CUT_SHORT))
}

/// Is how it ended not recorded? Then it is not known either which stamps the kernel delivered.
fn lacks_its_end(row: &TrialRow) -> bool {
    let mut warnings = row.facts.warnings.iter();
    is_cut_short(row) || warnings.any(|warning| warning == LACKS_OTHERS)
}

fn missing(rows: &[TrialRow], stamp: StampPoint) -> bool {
    asking(rows).filter(|row| !lacks_its_end(row)).any(|row| {
        let mut stamps = row.facts.stamps.iter();
        let found = stamps.find(|(point, _)| *point == stamp);
        found.is_none_or(|(_, delivery)| *delivery != Delivery::Delivered)
    })
}

fn host_or_network(rows: &[TrialRow]) -> Option<Unknown> {
    let stamps = [(StampPoint::TTx, "t_tx"), (StampPoint::TRx, "t_rx")];
    let absent = stamps
        .into_iter()
        .filter(|(stamp, _)| missing(rows, *stamp));
    let absent: Vec<&str> = absent.map(|(_, name)| name).collect();
    (!absent.is_empty()).then(|| {
        Unknown::new(
            "host and network apart, for every packet",
            format!("the kernel's stamps {} are missing", absent.join(" and ")),
            "`delaylab doctor` says which methods this host stamps",
        )
    })
}

/// Those whose reflector or target could stamp. A server of any make does not, and is told from the network otherwise.
fn asking(rows: &[TrialRow]) -> impl Iterator<Item = &TrialRow> {
    let asking = |row: &&TrialRow| !row.method.is_one_way() && !row.method.asks_server();
    rows.iter().filter(asking)
}

fn reflector(rows: &[TrialRow]) -> Option<Unknown> {
    let unknown = |row: &TrialRow| {
        let facts = &row.facts.records;
        facts.reflector_clock == ReflectorClock::None || facts.residence == Residence::Unknown
    };
    asking(rows).any(unknown).then(|| {
        Unknown::new(
            "the network and the host that answers apart",
            "what answers does not stamp",
            "`delaylab reflect` at the other end does, for udp, tcp and stamp probes",
        )
    })
}

fn each_way(rows: &[TrialRow]) -> Option<Unknown> {
    let unrelated = |row: &TrialRow| row.facts.records.reflector_clock == ReflectorClock::Unrelated;
    asking(rows).any(unrelated).then(|| {
        Unknown::new(
            "how long the way there and the way back take at least",
            "the two hosts' clocks are not related",
            "synchronise both (PTP, or NTP where its error is small against the delay)",
        )
    })
}

fn within_the_network(run: &Run, world: &str) -> Option<Unknown> {
    let mut any = false;
    run.for_each_hop(None, |_| any = true);
    (!any && matches!(world, "live" | "imported")).then(|| {
        Unknown::new(
            "where in the network",
            "real hosts do not see into their path",
            "`delaylab trace TARGET` shows its hops; a testbed or a simulation of it, its queues",
        )
    })
}

fn of_this_machine(world: &str) -> Option<Unknown> {
    (world == "testbed").then(|| {
        Unknown::new(
            "delay of the devices and of this machine's CPUs apart",
            "the switches of a testbed run on the CPUs of the machine that measures",
            "the same experiment in `sim`, or on devices of their own",
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::causes::testing::row;

    #[test]
    fn trials_are_counted_and_not_their_probes() {
        let mut rows = Vec::new();
        for (trial, probe) in (0..10).flat_map(|trial| [(trial, 0), (trial, 1)]) {
            let mut row = row(&[], None);
            (row.trial, row.probe) = (trial, probe);
            row.facts.noise_sources = (trial >= 2)
                .then(|| "scheduler".to_owned())
                .into_iter()
                .collect();
            rows.push(row);
        }
        let why = who(&rows, "live").unwrap().why;
        assert_eq!(why, "nothing watched the scheduler in 2 of 10 trials");
        assert_eq!(who(&rows[4..], "live"), None);
        assert_eq!(who(&[], "live"), None);
    }

    /// What watched it went with the process that measured.
    #[test]
    fn a_trial_that_was_cut_short_was_not_unwatched() {
        let mut cut = row(&[], None);
        cut.facts.flaws = vec![format!("{CUT_SHORT}noon after 7 packets: it was killed")];
        let why = |rows: &[TrialRow]| who(rows, "live").unwrap().why;
        let says = "the trial was cut short, and what watches the scheduler is recorded at the end of a trial";
        assert_eq!(why(std::slice::from_ref(&cut)), says);
        let mut other = row(&[], None);
        other.trial = cut.trial + 1;
        let says = "nothing watched the scheduler";
        assert_eq!(why(&[cut.clone(), other.clone()]), says);
        assert!(host_or_network(std::slice::from_ref(&other)).is_some());
        other.facts.warnings = vec![LACKS_OTHERS.to_owned()];
        let says = "the trial was not all stored, and what watches the scheduler is recorded at the end of a trial";
        assert_eq!(why(std::slice::from_ref(&other)), says);
        assert_eq!(host_or_network(std::slice::from_ref(&other)), None);
        let both = who(&[cut, other], "live").unwrap();
        let says = "1 of 2 trials was cut short, 1 of 2 trials was not all stored, and what watches the scheduler is recorded at the \
                    end of a trial";
        assert_eq!(both.why, says);
        assert!(
            both.remedy
                .contains("come to its end where the disk has room")
        );
    }
}
