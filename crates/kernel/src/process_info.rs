//! What `/proc` tells of a process while it lives: which it is, when it started, what was started, and
//! for which service (proc(5), cgroups(7)).

use crate::process::{start_time_of, tick};
use delaylab_model::Nanos;
use delaylab_model::noise::Process;
use std::fs;

/// More of a command line is left out.
const LONGEST_COMMAND: usize = 160;

/// The process of this thread. `None` where it is gone.
pub fn of_thread(thread: u32) -> Option<Process> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let pid = process_of(&status)?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    Some(Process {
        thread,
        pid,
        started: started(&stat)?,
        command: words(&command),
        unit: unit(&groups),
    })
}

/// The path of a process in cgroup 2, as this process sees it. `None` where it is gone, or in none.
pub fn cgroup(process: u32) -> Option<String> {
    let groups = fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"));
    own.map(str::to_owned)
}

/// `Tgid:` and a number.
fn process_of(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line?.trim().parse().ok()
}

/// Since boot.
fn started(stat: &str) -> Option<Nanos> {
    let ticks = Nanos::try_from(start_time_of(stat)?).ok()?;
    Some(ticks.saturating_mul(tick()))
}

/// Arguments end in zero bytes.
fn words(command: &[u8]) -> String {
    let text = String::from_utf8_lossy(command).replace('\0', " ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONGEST_COMMAND) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The innermost unit of the path in cgroup 2 or in systemd's own hierarchy of cgroup 1, else the path.
/// The root is nobody's.
fn unit(groups: &str) -> Option<String> {
    let mut paths = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        (number == "0" || controllers == "name=systemd").then_some(path)
    });
    let path = paths.find(|path| *path != "/")?;
    let is_unit = |part: &&str| part.ends_with(".service") || part.ends_with(".scope");
    Some(path.rsplit('/').find(is_unit).unwrap_or(path).to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::SECOND;

    #[test]
    fn of_this_thread_it_is_this_process() {
        let thread = crate::process::thread_id();
        let found = of_thread(thread).unwrap();
        assert_eq!((found.thread, found.pid), (thread, std::process::id()));
        assert!(found.started > 0 && !found.command.is_empty(), "{found:?}");
        assert_eq!((of_thread(u32::MAX), cgroup(u32::MAX)), (None, None));
        assert!(cgroup(found.pid).is_none_or(|path| path.starts_with('/')));
    }

    #[test]
    fn a_name_with_brackets_hides_no_field() {
        let fields: Vec<String> = (3..=30).map(|field| field.to_string()).collect();
        let stat = format!("7 (a) b (c) {}", fields.join(" "));
        assert_eq!(started(&stat).map(|ns| ns % (SECOND / 1000)), Some(0));
        assert!(started(&stat) > started(&stat.replace(" 22 ", " 21 ")));
        assert_eq!(started("7 (a) S 1"), None);
    }

    #[test]
    fn arguments_are_words_and_long_ones_are_cut() {
        assert_eq!(words(b"python3\0-c\0import os\n\0"), "python3 -c import os");
        let long = words("é".repeat(500).as_bytes());
        assert_eq!(long.chars().count(), LONGEST_COMMAND + 1);
        assert_eq!(words(b""), "");
    }

    #[test]
    fn the_unit_is_the_innermost_one() {
        for (groups, expected) in [
            ("0::/system.slice/cron.service\n", Some("cron.service")),
            (
                "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-u7.scope/inner\n",
                Some("run-u7.scope"),
            ),
            ("0::/docker/4af\n", Some("/docker/4af")),
            (
                "12:cpu:/x\n1:name=systemd:/system.slice/ssh.service\n0::/\n",
                Some("ssh.service"),
            ),
            ("0::/\n", None),
            ("", None),
        ] {
            assert_eq!(unit(groups).as_deref(), expected);
        }
    }
}
