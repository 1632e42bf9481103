//! `delaylab testbed`: by hand what `run --world testbed` does by itself.

use crate::args::experiment::RUNS;
use crate::args::testbed::{ExecArgs, TestbedArgs, TestbedCommand, UpArgs};
use crate::exit::Failed;
use crate::experiment::choose;
use crate::stop::catch_stop;
use crate::terminal;
use delaylab_kernel::namespace::Namespace;
use delaylab_kernel::{clock, signals};
use delaylab_lab::experiment::{Choices, Experiment, Source};
use delaylab_model::MILLISECOND;
use delaylab_model::experiment::WorldName;
use delaylab_model::path::Topology;
use delaylab_model::trial::Trial;
use delaylab_runner::resolve;
use delaylab_testbed::build::{self, Found, Standing};
use delaylab_testbed::layout::{Layout, lay_out};
use delaylab_testbed::reflectors::Reflectors;
use delaylab_testbed::rootless;
use delaylab_testbed::servers::wanted::Wanted;
use delaylab_testbed::servers::{self, Servers};
use delaylab_testbed::soft_switch::probes::Probes;
use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};
use std::fmt::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// How often it is looked whether the user has had enough.
const LOOK_EVERY: i64 = 100 * MILLISECOND;
/// What stands for a testbed's name in printed commands.
const NAME: &str = "testbed";

/// What a testbed can be built as without an experiment.
const TOPOLOGIES: [&str; 8] = [
    "two-hosts",
    "pairs-on-a-trunk",
    "many-to-one",
    "chain",
    "routed",
    "two-paths",
    "leaf-spine",
    "fat-tree",
];

/// Runs the command.
pub fn run(args: &TestbedArgs) -> Result<(), Failed> {
    match &args.command {
        TestbedCommand::Up(args) => up(args),
        TestbedCommand::Exec(args) => exec(args),
        TestbedCommand::Clean => clean(),
    }
}

fn up(args: &UpArgs) -> Result<(), Failed> {
    let trial = trial(args)?;
    let layout = lay_out(&trial).map_err(Failed::usage)?;
    if args.show_commands {
        return terminal::print(commands(&layout, &trial));
    }
    let is_hidden = rootless::become_root_if_needed().map_err(Failed::environment)?;
    let missing = servers::missing(&trial.path.server).into_iter().next();
    missing.map_or(Ok(()), |missing| Err(Failed::environment(missing)))?;
    // Which queues the kernel has could not be asked before.
    let layout = lay_out(&trial).map_err(Failed::usage)?;
    catch_stop()?;
    let standing = Standing::build(layout.structure.clone()).map_err(Failed::environment)?;
    let switches = standing.start_switches(&layout.devices, trial.seed);
    let switches = switches.map_err(Failed::environment)?;
    let mut reflectors = Reflectors::default();
    for (_, host) in &layout.structure.hosts {
        let answers = reflectors.answer_at(host.place, &standing);
        answers.map_err(Failed::environment)?;
    }
    let wanted = Wanted::from_trial(&trial, &layout.structure);
    let _servers = match wanted.servers.is_empty() {
        true => None,
        false => Some(Servers::start(wanted, &standing, None).map_err(Failed::environment)?),
    };
    // Resets and pauses are at their times from now on.
    if let Some(switches) = &switches {
        switches.begin(Probes::default());
    }
    terminal::print(described(&layout, &trial, standing.id(), is_hidden))?;
    while !signals::stop().is_asked() {
        // A signal ends the sleep early, which is what it is for.
        let _ = clock::sleep_until(clock::monotonic() + LOOK_EVERY);
    }
    Ok(())
}

/// The first combination of the experiment, or one that has this topology.
fn trial(args: &UpArgs) -> Result<Trial, Failed> {
    let experiment = match topology(&args.choice.experiment) {
        Some(text) => Experiment::read(Source {
            name: args.choice.experiment.clone(),
            text,
        })?,
        None => resolve::experiment(&args.choice.experiment).map_err(|error| {
            let topologies = TOPOLOGIES.join(", ");
            match args.choice.experiment.contains(['/', '.']) {
                true => error.into(),
                false => Failed::usage(format!("{error}. Topologies are {topologies}")),
            }
        })?,
    };
    let choices = Choices {
        world: Some(WorldName::Testbed),
        ..choose::choices(&args.choice)
    };
    let resolved = choose::resolve(&experiment, &choices, Path::new(RUNS))?;
    let first = resolved.planned.into_iter().next();
    let first = first.ok_or_else(|| Failed::usage("the experiment has no trials in a testbed"))?;
    Ok(first.trial)
}

/// An experiment of one probe on this topology, if it is one.
fn topology(name: &str) -> Option<String> {
    Topology::deserialize(StrDeserializer::<Error>::new(name)).ok()?;
    Some(format!(
        "name = \"{NAME}\"\nworld = \"testbed\"\n\
         [[probe]]\nname = \"ping\"\ncount = 1\n{}\
         [path]\ntopology = \"{name}\"\nrate = \"10Mbit/s\"\n",
        // Where several hosts could be meant.
        if matches!(name, "leaf-spine" | "fat-tree") {
            "from = \"h1\"\nto = \"h2\"\n"
        } else {
            ""
        }
    ))
}

