//! What part a process has in the measurement: the run's own load is what was asked for, and no finding.

use delaylab_lab::experiment::Resolved;
use delaylab_model::noise::Process;
use delaylab_model::probe::HostCondition;
use std::collections::BTreeSet;

/// How names of delaylab's own threads begin.
const OWN: &str = "dlab-";
/// What of them puts a live host under load in condition stressed.
const LIVE_STRESS: [&str; 4] = ["dlab-spin", "dlab-daemon", "dlab-memory", "dlab-timer"];
/// The thread that sends and takes load.
const LOAD: &str = "delaylab load";
/// The program, as it is called.
const PROGRAM: &str = "delaylab";

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
    pub const fn is_asked_for(self) -> bool {
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

    /// For people: a process of this name and part.
    pub fn named(self, name: &str) -> String {
        let role = match self {
            Role::Other => "another process",
            Role::Stress => "delaylab's stress load",
            Role::Load => "delaylab's own load",
            Role::Watch => "delaylab's own watching",
            Role::Prober => "the prober",
            Role::Reflector => "the reflector",
        };
        format!("{role} ({name})")
    }
}

/// Which processes have a part.
#[derive(Debug, Default)]
pub(super) struct Roles {
    /// Simulated processes that run in condition stressed alone.
    stress: BTreeSet<String>,
}

impl Roles {
    pub(super) fn new(resolved: Option<&Resolved>) -> Self {
        let mut stress = BTreeSet::new();
        for planned in resolved.iter().flat_map(|resolved| &resolved.planned) {
            let path = &planned.trial.path;
            let nodes = path.node.iter().filter_map(|node| node.host.as_ref());
            let hosts = path.host.iter().chain(nodes);
            let daemons = hosts.flat_map(|host| host.with_noise().daemon);
            let only = |conditions: &Vec<HostCondition>| *conditions == [HostCondition::Stressed];
            let stressed = daemons.filter(|daemon| daemon.conditions.as_ref().is_some_and(only));
            stress.extend(stressed.map(|daemon| daemon.name));
        }
        Self { stress }
    }

    pub(super) fn of(&self, name: &str, process: Option<&Process>) -> Role {
        let command = process.map_or("", |process| process.command.as_str());
        let mut words = command.split_whitespace();
        let program = words.next().and_then(|path| path.rsplit('/').next());
        let verb = words.next().filter(|_| program == Some(PROGRAM));
        match name {
            _ if LIVE_STRESS.contains(&name) || self.stress.contains(name) => Role::Stress,
            LOAD => Role::Load,
            _ if name.starts_with(OWN) => Role::Watch,
            _ if verb == Some("reflect") => Role::Reflector,
            _ if verb.is_some_and(|verb| ["run", "ping", "resume"].contains(&verb)) => Role::Prober,
            _ => Role::Other,
        }
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
        let roles = Roles::default();
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
            ("cron", "/usr/sbin/cron -f", Role::Other),
            ("grep", "grep delaylab run", Role::Other),
        ] {
            assert_eq!(roles.of(name, Some(&process(command))), expected, "{name}");
        }
        assert_eq!(roles.of("slices", None), Role::Other);
    }
}
