//! Conditions leave nothing behind: neither in order, nor after `kill -9`, nor past their bound.

use delaylab_kernel::cpuset::{self, Hierarchy};
use delaylab_kernel::process::start_time;
use delaylab_kernel::scheduling::ThreadState;
use delaylab_live::condition::{Applied, Load, Options, State};
use delaylab_model::probe::HostCondition;
use delaylab_model::{MILLISECOND, SECOND};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::{Failure, Outcome, Test};

/// What a process does that these tests start; `None` where it is none of theirs.
pub fn role(args: &[&str]) -> Option<Outcome> {
    match args {
        ["hold-quiet"] => Some(hold(HostCondition::Quiet)),
        ["hold-stressed"] => Some(hold(HostCondition::Stressed)),
        _ => None,
    }
}

/// Each leaves nothing behind, and is sure that nobody else does meanwhile.
pub const TESTS: [(&str, Test); 7] = [
    ("normal_does_nothing", normal_does_nothing),
    ("quiet_is_undone", quiet_is_undone),
    ("quiet_is_undone_after_kill", quiet_is_undone_after_kill),
    (
        "leftovers_are_found_and_removed",
        leftovers_are_found_and_removed,
    ),
    ("stressed_is_undone", stressed_is_undone),
    (
        "stressed_is_undone_after_kill",
        stressed_is_undone_after_kill,
    ),
    ("a_load_ends_at_its_bound", a_load_ends_at_its_bound),
];

fn normal_does_nothing() -> Outcome {
    let mut applied = Applied::new(HostCondition::Normal, &Options::default())?;
    ensure(
        applied.describe().is_empty() && applied.helpers().is_empty(),
        "nothing is done",
    )?;
    ensure(applied.still_holds(), "nothing can end")
}

fn quiet_is_undone() -> Outcome {
    let before = ThreadState::save()?;
    let mut applied = Applied::new(HostCondition::Quiet, &Options::default())?;
    let helpers = applied.helpers();
    ensure(
        applied.describe().len() == 6,
        "each measure says what became of it",
    )?;
    ensure(applied.still_holds(), "it holds")?;
    ensure(
        ThreadState::save()? != before,
        "the timer slack, at least, is always allowed",
    )?;
    ensure(
        own_sets(std::process::id()).is_empty() != cpuset_held(&applied),
        "the set is there",
    )?;
    drop(applied);
    ensure(
        ThreadState::save()? == before,
        "the thread is scheduled as before",
    )?;
    ensure(own_sets(std::process::id()).is_empty(), "the set is gone")?;
    ensure(helpers.into_iter().all(is_gone), "the guardian is gone")
}

fn cpuset_held(applied: &Applied) -> bool {
    let set = applied
        .describe()
        .iter()
        .find(|measure| measure.name == "own cpuset");
    set.is_some_and(|measure| !matches!(measure.state, State::NotHeld(_)))
}

fn quiet_is_undone_after_kill() -> Outcome {
    let mut holder = Holder::start("hold-quiet")?;
    let pid = holder.child.id();
    ensure(
        own_sets(pid).is_empty() != holder.has_cpuset,
        "the set is there",
    )?;
    holder.kill()?;
    eventually("the set is gone", || own_sets(pid).is_empty())?;
    eventually("the guardian is gone", || {
        holder.helpers.iter().all(|&pid| is_gone(pid))
    })
}

fn leftovers_are_found_and_removed() -> Outcome {
    let mut holder = Holder::start("hold-quiet")?;
    if !holder.has_cpuset {
        println!("test condition::leftovers: no cpuset can be made here, so none can be left");
        return holder.kill();
    }
    for &guardian in &holder.helpers {
        kill_nine(guardian)?;
    }
    holder.kill()?;
    let left = own_sets(holder.child.id());
    ensure(left.len() == 1, "with its guardian dead the set is left")?;
    ensure(
        cpuset::leftovers().iter().any(|set| set.dir() == left[0]),
        "and known as left over",
    )?;
    // Its tasks take a moment to go.
    eventually("the next quiet run removes it", || {
        drop(Applied::new(HostCondition::Quiet, &Options::default()));
        !left[0].exists()
    })
}

