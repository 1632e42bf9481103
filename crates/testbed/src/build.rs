//! A testbed that stands: built, entered, and taken down again; and what others left behind.

use crate::layout::{KernelPort, MARK, SoftDevice, Structure};
use crate::soft_switch::device::Device;
use crate::soft_switch::driver::{SoftSwitches, Wired};
use crate::step::{Step, StepError};
use delaylab_kernel::namespace::{self, Namespace};
use delaylab_kernel::owned_name;
use delaylab_kernel::packet_socket::PacketSocket;
use delaylab_live::joined;
use delaylab_live::world::Enter;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Testbeds that this process has built.
static BUILT: AtomicU32 = AtomicU32::new(0);

/// Why a testbed does not stand.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A command failed.
    #[error("{}{}", .0, remedy(.0))]
    Step(#[from] StepError),
    /// A namespace that was just made cannot be entered.
    #[error("cannot enter the network namespace {name}: {source}")]
    Enter {
        /// Which one.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The soft switch cannot have its ports.
    #[error("cannot start the soft switch: {0}")]
    Switch(io::Error),
}

/// Only this is known to have one remedy.
fn remedy(error: &StepError) -> &'static str {
    match error {
        StepError::Failed { said, .. }
            if said.contains("Operation not permitted") || said.contains("Permission denied") =>
        {
            ". A testbed needs root, or a kernel that lets users make network namespaces \
             (`sysctl kernel.unprivileged_userns_clone user.max_user_namespaces`)"
        }
        _ => "",
    }
}

/// Namespaces that stand until this is dropped.
#[derive(Debug)]
pub struct Standing {
    id: String,
    structure: Structure,
    namespaces: Vec<Namespace>,
}

impl Standing {
    /// Builds it.
    ///
    /// # Errors
    /// Names the command that failed. What was built until then is taken down.
    pub fn build(structure: Structure) -> Result<Self, BuildError> {
        let number = BUILT.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-{number}", owned_name::of_this_process());
        let steps = structure.steps(&id);
        let mut standing = Self {
            id,
            structure,
            namespaces: Vec::new(),
        };
        for step in &steps {
            step.carry_out()?;
        }
        for name in &standing.structure.places {
            let name = format!("{}-{name}", standing.id);
            let opened = Namespace::open(&name);
            let opened = opened.map_err(|source| BuildError::Enter { name, source })?;
            standing.namespaces.push(opened);
        }
        Ok(standing)
    }

    /// Makes the queues of these ports anew: what one trial left in them is not for the next.
    ///
    /// # Errors
    /// Names the command that failed.
    pub fn empty_queues(&self, ports: &[KernelPort]) -> Result<(), StepError> {
        let steps = self.structure.fresh_queues(&self.id, ports);
        steps.iter().try_for_each(Step::carry_out)
    }

    /// What is built.
    pub const fn structure(&self) -> &Structure {
        &self.structure
    }

    /// What the names of its namespaces begin with.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A namespace by its number in the structure.
    pub fn namespace(&self, place: usize) -> &Namespace {
        &self.namespaces[place]
    }

    /// What a thread does to be there.
    pub fn enter(&self, place: usize) -> Enter {
        let namespace = self.namespaces[place].clone();
        Arc::new(move || namespace.enter())
    }

    /// Sets soft switches between the interfaces that are there for them. The seed is for what they do by
    /// chance.
    ///
    /// # Errors
    /// Where an interface cannot be opened.
    pub fn start_switches(
        &self,
        devices: &[SoftDevice],
        seed: u64,
    ) -> Result<Option<SoftSwitches>, BuildError> {
        if devices.is_empty() {
            return Ok(None);
        }
        let wire = |(device, at): (&SoftDevice, u64)| {
            Ok(Wired {
                device: Device::new(device.settings.clone(), seed ^ at),
                sockets: self.open_ports(device)?,
            })
        };
        let wired: io::Result<Vec<_>> = devices.iter().zip(0..).map(wire).collect();
        let started = wired.and_then(SoftSwitches::start);
        started.map(Some).map_err(BuildError::Switch)
    }

