//! `delaylab testbed`: by hand what `run --world testbed` does by itself.

use crate::args::experiment::RUNS;
use crate::args::testbed::{ExecArgs, TestbedArgs, TestbedCommand, UpArgs};
use crate::exit::Failed;
use crate::experiment::choose;
use crate::stop::catch_stop;
use crate::terminal;
use delaylab_kernel::{clock, signals};
use delaylab_lab::experiment::{Choices, Experiment, Source};
use delaylab_model::MILLISECOND;
use delaylab_model::experiment::WorldName;
use delaylab_model::path::Topology;
use delaylab_runner::resolve;
use delaylab_runner::testbed::{self, BuiltTestbed, TestbedPlan};
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
    let plan = plan(args)?;
    if args.show_commands {
        return terminal::print(commands(&plan));
    }
    catch_stop()?;
    let built = plan.build()?;
    terminal::print(described(&built))?;
    while !signals::stop().is_asked() {
        // A signal ends the sleep early, which is what it is for.
        let _ = clock::sleep_until(clock::monotonic() + LOOK_EVERY);
    }
    Ok(())
}

/// The first combination of the experiment, or one that has this topology.
fn plan(args: &UpArgs) -> Result<TestbedPlan, Failed> {
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
    Ok(TestbedPlan::new(resolved)?)
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

fn commands(TestbedPlan { trial, layout }: &TestbedPlan) -> String {
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

fn described(built: &BuiltTestbed) -> String {
    let TestbedPlan { trial, layout } = &built.plan;
    let mut text = format!("{}\n", built.id());
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
            if built.is_hidden {
                way_in()
            } else {
                String::new()
            },
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

fn exec(args: &ExecArgs) -> Result<(), Failed> {
    testbed::enter(args.testbed.as_deref(), &args.node)?;
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
    let cleaned = testbed::clean()?;
    for folder in &cleaned.folders.removed {
        let _ = writeln!(text, "removed {}", folder.display());
    }
    for folder in &cleaned.folders.kept {
        let _ = writeln!(text, "kept {}: it is another user's", folder.display());
    }
    let mut failed = cleaned.folders.failed;
    for (id, removed) in cleaned.testbeds {
        if !removed.nodes.is_empty() {
            let nodes = removed.nodes.join(", ");
            let _ = writeln!(text, "removed {id} ({nodes})");
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
