//! A cpuset of our own: CPUs that this process asks to have for itself.
//!
//! Two kernel interfaces do this (see cgroups(7), cpuset(7), and cgroup-v2 "cpuset"):
//!
//! - version 2: a partition. It takes its CPUs from everybody else, and the whole process moves in.
//! - version 1: an exclusive set. No other set may overlap it, but tasks outside of any set may
//!   still run on its CPUs. Only the calling thread moves in.
//!
//! A set does not vanish with its process. [`Cpuset::remove`] undoes one, from any process that may;
//! [`leftovers`] finds those whose process is gone.

use crate::cpu_list::{self, Cpus};
use crate::{owned_name, process};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a cpuset could not be made or removed.
#[derive(Debug, Error)]
pub enum CpusetError {
    /// No cgroup hierarchy offers the cpuset controller.
    #[error(
        "no cgroup hierarchy offers cpusets here (version 2: `cpuset` is not in cgroup.subtree_control at its top)"
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
}

impl Hierarchy {
    /// Looks for one: `/proc/self/mountinfo` says where it is, `/proc/thread-self/cgroup` where we are.
    pub fn find() -> Result<Self, CpusetError> {
        let mounts = read(Path::new("/proc/self/mountinfo"))?;
        let places = read(Path::new("/proc/thread-self/cgroup"))?;
        v1(&mounts, &places)
            .or_else(|| v2(&mounts, &places))
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
        }
    }

    /// Sets of ours whose process is gone.
    pub fn leftovers(&self) -> Vec<Cpuset> {
        let Ok(entries) = fs::read_dir(&self.parent) else {
            return Vec::new();
        };
        let dirs = entries.flatten().map(|entry| entry.path());
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
        let made = self.make(cpus).and_then(|exclusivity| {
            self.move_in()?;
            Ok(exclusivity)
        });
        if made.is_err() {
            // The first error is the one to report.
            let _ = self.remove();
        }
        made
    }

    fn make(&self, cpus: &Cpus) -> Result<Exclusivity, CpusetError> {
        fs::create_dir(&self.dir).map_err(|source| file_error(&self.dir, source))?;
        match self.version {
            Version::V1 => self.make_v1(cpus),
            Version::V2 => self.make_v2(cpus),
        }
    }

    fn make_v1(&self, cpus: &Cpus) -> Result<Exclusivity, CpusetError> {
        // A new v1 set is empty, and takes no task before it has memory nodes and CPUs.
        let nodes = read(&self.home.join("cpuset.mems"))?;
        write(&self.dir.join("cpuset.mems"), nodes.trim())?;
        write(&self.dir.join("cpuset.cpus"), &cpu_list::format(cpus))?;
        let exclusive = write(&self.dir.join("cpuset.cpu_exclusive"), "1");
        Ok(if exclusive.is_ok() {
            Exclusivity::AmongSets
        } else {
            Exclusivity::Shared
        })
    }

    fn make_v2(&self, cpus: &Cpus) -> Result<Exclusivity, CpusetError> {
        write(&self.dir.join("cpuset.cpus"), &cpu_list::format(cpus))?;
        // Within one CPU there is no load to balance, and an isolated one is left alone by it.
        let kind = if cpus.len() == 1 { "isolated" } else { "root" };
        let partition = self.dir.join("cpuset.cpus.partition");
        write(&partition, kind)?;
        let state = read(&partition)?;
        if state.trim() == kind {
            Ok(Exclusivity::Alone)
        } else {
            Err(CpusetError::NoPartition(state.trim().to_owned()))
        }
    }

    fn move_in(&self) -> Result<(), CpusetError> {
        let id = match self.version {
            Version::V1 => process::thread_id(),
            Version::V2 => std::process::id(),
        };
        write(&self.members(), &id.to_string())
    }

    fn members(&self) -> PathBuf {
        self.dir.join(members_file(self.version))
    }

    /// Moves what is inside home and removes the set. Fine where it is gone already.
    pub fn remove(&self) -> Result<(), CpusetError> {
        if !self.dir.exists() {
            return Ok(());
        }
        let home = self.home.join(members_file(self.version));
        for id in read(&self.members())?.lines() {
            // One that ended meanwhile cannot move and need not.
            let _ = write(&home, id);
        }
        match fs::remove_dir(&self.dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(file_error(&self.dir, error))
            }
            _ => Ok(()),
        }
    }
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
    })
}

