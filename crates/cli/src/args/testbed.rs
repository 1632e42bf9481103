//! `delaylab testbed`.

use super::experiment::ChoiceArgs;
use clap::{Args, Subcommand};

/// Build a testbed of network namespaces by hand
#[derive(Debug, Args)]
#[command(after_help = "\
A testbed is made of network namespaces joined by veth pairs. Nothing in it is connected to this host's \
network. It needs root, or a kernel that lets users make network namespaces of their own.

Examples:
  delaylab testbed up two-hosts                        two hosts and a switch, until Ctrl-C
  delaylab testbed exec a1 -- ping -c 3 10.82.0.2      in another terminal, meanwhile
  delaylab testbed up class-jitter --show-commands     what would be typed to build it")]
pub struct TestbedArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: TestbedCommand,
}

/// What to do with testbeds.
#[derive(Debug, Subcommand)]
pub enum TestbedCommand {
    Up(UpArgs),
    Exec(ExecArgs),
    /// Remove what a killed process left behind
    Clean,
}

/// Build one and keep it until Ctrl-C
#[derive(Debug, Args)]
#[command(after_help = "\
Of an experiment, the path of its first combination is built: --set chooses another. A topology by \
name has links of 10 Mbit/s unless --set path.rate says otherwise. A reflector answers at each host, \
and the experiment's servers listen.")]
pub struct UpArgs {
    /// Which, and how.
    #[command(flatten)]
    pub choice: ChoiceArgs,

    /// Print the ip, tc and nft commands that build it, and build nothing
    #[arg(long)]
    pub show_commands: bool,
}

/// Run a command at one of its nodes
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// Of which testbed, where there are several: what `up` called it
    #[arg(long, value_name = "ID")]
    pub testbed: Option<String>,

    /// At which node, as a1 or s1
    pub node: String,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<String>,
}
