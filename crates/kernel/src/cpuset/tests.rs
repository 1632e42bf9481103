//! Sets of version 2 on kernels that are played: files that answer as those of cgroupfs do.
#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

const TOP: &str = "/cg";
const HOME: &str = "/cg/user.slice/session.scope";
const MOUNTS: &str = "\
    30 25 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
    31 25 0:27 /box /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";
const MOUNTS_V2: &str = "32 25 0:28 / /cg rw - cgroup2 cgroup2 rw\n";
const PLACE_V2: &str = "0::/user.slice/session.scope\n";

/// What sets a host apart.
#[derive(Debug, Clone, Copy)]
struct Setting {
    release: (u32, u32),
    /// Is the top that of the whole host, or a container's?
    whole_host: bool,
    /// The CPUs that whoever made the container has set aside for it.
    set_aside: bool,
    may_write: bool,
    hands_down: bool,
    /// Another cgroup lists all CPUs.
    others_list: bool,
    /// Another cgroup has CPU 1 for itself.
    taken: bool,
    /// Processes are in the top itself.
    occupied: bool,
    threaded_home: bool,
    threaded_top: bool,
}

const TODAYS: Setting = Setting {
    release: (6, 12),
    whole_host: true,
    set_aside: false,
    may_write: true,
    hands_down: true,
    others_list: false,
    taken: false,
    occupied: false,
    threaded_home: false,
    threaded_top: false,
};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Group {
    hands_down: bool,
    cpus: Cpus,
    exclusive: Cpus,
    /// As it was asked for.
    partition: Option<String>,
    procs: BTreeSet<String>,
    threaded: bool,
}

/// A kernel's cgroups.
struct Fake {
    setting: Setting,
    groups: RefCell<BTreeMap<PathBuf, Group>>,
}

fn us() -> String {
    std::process::id().to_string()
}

fn errno(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

impl Fake {
    fn new(setting: Setting) -> Self {
        let mut groups = BTreeMap::new();
        let top = Group {
            hands_down: setting.hands_down,
            procs: BTreeSet::from_iter(setting.occupied.then(|| "1".to_owned())),
            exclusive: Cpus::from_iter(setting.set_aside.then_some(1)),
            ..Group::default()
        };
        groups.insert(TOP.into(), top);
        groups.insert("/cg/user.slice".into(), Group::default());
        let home = Group {
            procs: BTreeSet::from([us()]),
            threaded: setting.threaded_home,
            ..Group::default()
        };
        groups.insert(HOME.into(), home);
        let lists = setting.hands_down && setting.others_list;
        let takes = setting.hands_down && setting.taken && setting.release >= (6, 7);
        let other = Group {
            cpus: Cpus::from_iter((0..4).filter(|_| lists)),
            exclusive: Cpus::from_iter(takes.then_some(1)),
            ..Group::default()
        };
        groups.insert("/cg/machine.slice".into(), other);
        Self {
            setting,
            groups: RefCell::new(groups),
        }
    }

    fn hierarchy(&self) -> Option<Hierarchy> {
        v2(self, MOUNTS_V2, PLACE_V2)
    }

    fn where_we_are(&self) -> PathBuf {
        let groups = self.groups.borrow();
        let inside = |group: &Group| group.procs.contains(&us());
        let mut places = groups.iter().filter(|(_, group)| inside(group));
        let place = places.next().unwrap().0.clone();
        assert_eq!(places.next(), None, "a process is in one cgroup");
        place
    }

    /// Why the partition at `dir` does not hold: the kernel's `perr_strings`.
    fn flaw(&self, dir: &Path) -> Option<&'static str> {
        let groups = self.groups.borrow();
        let (group, top) = (&groups[dir], &groups[Path::new(TOP)]);
        let remote = self.setting.release >= (6, 7)
            && !group.exclusive.is_empty()
            && group.exclusive.is_subset(&top.exclusive);
        if !self.setting.whole_host && !remote {
            return Some("Parent is not a partition root");
        }
        let overlaps = |(other, group2): (&PathBuf, &Group)| {
            other != dir && other != Path::new(TOP) && !group2.cpus.is_disjoint(&group.cpus)
        };
        if group.exclusive.is_empty() && groups.iter().any(overlaps) {
            return Some("Cpu list in cpuset.cpus not exclusive");
        }
        None
    }

    fn ask_partition(&self, dir: &Path, kind: &str) -> io::Result<()> {
        let explains = self.setting.release >= (6, 1);
        if !(kind == "root" || kind == "member" || (kind == "isolated" && explains)) {
            return Err(errno(22));
        }
        if kind == "root" && !explains && self.flaw(dir).is_some() {
            return Err(errno(22));
        }
        let mut groups = self.groups.borrow_mut();
        groups.get_mut(dir).unwrap().partition = Some(kind.to_owned());
        Ok(())
    }

    fn hand_down(&self, dir: &Path, on: bool) -> io::Result<()> {
        let is_root = self.setting.whole_host && dir == Path::new(TOP);
        let mut groups = self.groups.borrow_mut();
        if on && !is_root && !groups[dir].procs.is_empty() {
            return Err(errno(16));
        }
        let below: Vec<_> = (groups.keys())
            .filter(|other| other.parent() == Some(dir))
            .cloned()
            .collect();
        if !on && below.iter().any(|other| groups[other].hands_down) {
            return Err(errno(16));
        }
        groups.get_mut(dir).unwrap().hands_down = on;
        if !on {
            for other in below {
                let group = groups.get_mut(&other).unwrap();
                (group.cpus, group.exclusive, group.partition) = Default::default();
            }
        }
        Ok(())
    }

    fn move_to(&self, dir: &Path, id: &str, thread: bool) -> io::Result<()> {
        let is_root = self.setting.whole_host && dir == Path::new(TOP);
        let mut groups = self.groups.borrow_mut();
        let group = groups.get(dir).ok_or(errno(2))?;
        if group.threaded != thread {
            return Err(errno(95));
        }
        if group.hands_down && !is_root {
            return Err(errno(16));
        }
        for group in groups.values_mut() {
            group.procs.remove(id);
        }
        groups.get_mut(dir).unwrap().procs.insert(id.to_owned());
        Ok(())
    }
}