fn commands(layout: &Layout, trial: &Trial) -> String {
    let mut text = String::new();
    for step in layout.structure.steps(NAME) {
        let _ = writeln!(text, "{step}");
    }
    for device in &layout.devices {
        let place = &layout.structure.places[device.place];
        let _ = writeln!(
            text,
            "# in {NAME}-{place}, delaylab's soft switch between {}",
            device.interfaces.join(", ")
        );
    }
    for server in &trial.path.server {
        let (at, name, software) = (&server.at, &server.name, server.software);
        let _ = writeln!(text, "# in {NAME}-{at}, the server `{name}`: {software}");
    }
    text
}

fn described(layout: &Layout, trial: &Trial, id: &str, is_hidden: bool) -> String {
    let mut text = format!("{id}\n");
    for (name, host) in &layout.structure.hosts {
        let _ = write!(text, "  {name:<12} {}", host.address);
        for server in trial.path.server.iter().filter(|server| server.at == *name) {
            let _ = write!(text, "  {} ({})", server.name, server.software);
        }
        text.push('\n');
    }
    let hosts: Vec<_> = layout
        .structure
        .hosts
        .iter()
        .map(|(_, host)| host.place)
        .collect();
    let others = layout.structure.places.iter().zip(0..);
    let others: Vec<_> = others
        .filter(|(_, place)| !hosts.contains(place))
        .map(|(name, _)| name.as_str())
        .collect();
    if !others.is_empty() {
        let _ = writeln!(text, "  between them: {}", others.join(", "));
    }
    if let [(from, _), (_, to), ..] = layout.structure.hosts.as_slice() {
        let _ = writeln!(
            text,
            "Ctrl-C takes it down. Meanwhile: {}delaylab testbed exec {from} -- delaylab ping {}",
            if is_hidden { way_in() } else { String::new() },
            to.address
        );
    }
    text
}

/// What this user puts before a command that is to see the testbed: its names are in namespaces of this process.
fn way_in() -> String {
    let process = std::process::id();
    format!("nsenter --preserve-credentials -U -m -t {process} ")
}

fn found() -> Result<Vec<Found>, Failed> {
    build::find().map_err(|error| Failed::environment(format!("cannot list namespaces: {error}")))
}

fn exec(args: &ExecArgs) -> Result<(), Failed> {
    let found = found()?;
    let is_meant = |testbed: &&Found| args.testbed.as_ref().is_none_or(|id| *id == testbed.id);
    // Of one whose process is gone the namespaces are left, in which nothing forwards and nothing answers.
    let (gone, here): (Vec<_>, Vec<_>) = found
        .iter()
        .filter(is_meant)
        .partition(|testbed| testbed.left_over);
    let testbed = match here[..] {
        [one] => one,
        [] if !gone.is_empty() => {
            let ids: Vec<_> = gone.iter().map(|testbed| testbed.id.as_str()).collect();
            return Err(Failed::usage(format!(
                "the process of {} is gone, and with it what forwarded and answered there: `delaylab testbed clean` \
                 removes what is left",
                ids.join(", ")
            )));
        }
        [] => {
            return Err(Failed::usage(
                "no testbed is up: `delaylab testbed up two-hosts` builds one. (One that was built \
                 without root is entered by the command that it prints.)",
            ));
        }
        _ => {
            let ids: Vec<_> = here.iter().map(|testbed| testbed.id.as_str()).collect();
            return Err(Failed::usage(format!(
                "several testbeds are up: choose with --testbed {}",
                ids.join(", or ")
            )));
        }
    };
    if !testbed.nodes.contains(&args.node) {
        return Err(Failed::usage(format!(
            "there is no node `{}`: there are {}",
            args.node,
            testbed.nodes.join(", ")
        )));
    }
    let name = format!("{}-{}", testbed.id, args.node);
    let entered = Namespace::open(&name).and_then(|namespace| namespace.enter());
    entered.map_err(|error| Failed::environment(format!("cannot enter {name}: {error}")))?;
    let error = Command::new(&args.command[0])
        .args(&args.command[1..])
        .exec();
    Err(Failed::environment(format!(
        "cannot run {}: {error}",
        args.command[0]
    )))
}

fn clean() -> Result<(), Failed> {
    let mut text = String::new();
    let folders = servers::remove_left_over().map_err(Failed::environment)?;
    for folder in &folders.removed {
        let _ = writeln!(text, "removed {}", folder.display());
    }
    for folder in &folders.kept {
        let _ = writeln!(text, "kept {}: it is another user's", folder.display());
    }
    let mut failed = folders.failed;
    for testbed in found()?.iter().filter(|testbed| testbed.left_over) {
        let removed = build::remove(testbed);
        if !removed.nodes.is_empty() {
            let nodes = removed.nodes.join(", ");
            let _ = writeln!(text, "removed {} ({nodes})", testbed.id);
        }
        for name in &removed.unmarked {
            let _ = writeln!(
                text,
                "kept {name}: it does not bear the mark of a testbed. `ip netns del {name}` removes it"
            );
        }
        failed.extend(removed.failed);
    }
    if text.is_empty() && failed.is_empty() {
        text.push_str("nothing is left over\n");
    }
    terminal::print(text)?;
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failed::environment(failed.join("\n"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topology_that_is_offered_is_one() {
        for name in TOPOLOGIES {
            assert!(topology(name).is_some(), "{name}");
        }
        assert!(topology("nosuch").is_none());
    }
}
