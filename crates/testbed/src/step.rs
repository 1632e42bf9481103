//! One command that builds a part of a testbed.

use crate::tool::{MissingTool, Tool};
use delaylab_kernel::namespace::Namespace;
use delaylab_kernel::{offload, process};
use delaylab_live::joined;
use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::process::Command;

/// What to do. A namespace is meant by its full name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// `ip`, in no namespace.
    Ip(String),
    /// `ip` in a namespace.
    IpIn(String, String),
    /// `tc` in a namespace.
    Tc(String, String),
    /// A table of rules for `nft` in a namespace.
    Nft(String, String),
    /// A kernel parameter of a namespace, and its value.
    Sysctl(String, String, &'static str),
    /// No offloads on an interface in a namespace.
    WholeFrames(String, String),
}

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The command is not here.
    #[error(transparent)]
    Missing(#[from] MissingTool),
    /// It said no.
    #[error("`{step}` failed: {said}")]
    Failed {
        /// As it would be typed.
        step: String,
        /// What it said.
        said: String,
    },
}

impl fmt::Display for Step {
    /// As it would be typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Ip(words) => write!(f, "ip {words}"),
            Step::IpIn(inside, words) => write!(f, "ip -n {inside} {words}"),
            Step::Tc(inside, words) => write!(f, "tc -n {inside} {words}"),
            Step::Nft(inside, rules) => write!(f, "ip netns exec {inside} nft '{rules}'"),
            Step::Sysctl(inside, key, value) => {
                write!(f, "ip netns exec {inside} sysctl -qw {key}={value}")
            }
            Step::WholeFrames(inside, interface) => {
                let words = offload::ethtool_words();
                write!(f, "ip netns exec {inside} ethtool -K {interface} {words}")
            }
        }
    }
}

const IP: Tool = Tool::new("ip", "iproute2");
pub(crate) const TC: Tool = Tool::new("tc", "iproute2");
const NFT: Tool = Tool::new("nft", "nftables");

/// The commands that these steps need and that are not here, each once.
pub fn missing<'a>(steps: impl IntoIterator<Item = &'a Step>) -> Vec<StepError> {
    let needed: BTreeSet<Tool> = steps.into_iter().flat_map(Step::tools).copied().collect();
    let missing = needed.into_iter().filter_map(|tool| tool.find().err());
    missing.map(StepError::from).collect()
}

impl Step {
    const fn tools(&self) -> &'static [Tool] {
        match self {
            Step::Ip(_) | Step::IpIn(..) => &[IP],
            Step::Tc(..) => &[TC],
            Step::Nft(..) => &[IP, NFT],
            Step::Sysctl(..) | Step::WholeFrames(..) => &[],
        }
    }

    /// Carries it out.
    ///
    /// # Errors
    /// With what the command said.
    pub fn carry_out(&self) -> Result<(), StepError> {
        self.printed().map(drop)
    }

    /// Carries it out, and returns what the command printed.
    ///
    /// # Errors
    /// With what the command said.
    pub fn printed(&self) -> Result<String, StepError> {
        match self {
            Step::Ip(words) => self.run(IP, &split(&[], words)),
            Step::IpIn(inside, words) => self.run(IP, &split(&["-n", inside], words)),
            Step::Tc(inside, words) => self.run(TC, &split(&["-n", inside], words)),
            Step::Nft(inside, rules) => {
                let nft = NFT.find()?.display().to_string();
                self.run(IP, &["netns", "exec", inside, &nft, rules])
            }
            Step::Sysctl(inside, key, value) => {
                let path = format!("/proc/sys/{}", key.replace('.', "/"));
                self.inside(inside, move || std::fs::write(path, value))
            }
            Step::WholeFrames(inside, interface) => {
                let interface = interface.clone();
                self.inside(inside, move || offload::switch_off(&interface))
            }
        }
    }

    fn failed(&self, said: impl fmt::Display) -> StepError {
        StepError::Failed {
            step: self.to_string(),
            said: said.to_string().trim().to_owned(),
        }
    }

    fn run(&self, tool: Tool, words: &[&str]) -> Result<String, StepError> {
        let ran = run(tool.command()?, words).map_err(|error| self.failed(error));
        ran?.map_err(|said| self.failed(said))
    }

    /// On a thread of its own: this one stays where it is.
    fn inside(
        &self,
        namespace: &str,
        act: impl FnOnce() -> io::Result<()> + Send,
    ) -> Result<String, StepError> {
        let done = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                Namespace::open(namespace)?.enter()?;
                act()
            });
            joined(thread.join())
        });
        let nothing = |()| String::new();
        done.map(nothing).map_err(|error| self.failed(error))
    }
}

fn split<'a>(first: &[&'a str], words: &'a str) -> Vec<&'a str> {
    let first = first.iter().copied();
    first.chain(words.split_whitespace()).collect()
}

/// What a command printed, or what it said when it failed.
fn run(mut command: Command, words: &[&str]) -> io::Result<Result<String, String>> {
    let (mut printed, mut errors) = (process::file_in_memory()?, process::file_in_memory()?);
    let status = command
        .args(words)
        .stdout(printed.try_clone()?)
        .stderr(errors.try_clone()?)
        .status()?;
    Ok(if status.success() {
        Ok(content(&mut printed)?)
    } else {
        Err(content(&mut errors)?)
    })
}

fn content(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_need_the_command_that_enters_a_namespace_too() {
        let rules = Step::Nft("a".to_owned(), "table inet t".to_owned());
        assert_eq!(rules.tools(), [IP, NFT]);
        assert!(missing([&Step::Sysctl("a".to_owned(), "k".to_owned(), "1")]).is_empty());
    }
}
