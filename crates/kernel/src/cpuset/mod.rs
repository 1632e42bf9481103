//! A cpuset of our own: CPUs that this process asks to have for itself.
//!
//! Two kernel interfaces do this (see cgroups(7), cpuset(7), and cgroup-v2 "cpuset"):
//!
//! - version 2: a partition. It takes its CPUs from everybody else, and the whole process moves in. It is made at the
//!   top of what is mounted, which is made to hand cpusets down where it does not, until the set is removed.
//! - version 1: an exclusive set. No other set may overlap it, but tasks outside of any set may
//!   still run on its CPUs. Only the calling thread moves in.
//!
//! A set does not vanish with its process. [`Cpuset::remove`] undoes one, from any process that may;
//! [`leftovers`] finds those whose process is gone.

mod files;
mod partition;
#[cfg(test)]
mod tests;

use crate::cpu_list::{self, Cpus};
use crate::{owned_name, process};
use files::{Files, Host};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a cpuset could not be made or removed.
#[derive(Debug, Error)]
pub enum CpusetError {
    /// No cgroup hierarchy offers the cpuset controller.
    #[error(
        "no cgroup hierarchy offers cpusets here (version 2: `cpuset` is not in cgroup.controllers at its top)"
    )]
    NoHierarchy,
    /// A control file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The kernel took the request and says that it does not hold.
    #[error("the kernel made no partition: {0}")]
    NoPartition(String),
    /// Partitions are made at the top, and that is another's.
    #[error(
        "this user may not make cgroups in {}: {source}. A partition takes its CPU from all of the host: run as root, outside of a container",
        dir.display()
    )]
    NoRights {
        /// Which one.
        dir: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A cgroup with processes in it hands no controllers down.
    #[error(
        "{} has processes of its own, so it hands no cpusets down: move them into a cgroup below it first",
        .0.display()
    )]
    Occupied(PathBuf),
    /// Below a threaded cgroup there are no partitions.
    #[error("{} is threaded (cgroup.type): no process can be moved into a new cgroup there", .0.display())]
    Threaded(PathBuf),
}

/// Which of the kernel's two interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Version {
    /// cgroup v1: exclusive sets.
    V1,
    /// cgroup v2: partitions.
    V2,
}

/// Where sets can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    version: Version,
    /// The set that ours is made in.
    parent: PathBuf,
    /// The set that this process is in.
    home: PathBuf,
    /// Does the parent have to be made to hand cpusets down first (v2)?
    hands_none_down: bool,
}

impl Hierarchy {
    /// Looks for one: `/proc/self/mountinfo` says where it is, `/proc/thread-self/cgroup` where we are.
    pub fn find() -> Result<Self, CpusetError> {
        let mounts = read(&Host, Path::new("/proc/self/mountinfo"))?;
        let places = read(&Host, Path::new("/proc/thread-self/cgroup"))?;
        v1(&mounts, &places)
            .or_else(|| v2(&Host, &mounts, &places))
            .ok_or(CpusetError::NoHierarchy)
    }

    /// Which interface it has.
    pub fn version(&self) -> Version {
        self.version
    }

    /// May this user make sets here?
    pub fn is_writable(&self) -> bool {
        process::may_write(&self.parent)
    }

    /// The set that this process would make. Nothing is made yet.
    pub fn plan(&self) -> Cpuset {
        Cpuset {
            version: self.version,
            dir: self.parent.join(owned_name::of_this_process()),
            home: self.home.clone(),
            hands_down: self.hands_none_down,
        }
    }

    /// Sets of ours whose process is gone.
    pub fn leftovers(&self) -> Vec<Cpuset> {
        let dirs = Host.children(&self.parent).into_iter();
        dirs.filter(|dir| is_leftover(dir))
            .map(|dir| self.adopt(dir))
            .collect()
    }

    /// A dead process's set; whatever is still inside moves to where new sets are made.
    fn adopt(&self, dir: PathBuf) -> Cpuset {
        Cpuset {
            version: self.version,
            dir,
            home: self.parent.clone(),
            hands_down: false,
        }
    }
}

