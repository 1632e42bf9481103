//! Partitions of cgroup version 2 (kernel document "Control Group v2", "Cpuset").
//!
//! What kernels differ in, by that document's history: `isolated` partitions and the reason of an invalid one came with
//! Linux 6.1, `cpuset.cpus.exclusive` and partitions below a cgroup that is none (remote ones) with 6.7.

use super::files::Files;
use super::{CpusetError, file_error, read, write};
use crate::cpu_list::{self, Cpus};
use std::io;
use std::path::Path;

const SUBTREE: &str = "cgroup.subtree_control";

/// Does this cgroup hand cpusets down to those in it?
pub(super) fn is_handed_down(files: &impl Files, top: &Path) -> bool {
    lists_cpuset(files, &top.join(SUBTREE))
}

/// Can it?
pub(super) fn is_offered(files: &impl Files, top: &Path) -> bool {
    lists_cpuset(files, &top.join("cgroup.controllers"))
}

fn lists_cpuset(files: &impl Files, path: &Path) -> bool {
    let listed = files.read(path).unwrap_or_default();
    listed.split_whitespace().any(|name| name == "cpuset")
}

/// Has `top` hand cpusets down.
pub(super) fn hand_down(files: &impl Files, top: &Path) -> Result<(), CpusetError> {
    files.write(&top.join(SUBTREE), "+cpuset").map_err(|error| {
        // A cgroup other than the root's holds processes or hands controllers down, not both.
        if error.kind() == io::ErrorKind::ResourceBusy {
            CpusetError::Occupied(top.to_owned())
        } else {
            rights_or_file(top, &top.join(SUBTREE), error)
        }
    })
}

/// Takes back what [`hand_down`] did, unless another cgroup uses cpusets by now: it would lose them.
pub(super) fn hand_down_no_more(files: &impl Files, top: &Path) -> Result<(), CpusetError> {
    if !is_handed_down(files, top) || files.children(top).iter().any(|dir| is_used(files, dir)) {
        return Ok(());
    }
    match files.write(&top.join(SUBTREE), "-cpuset") {
        Err(error) if error.kind() != io::ErrorKind::ResourceBusy => {
            Err(file_error(&top.join(SUBTREE), error))
        }
        _ => Ok(()),
    }
}

fn is_used(files: &impl Files, dir: &Path) -> bool {
    let says = |name: &str| files.read(&dir.join(name)).unwrap_or_default();
    let set = |name: &str| !says(name).trim().is_empty();
    let is_partition = !["", "member"].contains(&says("cpuset.cpus.partition").trim());
    is_partition || set("cpuset.cpus") || set("cpuset.mems") || is_handed_down(files, dir)
}

/// Makes the cgroup `dir` a partition of these CPUs.
pub(super) fn make(files: &impl Files, dir: &Path, cpus: &Cpus) -> Result<(), CpusetError> {
    // Below a threaded cgroup.
    let kind = files.read(&dir.join("cgroup.type")).unwrap_or_default();
    if kind.trim() == "domain invalid" {
        return Err(CpusetError::Threaded(super::above(dir)));
    }
    let list = cpu_list::format(cpus);
    write(files, &dir.join("cpuset.cpus"), &list)?;
    let exclusive = dir.join("cpuset.cpus.exclusive");
    // Where it exists, a partition need not be below another, and others may list its CPUs.
    if files.exists(&exclusive) && files.write(&exclusive, &list).is_err() {
        let why = format!("another cgroup has CPU {list} for itself (cpuset.cpus.exclusive)");
        return Err(CpusetError::NoPartition(why));
    }
    let partition = dir.join("cpuset.cpus.partition");
    if !files.exists(&partition) {
        let why = "this kernel has none (no cpuset.cpus.partition)";
        return Err(CpusetError::NoPartition(why.to_owned()));
    }
    ask_for(files, &partition, cpus)?;
    match why_invalid(&read(files, &partition)?) {
        None => Ok(()),
        Some(why) => Err(CpusetError::NoPartition(why)),
    }
}

fn ask_for(files: &impl Files, partition: &Path, cpus: &Cpus) -> Result<(), CpusetError> {
    // Within one CPU there is no load to balance, and an isolated one is left alone by it.
    let isolated = cpus.len() == 1 && files.write(partition, "isolated").is_ok();
    if isolated {
        return Ok(());
    }
    // Before Linux 6.1 a partition is valid or refused.
    let refused = |error: io::Error| {
        match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::ResourceBusy => CpusetError::NoPartition(
            "the kernel refuses it and does not say why. Another cgroup may list its CPUs, or hold all others".to_owned(),
        ),
        _ => file_error(partition, error),
    }
    };
    files.write(partition, "root").map_err(refused)
}

/// Why a partition does not hold, by what its file says; `None` where it does.
pub(super) fn why_invalid(state: &str) -> Option<String> {
    let state = state.trim();
    if ["root", "isolated"].contains(&state) {
        return None;
    }
    let reason = state
        .split_once('(')
        .and_then(|(_, why)| why.strip_suffix(')'));
    Some(reason.unwrap_or(state).to_owned())
}

/// A directory that this user may not change, or another error of a file.
pub(super) fn rights_or_file(dir: &Path, path: &Path, source: io::Error) -> CpusetError {
    match source.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            CpusetError::NoRights {
                dir: dir.to_owned(),
                source,
            }
        }
        _ => file_error(path, source),
    }
}
