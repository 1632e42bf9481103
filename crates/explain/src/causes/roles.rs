//! What part a process has in the measurement: the run's own load is what was asked for, and no finding.

use delaylab_lab::experiment::Resolved;
use delaylab_model::noise::{LOAD_THREAD, Process, STRESS_PROCESSES};
use delaylab_model::probe::HostCondition;
use delaylab_store::trial_row::TrialRow;
use std::collections::BTreeSet;

/// How names of delaylab's own threads begin.
const OWN: &str = "dlab-";
/// The program, as it is called.
const PROGRAM: &str = "delaylab";
/// Its commands that send probes of a run.
pub const PROBING_COMMANDS: [&str; 5] = ["run", "ping", "resume", "bench", "cells"];

/// What part a process has in the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// None.
    #[default]
    Other,
    /// It is what condition stressed asks for.
    Stress,
    /// It makes the run's own load.
    Load,
    /// It watches the host for the run.
    Watch,
    /// It sends and receives the probes.
    Prober,
    /// It answers them.
    Reflector,
}

impl Role {
    /// Was it asked for, so that it is no finding?
    pub const fn is_run_load(self) -> bool {
        matches!(self, Role::Stress | Role::Load)
    }

    /// For programs.
    pub const fn key(self) -> &'static str {
        match self {
            Role::Other => "other",
            Role::Stress => "stress",
            Role::Load => "load",
            Role::Watch => "watch",
            Role::Prober => "prober",
            Role::Reflector => "reflector",
        }
    }

    /// For people.
    pub const fn words(self) -> &'static str {
        match self {
            Role::Other => "another process",
            Role::Stress => "delaylab's stress load",
            Role::Load => "delaylab's own load",
            Role::Watch => "delaylab's own watching",
            Role::Prober => "the prober",
            Role::Reflector => "the reflector",
        }
    }

    /// For people: a process of this name and part.
    pub fn named(self, name: &str) -> String {
        format!("{} ({name})", self.words())
    }
}

/// Which processes have a part.
#[derive(Debug, Default)]
pub(super) struct Roles {
    /// Simulated processes that run in condition stressed alone.
    stress: BTreeSet<String>,
    /// Some of the run is in condition stressed, so that its host is put under load.
    stressed: bool,
    /// The processes that measured, where the run says which: another delaylab on the host is none of them.
    measured: BTreeSet<u32>,
}

impl Roles {
    pub(super) fn new(rows: &[TrialRow], resolved: Option<&Resolved>) -> Self {
        let mut stress = BTreeSet::new();
        for planned in resolved.iter().flat_map(|resolved| &resolved.planned) {
            let hosts = planned.trial.path.host_costs();
            let daemons = hosts.flat_map(|host| host.with_noise().daemon);
            let only = |conditions: &Vec<HostCondition>| *conditions == [HostCondition::Stressed];
            let stressed = daemons.filter(|daemon| daemon.conditions.as_ref().is_some_and(only));
            stress.extend(stressed.map(|daemon| daemon.name));
        }
        let ran = rows.iter().flat_map(|row| &row.facts.ran);
        let measured = ran.filter(|ran| ran.measures).map(|ran| ran.pid);
        Self {
            stress,
            stressed: rows.iter().any(|row| row.host == HostCondition::Stressed),
            measured: measured.collect(),
        }
    }

    pub(super) fn role(&self, name: &str, process: Option<&Process>) -> Role {
        let command = process.map_or("", |process| process.command.as_str());
        let mut words = command.split_whitespace();
        let program = words.next().and_then(|path| path.rsplit('/').next());
        let verb = words.next().filter(|_| program == Some(PROGRAM));
        let is_own = process.is_none_or(|process| self.is_own(process.pid));
        match name {
            _ if self.stress.contains(name) => Role::Stress,
            // It works in processes of its own, which nothing tells from those of another run.
            _ if STRESS_PROCESSES.contains(&name) && self.stressed => Role::Stress,
            _ if verb == Some("reflect") => Role::Reflector,
            _ if !is_own || STRESS_PROCESSES.contains(&name) => Role::Other,
            LOAD_THREAD => Role::Load,
            _ if name.starts_with(OWN) => Role::Watch,
            _ if verb.is_some_and(|verb| PROBING_COMMANDS.contains(&verb)) => Role::Prober,
            _ => Role::Other,
        }
    }

    fn is_own(&self, pid: u32) -> bool {
        self.measured.is_empty() || self.measured.contains(&pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_commands_tell_the_part() {
        let process = |command: &str| Process {
            pid: 7,
            command: command.to_owned(),
            thread: 7,
            started: 0,
            unit: None,
        };
        let roles = Roles {
            stressed: true,
            ..Roles::default()
        };
        for (name, command, expected) in [
            ("dlab-spin", "", Role::Stress),
            ("dlab-watch", "", Role::Watch),
            ("delaylab load", "/usr/bin/delaylab run x", Role::Load),
            (
                "delaylab",
                "/usr/bin/delaylab reflect --accept-load",
                Role::Reflector,
            ),
            ("delaylab", "delaylab ping 192.0.2.1", Role::Prober),
            (
                "frame-sender",
                "delaylab bench throughput --port eth1 --port eth2",
                Role::Prober,
            ),
            ("cron", "/usr/sbin/cron -f", Role::Other),
            ("grep", "grep delaylab run", Role::Other),
        ] {
            assert_eq!(
                roles.role(name, Some(&process(command))),
                expected,
                "{name}"
            );
        }
        assert_eq!(roles.role("slices", None), Role::Other);
    }

    #[test]
    fn another_delaylab_on_the_host_has_no_part_in_this_run() {
        let process = |pid: u32| Process {
            pid,
            command: "/usr/bin/delaylab run calibration".to_owned(),
            thread: pid,
            started: 0,
            unit: None,
        };
        let roles = Roles {
            measured: [7].into(),
            ..Roles::default()
        };
        for (name, own) in [
            ("delaylab", Role::Prober),
            ("dlab-watch", Role::Watch),
            ("delaylab load", Role::Load),
            // No trial of this run is in condition stressed.
            ("dlab-timer", Role::Other),
        ] {
            assert_eq!(roles.role(name, Some(&process(7))), own, "{name}");
            assert_eq!(roles.role(name, Some(&process(8))), Role::Other, "{name}");
        }
    }
}