/// Sets of ours whose process is gone, on this host. Empty where there are no cpusets.
pub fn leftovers() -> Vec<Cpuset> {
    Hierarchy::find()
        .map(|hierarchy| hierarchy.leftovers())
        .unwrap_or_default()
}

/// A cpuset of our own, made or planned. Another process that reads it from here can remove it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpuset {
    version: Version,
    dir: PathBuf,
    home: PathBuf,
    /// The cgroup above hands cpusets down for this set alone.
    #[serde(default)]
    hands_down: bool,
}

/// How much a set keeps others out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exclusivity {
    /// Nobody else runs on these CPUs (v2 partition).
    Alone,
    /// No other cpuset may have these CPUs; tasks outside of any set may (v1 exclusive).
    AmongSets,
    /// Nothing is kept out: another set has these CPUs already (v1).
    Shared,
}

impl Cpuset {
    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes the set with these CPUs and moves in: the calling thread (v1) or the process (v2).
    /// Leaves nothing behind where it fails.
    pub fn enter(&self, cpus: &Cpus) -> Result<Exclusivity, CpusetError> {
        self.enter_in(&Host, cpus)
    }

    fn enter_in(&self, files: &impl Files, cpus: &Cpus) -> Result<Exclusivity, CpusetError> {
        let made = self.make(files, cpus).and_then(|exclusivity| {
            self.move_in(files)?;
            Ok(exclusivity)
        });
        if made.is_err() {
            // The first error is the one to report.
            let _ = self.remove_in(files);
        }
        made
    }

    /// Is it still as it was made? A v2 partition ends when others take its CPU away.
    pub fn holds(&self) -> bool {
        self.holds_in(&Host)
    }

    fn holds_in(&self, files: &impl Files) -> bool {
        let state = || files.read(&self.dir.join("cpuset.cpus.partition"));
        match self.version {
            Version::V1 => true,
            Version::V2 => state().is_ok_and(|state| partition::why_invalid(&state).is_none()),
        }
    }

    fn make(&self, files: &impl Files, cpus: &Cpus) -> Result<Exclusivity, CpusetError> {
        let parent = above(&self.dir);
        if self.hands_down {
            partition::hand_down(files, &parent)?;
        }
        let created = files.create_dir(&self.dir);
        created.map_err(|source| partition::rights_or_file(&parent, &self.dir, source))?;
        match self.version {
            Version::V1 => self.make_v1(files, cpus),
            Version::V2 => partition::make(files, &self.dir, cpus).map(|()| Exclusivity::Alone),
        }
    }

    fn make_v1(&self, files: &impl Files, cpus: &Cpus) -> Result<Exclusivity, CpusetError> {
        // A new v1 set is empty, and takes no task before it has memory nodes and CPUs.
        let nodes = read(files, &self.home.join("cpuset.mems"))?;
        write(files, &self.dir.join("cpuset.mems"), nodes.trim())?;
        let cpus = cpu_list::format(cpus);
        write(files, &self.dir.join("cpuset.cpus"), &cpus)?;
        let exclusive = write(files, &self.dir.join("cpuset.cpu_exclusive"), "1");
        Ok(if exclusive.is_ok() {
            Exclusivity::AmongSets
        } else {
            Exclusivity::Shared
        })
    }

    fn move_in(&self, files: &impl Files) -> Result<(), CpusetError> {
        let id = match self.version {
            Version::V1 => process::thread_id(),
            Version::V2 => std::process::id(),
        };
        write(files, &self.members(), &id.to_string())
    }

    fn members(&self) -> PathBuf {
        self.dir.join(members_file(self.version))
    }

    /// Moves what is inside home and removes the set. Fine where it is gone already.
    pub fn remove(&self) -> Result<(), CpusetError> {
        self.remove_in(&Host)
    }