/// A v2 partition can only be made below a partition: the top is always one.
fn v2(mounts: &str, places: &str) -> Option<Hierarchy> {
    let mount = mounts
        .lines()
        .filter_map(Mount::parse)
        .find(|mount| mount.kind == "cgroup2")?;
    let top = PathBuf::from(mount.point);
    let handed_down = fs::read_to_string(top.join("cgroup.subtree_control")).ok()?;
    if !handed_down
        .split_whitespace()
        .any(|controller| controller == "cpuset")
    {
        return None;
    }
    let place = places.lines().find_map(|line| place_of(line, ""))?;
    Some(Hierarchy {
        version: Version::V2,
        home: mount.inside(place),
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

fn read(path: &Path) -> Result<String, CpusetError> {
    fs::read_to_string(path).map_err(|source| file_error(path, source))
}

fn write(path: &Path, text: &str) -> Result<(), CpusetError> {
    fs::write(path, text).map_err(|source| file_error(path, source))
}

fn file_error(path: &Path, source: io::Error) -> CpusetError {
    CpusetError::File {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const MOUNTS: &str = "\
        30 25 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
        31 25 0:27 /box /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";

    #[test]
    fn v1_is_found_also_where_only_a_part_is_mounted() {
        let hierarchy = v1(MOUNTS, "4:cpu:/\n3:cpuset:/box/inner\n0::/\n").unwrap();
        assert_eq!(hierarchy.parent, Path::new("/sys/fs/cgroup/cpuset/inner"));
        assert_eq!(v1(MOUNTS, "4:cpu:/\n"), None);
        assert_eq!(v1("", "3:cpuset:/\n"), None);
    }

    #[test]
    fn v2_is_left_alone_where_cpusets_are_not_handed_down() {
        let top = scratch("v2-none");
        fs::write(top.join("cgroup.subtree_control"), "cpu memory\n").unwrap();
        assert_eq!(v2(&cgroup2_at(&top), "0::/user.slice\n"), None);
        fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn a_v2_partition_is_asked_for_at_the_top() {
        let top = scratch("v2");
        fs::write(top.join("cgroup.subtree_control"), "cpuset cpu\n").unwrap();
        let hierarchy = v2(&cgroup2_at(&top), "0::/user.slice\n").unwrap();
        assert_eq!(hierarchy.home, top.join("user.slice"));
        let set = hierarchy.plan();
        assert_eq!(set.enter(&Cpus::from([1])).unwrap(), Exclusivity::Alone);
        let written = |name: &str| fs::read_to_string(set.dir().join(name)).unwrap();
        assert_eq!(written("cpuset.cpus"), "1");
        assert_eq!(written("cpuset.cpus.partition"), "isolated");
        assert_eq!(written("cgroup.procs"), std::process::id().to_string());
        fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn a_set_is_left_over_once_its_process_is_gone() {
        let pid = std::process::id();
        let start = process::start_time(pid).unwrap();
        assert!(!is_leftover(Path::new(&format!(
            "/x/delaylab-{pid}-{start}"
        ))));
        assert!(is_leftover(Path::new(&format!(
            "/x/delaylab-{pid}-{}",
            start + 1
        ))));
        assert!(is_leftover(Path::new("/x/delaylab-4294967295-1")));
        for other in [
            "/x/delaylab-",
            "/x/delaylab-7",
            "/x/docker",
            "/x/delaylab-a-b",
        ] {
            assert!(!is_leftover(Path::new(other)), "{other}");
        }
    }

    #[test]
    fn a_set_that_is_gone_is_removed_already() {
        let gone = Cpuset {
            version: Version::V1,
            dir: "/proc/none/such".into(),
            home: "/proc/none".into(),
        };
        gone.remove().unwrap();
    }

    fn cgroup2_at(top: &Path) -> String {
        format!("32 25 0:28 / {} rw - cgroup2 cgroup2 rw\n", top.display())
    }

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("delaylab-test-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        dir
    }
}