fn split(path: &Path) -> (&Path, &str) {
    let name = path.file_name().unwrap().to_str().unwrap();
    (path.parent().unwrap(), name)
}

impl Files for Fake {
    fn read(&self, path: &Path) -> io::Result<String> {
        if !self.exists(path) {
            return Err(errno(2));
        }
        let (dir, name) = split(path);
        let flaw = self.flaw(dir);
        let groups = self.groups.borrow();
        let group = &groups[dir];
        Ok(match name {
            "cgroup.controllers" => "cpuset cpu io".into(),
            "cgroup.subtree_control" if group.hands_down => "cpuset memory".into(),
            "cgroup.subtree_control" => "memory".into(),
            "cgroup.procs" if group.threaded => return Err(errno(95)),
            "cgroup.procs" => group.procs.iter().map(|id| format!("{id}\n")).collect(),
            "cgroup.type" if self.setting.threaded_top => "domain invalid\n".into(),
            "cgroup.type" => "domain\n".into(),
            "cpuset.cpus" => cpu_list::format(&group.cpus),
            "cpuset.cpus.partition" => match (&group.partition, flaw) {
                (None, _) => "member\n".into(),
                (Some(kind), None) => format!("{kind}\n"),
                (Some(kind), Some(why)) => format!("{kind} invalid ({why})\n"),
            },
            _ => String::new(),
        })
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        if !self.exists(path) {
            return Err(errno(2));
        }
        if !self.setting.may_write {
            return Err(errno(13));
        }
        let (dir, name) = split(path);
        let list = || {
            text.split(',')
                .filter_map(|cpu| cpu.parse().ok())
                .collect::<Cpus>()
        };
        let mut groups = self.groups.borrow_mut();
        match name {
            "cpuset.cpus" => groups.get_mut(dir).unwrap().cpus = list(),
            "cpuset.cpus.exclusive" => {
                let siblings = groups
                    .iter()
                    .filter(|(other, _)| other.parent() == dir.parent());
                let mut others = siblings.filter(|(other, _)| *other != dir);
                if others.any(|(_, group)| !group.exclusive.is_disjoint(&list())) {
                    return Err(errno(22));
                }
                groups.get_mut(dir).unwrap().exclusive = list();
            }
            _ => {
                drop(groups);
                return match name {
                    "cpuset.cpus.partition" => self.ask_partition(dir, text),
                    "cgroup.subtree_control" => self.hand_down(dir, text == "+cpuset"),
                    "cgroup.procs" => self.move_to(dir, text, false),
                    "cgroup.threads" => self.move_to(dir, text, true),
                    _ => Err(errno(22)),
                };
            }
        }
        Ok(())
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        if !self.setting.may_write {
            return Err(errno(13));
        }
        let mut groups = self.groups.borrow_mut();
        groups.insert(path.to_owned(), Group::default());
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut groups = self.groups.borrow_mut();
        let group = groups.get(path).ok_or(errno(2))?;
        if !group.procs.is_empty() {
            return Err(errno(16));
        }
        groups.remove(path);
        Ok(())
    }