    fn remove_in(&self, files: &impl Files) -> Result<(), CpusetError> {
        if files.exists(&self.dir) {
            for id in read(files, &self.members())?.lines() {
                self.send_home(files, id);
            }
            match files.remove_dir(&self.dir) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(file_error(&self.dir, error));
                }
                _ => {}
            }
        }
        if self.hands_down {
            partition::hand_down_no_more(files, &above(&self.dir))?;
        }
        Ok(())
    }

    /// Home, or where home takes no process any more (it is gone, it is threaded, or it hands controllers down by now),
    /// to the nearest cgroup above it that does. One that ended meanwhile cannot move and need not.
    fn send_home(&self, files: &impl Files, id: &str) {
        let parent = above(&self.dir);
        let members = members_file(self.version);
        let ways = self
            .home
            .ancestors()
            .take_while(|dir| dir.starts_with(&parent));
        let mut ways = ways.map(|dir| dir.join(members));
        if ways.any(|way| files.write(&way, id).is_ok()) && self.version == Version::V2 {
            // A threaded cgroup takes threads of processes that are above it. Where it is not one this changes nothing.
            let _ = files.write(&self.home.join("cgroup.threads"), id);
        }
    }
}

/// The directory that this one is in.
fn above(dir: &Path) -> PathBuf {
    dir.parent().unwrap_or(dir).to_owned()
}

/// A v1 set holds threads, a v2 partition processes.
fn members_file(version: Version) -> &'static str {
    match version {
        Version::V1 => "tasks",
        Version::V2 => "cgroup.procs",
    }
}

fn is_leftover(dir: &Path) -> bool {
    dir.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(owned_name::is_left_over)
}

fn v1(mounts: &str, places: &str) -> Option<Hierarchy> {
    let mount = mounts.lines().filter_map(Mount::parse).find(|mount| {
        mount.kind == "cgroup" && mount.options.split(',').any(|option| option == "cpuset")
    })?;
    let place = places.lines().find_map(|line| place_of(line, "cpuset"))?;
    let home = mount.inside(place);
    Some(Hierarchy {
        version: Version::V1,
        parent: home.clone(),
        home,
        hands_none_down: false,
    })
}

/// A v2 partition is made below a partition: the top is one, except in a container.
fn v2(files: &impl Files, mounts: &str, places: &str) -> Option<Hierarchy> {
    let mount = mounts
        .lines()
        .filter_map(Mount::parse)
        .find(|mount| mount.kind == "cgroup2")?;
    let top = PathBuf::from(mount.point);
    if !partition::is_offered(files, &top) {
        return None;
    }
    let place = places.lines().find_map(|line| place_of(line, ""))?;
    Some(Hierarchy {
        version: Version::V2,
        home: mount.inside(place),
        hands_none_down: !partition::is_handed_down(files, &top),
        parent: top,
    })
}

/// The path in a line `3:cpuset:/path` of `/proc/self/cgroup`; version 2 has no controller there.
fn place_of<'a>(line: &'a str, controller: &str) -> Option<&'a str> {
    let mut fields = line.splitn(3, ':').skip(1);
    let has = fields.next()?.split(',').any(|name| name == controller);
    fields.next().filter(|_| has)
}

/// A line of `/proc/self/mountinfo`, as far as it matters here (proc(5)).
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (root, point) = (before.next()?, before.next()?);
        let mut after = after.split(' ');
        let (kind, options) = (after.next()?, after.nth(1)?);
        Some(Self {
            root,
            point,
            kind,
            options,
        })
    }

    /// Where a cgroup's path is in the file system, if only a part of the hierarchy is mounted.
    fn inside(&self, place: &str) -> PathBuf {
        let below = Path::new(place)
            .strip_prefix(self.root)
            .unwrap_or(Path::new(""));
        Path::new(self.point).join(below)
    }
}

fn read(files: &impl Files, path: &Path) -> Result<String, CpusetError> {
    let read = files.read(path);
    read.map_err(|source| file_error(path, source))
}

fn write(files: &impl Files, path: &Path, text: &str) -> Result<(), CpusetError> {
    let written = files.write(path, text);
    written.map_err(|source| file_error(path, source))
}

fn file_error(path: &Path, source: io::Error) -> CpusetError {
    CpusetError::File {
        path: path.to_owned(),
        source,
    }
}