fn stressed_is_undone() -> Outcome {
    let mut applied = Applied::new(HostCondition::Stressed, &small_load())?;
    let helpers = applied.helpers();
    ensure(helpers.len() == 4, "a spinner and one of each else")?;
    let names: Vec<String> = helpers.iter().filter_map(|&pid| name_of(pid)).collect();
    ensure(
        names == ["dlab-spin", "dlab-daemon", "dlab-memory", "dlab-timer"],
        &format!("{names:?}"),
    )?;
    ensure(applied.still_holds(), "it runs")?;
    kill_nine(helpers[0])?;
    eventually("the loss of a part shows", || !applied.still_holds())?;
    drop(applied);
    ensure(helpers.into_iter().all(is_gone), "no process is left")
}

fn stressed_is_undone_after_kill() -> Outcome {
    let mut holder = Holder::start("hold-stressed")?;
    ensure(holder.helpers.len() == 4, "the load runs")?;
    holder.kill()?;
    eventually("no process is left", || {
        holder.helpers.iter().all(|&pid| is_gone(pid))
    })
}

fn a_load_ends_at_its_bound() -> Outcome {
    let mut options = small_load();
    options.load.max_length = 50 * MILLISECOND;
    let mut applied = Applied::new(HostCondition::Stressed, &options)?;
    eventually("it ends by itself", || !applied.still_holds())
}

fn small_load() -> Options {
    let load = Load {
        spinners: Some(1),
        memory: 1 << 20,
        timers: 1,
        max_length: 60 * SECOND,
        ..Load::default()
    };
    Options {
        load,
        ..Options::default()
    }
}

/// Holds a condition until it is killed, and says what is to be gone then.
fn hold(condition: HostCondition) -> Outcome {
    let applied = Applied::new(condition, &small_load())?;
    let helpers: Vec<String> = applied.helpers().iter().map(u32::to_string).collect();
    println!("{} {}", cpuset_held(&applied), helpers.join(" "));
    loop {
        std::thread::park();
    }
}

struct Holder {
    child: Child,
    has_cpuset: bool,
    helpers: Vec<u32>,
}

impl Holder {
    fn start(role: &str) -> Result<Self, Failure> {
        let mut child = Command::new("/proc/self/exe")
            .arg(role)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no stdout")?).read_line(&mut line)?;
        let (has_cpuset, pids) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let helpers = pids
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            child,
            has_cpuset: has_cpuset.parse()?,
            helpers,
        })
    }

    /// `kill -9`.
    fn kill(&mut self) -> Outcome {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

/// Found out once, before a test is inside a set.
static SETS: OnceLock<Option<PathBuf>> = OnceLock::new();

/// To be called before the first test.
pub fn prepare() {
    SETS.get_or_init(where_sets_are_made);
}

fn where_sets_are_made() -> Option<PathBuf> {
    let plan = Hierarchy::find().ok()?.plan();
    plan.dir().parent().map(PathBuf::from)
}

fn own_sets(pid: u32) -> Vec<PathBuf> {
    let Some(parent) = SETS.get_or_init(where_sets_are_made) else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(parent) else {
        return Vec::new();
    };
    let prefix = format!("delaylab-{pid}-");
    let ours = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
    };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(ours)
        .collect()
}

fn name_of(pid: u32) -> Option<String> {
    Some(
        std::fs::read_to_string(format!("/proc/{pid}/comm"))
            .ok()?
            .trim()
            .to_owned(),
    )
}

/// Gone, or dead and only waiting to be noticed by whoever took it over.
fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    start_time(pid).is_none()
        || stat
            .rsplit_once(')')
            .is_some_and(|(_, rest)| rest.starts_with(" Z"))
}

fn kill_nine(pid: u32) -> Outcome {
    let done = Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status()?;
    ensure(done.success(), "kill -9")
}

/// Waits for something that only the kernel's own pace can delay. The limit is there to fail
/// rather than to hang.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) -> Outcome {
    for _ in 0..3_000 {
        if holds() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(what.into())
}

fn ensure(holds: bool, what: &str) -> Outcome {
    if holds { Ok(()) } else { Err(what.into()) }
}