    fn exists(&self, path: &Path) -> bool {
        let groups = self.groups.borrow();
        if groups.contains_key(path) {
            return true;
        }
        let (dir, name) = split(path);
        if !groups.contains_key(dir) {
            return false;
        }
        let above = dir.parent().and_then(|above| groups.get(above));
        let has_cpusets = above.is_some_and(|above| above.hands_down);
        match name {
            "cgroup.type" | "cgroup.threads" => above.is_some(),
            "cpuset.cpus.exclusive" => has_cpusets && self.setting.release >= (6, 7),
            "cpuset.cpus" | "cpuset.mems" | "cpuset.cpus.partition" => has_cpusets,
            _ => name.starts_with("cgroup."),
        }
    }

    fn children(&self, path: &Path) -> Vec<PathBuf> {
        let groups = self.groups.borrow();
        let below = groups.keys().filter(|dir| dir.parent() == Some(path));
        below.cloned().collect()
    }
}

/// Enters a set of CPU 1, and says what it is now or why not.
fn enter(fake: &Fake) -> (Cpuset, Result<Exclusivity, String>) {
    let set = fake.hierarchy().unwrap().plan();
    let entered = set.enter_in(fake, &Cpus::from([1]));
    (set, entered.map_err(|error| error.to_string()))
}

fn refusal(setting: Setting) -> String {
    let fake = Fake::new(setting);
    let before = fake.groups.borrow().clone();
    let refused = enter(&fake).1.unwrap_err();
    assert_eq!(*fake.groups.borrow(), before, "nothing stays behind");
    refused
}

#[test]
fn a_partition_is_made_at_the_top_and_taken_back() {
    for release in [(5, 4), (6, 1), (6, 7)] {
        let fake = Fake::new(Setting { release, ..TODAYS });
        let before = fake.groups.borrow().clone();
        let (set, entered) = enter(&fake);
        assert_eq!(entered, Ok(Exclusivity::Alone), "{release:?}");
        assert_eq!(fake.where_we_are(), set.dir());
        assert!(set.holds_in(&fake));
        let kind = fake.groups.borrow()[set.dir()].partition.clone().unwrap();
        assert_eq!(kind, if release < (6, 1) { "root" } else { "isolated" });
        set.remove_in(&fake).unwrap();
        assert_eq!(*fake.groups.borrow(), before, "{release:?}");
        assert!(!set.holds_in(&fake));
    }
}

#[test]
fn the_kernels_reason_is_told() {
    let old = Setting {
        release: (6, 1),
        others_list: true,
        ..TODAYS
    };
    let refused = refusal(old);
    assert!(
        refused.ends_with("Cpu list in cpuset.cpus not exclusive"),
        "{refused}"
    );
    // From 6.7 on the list of another cgroup is no hindrance, but its exclusive CPUs are.
    let since = Setting {
        release: (6, 7),
        ..old
    };
    assert_eq!(enter(&Fake::new(since)).1, Ok(Exclusivity::Alone));
    let refused = refusal(Setting {
        taken: true,
        ..TODAYS
    });
    assert!(refused.contains("has CPU 1 for itself"), "{refused}");
    // Before 6.1 it gives none.
    let refused = refusal(Setting {
        release: (5, 4),
        ..old
    });
    assert!(refused.contains("does not say why"), "{refused}");
}

#[test]
fn in_a_container_only_what_was_set_aside_is_had() {
    let container = Setting {
        whole_host: false,
        ..TODAYS
    };
    let refused = refusal(container);
    assert!(
        refused.ends_with("Parent is not a partition root"),
        "{refused}"
    );
    let set_aside = Setting {
        set_aside: true,
        ..container
    };
    assert_eq!(enter(&Fake::new(set_aside)).1, Ok(Exclusivity::Alone));
    let occupied = Setting {
        occupied: true,
        hands_down: false,
        ..container
    };
    let refused = refusal(occupied);
    assert!(refused.contains("has processes of its own"), "{refused}");
}