    /// On a thread of its own, because this one stays where it is.
    fn open_ports(&self, device: &SoftDevice) -> io::Result<Vec<PacketSocket>> {
        let namespace = self.namespace(device.place);
        std::thread::scope(|scope| {
            let opened = scope.spawn(|| {
                namespace.enter()?;
                let open = |name: &String| PacketSocket::open(name);
                device.interfaces.iter().map(open).collect()
            });
            joined(opened.join())
        })
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.namespaces.clear();
        let mut failed = None;
        for step in self.structure.undo(&self.id) {
            failed = step.carry_out().err().or(failed);
        }
        // One that was never made cannot be removed.
        let is_left = namespace::names().is_ok_and(|names| {
            let mut ids = names.iter().filter_map(|name| split(name));
            ids.any(|(id, _)| id == self.id)
        });
        if let Some(error) = failed.filter(|_| is_left) {
            eprintln!(
                "delaylab: {error}. When this process has ended, `delaylab testbed clean` removes what is left"
            );
        }
    }
}

/// A testbed that somebody has built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What the names of its namespaces begin with.
    pub id: String,
    /// Its nodes.
    pub nodes: Vec<String>,
    /// The process that built it is gone.
    pub left_over: bool,
}

/// Every testbed on this machine, by the names of its namespaces.
pub fn find() -> io::Result<Vec<Found>> {
    let mut found: Vec<Found> = Vec::new();
    for name in namespace::names()? {
        let Some((id, node)) = split(&name) else {
            continue;
        };
        match found.last_mut().filter(|last| last.id == id) {
            Some(last) => last.nodes.push(node.to_owned()),
            None => found.push(Found {
                id: id.to_owned(),
                nodes: vec![node.to_owned()],
                left_over: owned_name::is_left_over(&name),
            }),
        }
    }
    Ok(found)
}

/// What became of the namespaces of a testbed that is left over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Removed {
    /// The nodes that are gone.
    pub nodes: Vec<String>,
    /// Namespaces without the mark of a testbed, by their full names: they may belong to another program.
    pub unmarked: Vec<String>,
    /// Commands that failed, and what they said.
    pub failed: Vec<String>,
}

/// Takes down what a process left that is gone: the namespaces that bear a testbed's mark, and names that have no namespace.
pub fn remove(found: &Found) -> Removed {
    let mut removed = Removed::default();
    for node in &found.nodes {
        let name = format!("{}-{node}", found.id);
        match remove_one(&name) {
            Ok(true) => removed.nodes.push(node.clone()),
            Ok(false) => removed.unmarked.push(name),
            Err(error) => removed.failed.push(error.to_string()),
        }
    }
    removed
}

/// True: it is gone.
fn remove_one(name: &str) -> Result<bool, StepError> {
    let is_ours = namespace::is_bare(name).unwrap_or(false) || is_marked(name)?;
    if is_ours {
        Step::Ip(format!("netns del {name}")).carry_out()?;
    }
    Ok(is_ours)
}

/// Has a testbed made this namespace?
fn is_marked(name: &str) -> Result<bool, StepError> {
    let show = Step::IpIn(name.to_owned(), "link show lo".to_owned());
    let shown = show.printed()?;
    let mut lines = shown.lines().map(str::trim);
    Ok(lines.any(|line| line.strip_prefix("alias ") == Some(MARK)))
}

/// `delaylab-PID-START-NUMBER` and the node's name.
fn split(name: &str) -> Option<(&str, &str)> {
    let dashes: Vec<_> = name.match_indices('-').map(|(at, _)| at).take(4).collect();
    let [_, _, before, end] = dashes[..] else {
        return None;
    };
    let number = &name[before + 1..end];
    let ours = name.starts_with("delaylab-") && number.parse::<u32>().is_ok();
    ours.then(|| (&name[..end], &name[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_others() {
        assert_eq!(
            split("delaylab-12-345-0-pod1-edge2"),
            Some(("delaylab-12-345-0", "pod1-edge2"))
        );
        for other in [
            "delaylab-12-345-a",
            "delaylab-1-2-x-a1",
            "mine-1-2-3-4",
            "",
            "delaylab",
        ] {
            assert_eq!(split(other), None, "{other}");
        }
    }
}