#[test]
fn without_rights_the_remedy_is_told() {
    for hands_down in [false, true] {
        let refused = refusal(Setting {
            may_write: false,
            hands_down,
            ..TODAYS
        });
        assert!(refused.contains("may not make cgroups in /cg"), "{refused}");
        assert!(refused.contains("run as root"), "{refused}");
    }
}

#[test]
fn below_a_threaded_cgroup_nothing_is_made() {
    let refused = refusal(Setting {
        threaded_top: true,
        ..TODAYS
    });
    assert!(refused.contains("/cg is threaded"), "{refused}");
}

#[test]
fn cpusets_are_handed_down_for_as_long_as_they_are_used() {
    let fake = Fake::new(Setting {
        hands_down: false,
        ..TODAYS
    });
    let (set, entered) = enter(&fake);
    assert_eq!(entered, Ok(Exclusivity::Alone));
    // Another begins to use them meanwhile.
    fake.write(Path::new("/cg/machine.slice/cpuset.cpus"), "2")
        .unwrap();
    set.remove_in(&fake).unwrap();
    assert!(partition::is_handed_down(&fake, Path::new(TOP)));
    fake.write(Path::new("/cg/machine.slice/cpuset.cpus"), "")
        .unwrap();
    set.remove_in(&fake).unwrap();
    assert!(!partition::is_handed_down(&fake, Path::new(TOP)));
    set.remove_in(&fake).unwrap();
}

#[test]
fn who_has_no_home_any_more_is_sent_to_the_nearest_above() {
    let fake = Fake::new(TODAYS);
    let (set, _) = enter(&fake);
    fake.groups.borrow_mut().remove(Path::new(HOME));
    set.remove_in(&fake).unwrap();
    assert_eq!(fake.where_we_are(), Path::new("/cg/user.slice"));
    assert!(!fake.exists(set.dir()));
}

#[test]
fn a_partition_that_others_end_holds_no_more() {
    let fake = Fake::new(Setting {
        release: (6, 1),
        ..TODAYS
    });
    let (set, _) = enter(&fake);
    fake.write(Path::new("/cg/machine.slice/cpuset.cpus"), "0,1")
        .unwrap();
    assert!(!set.holds_in(&fake));
}

fn settings() -> impl Strategy<Value = Setting> {
    let release = proptest::sample::select(&[(5, 4), (6, 1), (6, 7), (6, 12)][..]);
    (release, any::<[bool; 9]>()).prop_map(|(release, flags)| {
        let [
            whole_host,
            set_aside,
            may_write,
            hands_down,
            others_list,
            taken,
            occupied,
            threaded_home,
            threaded_top,
        ] = flags;
        Setting {
            release,
            whole_host,
            set_aside: set_aside && !whole_host,
            may_write,
            hands_down,
            others_list,
            taken,
            occupied,
            threaded_home,
            threaded_top,
        }
    })
}

proptest! {
    /// Whatever the host: what is said to be held is held, and everything is as it was before, at once or after removal.
    #[test]
    fn everything_is_taken_back(setting in settings()) {
        let fake = Fake::new(setting);
        let before = fake.groups.borrow().clone();
        let (set, entered) = enter(&fake);
        if entered == Ok(Exclusivity::Alone) {
            prop_assert!(set.holds_in(&fake));
            prop_assert_eq!(fake.where_we_are(), set.dir());
            set.remove_in(&fake).unwrap();
        }
        prop_assert_eq!(&*fake.groups.borrow(), &before);
        set.remove_in(&fake).unwrap();
        prop_assert_eq!(&*fake.groups.borrow(), &before);
    }
}

#[test]
fn v1_is_found_also_where_only_a_part_is_mounted() {
    let hierarchy = v1(MOUNTS, "4:cpu:/\n3:cpuset:/box/inner\n0::/\n").unwrap();
    assert_eq!(hierarchy.parent, Path::new("/sys/fs/cgroup/cpuset/inner"));
    assert_eq!(v1(MOUNTS, "4:cpu:/\n"), None);
    assert_eq!(v1("", "3:cpuset:/\n"), None);
}

#[test]
fn v2_is_left_alone_where_it_offers_no_cpusets() {
    let nothing = "32 25 0:28 / /nowhere rw - cgroup2 cgroup2 rw\n";
    assert_eq!(v2(&Host, nothing, PLACE_V2), None);
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
        hands_down: false,
    };
    gone.remove().unwrap();
}
