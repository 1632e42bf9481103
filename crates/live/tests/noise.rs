//! What disturbs a probe is seen, by name, and marks the records that it delayed; and watching
//! leaves nothing behind. With the argument `cost` the program measures what watching costs.

use crate::{Failure, Outcome, Test};
use delaylab_kernel::cpu_list::Cpus;
use delaylab_kernel::scheduling::{self, Scheduling, ThreadState};
use delaylab_kernel::tracefs::Tracefs;
use delaylab_kernel::{clock, process};
use delaylab_live::noise::{Options, SentinelUse, SourceState, TrialNoise, Watcher};
use delaylab_live::prober::Probing;
use delaylab_live::reflect::{bind::Bound, serve};
use delaylab_model::method::Method;
use delaylab_model::noise::{NoiseEvent, NoiseKind};
use delaylab_model::probe::{HostCondition, Pacing, Probe, WaitMode};
use delaylab_model::record::Record;
use delaylab_model::stop::Stop;
use delaylab_model::trial::{ProbeRun, RecordFacts};
use delaylab_model::world::Sink;
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use delaylab_stats::noise_join::Join;
use delaylab_traffic::reflector::{Access, Policy};
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PLANTED: &str = "planted-noise";
const DOZING: &str = "dlab-doze";
const PERIOD: Nanos = 100 * MILLISECOND;
const BURST: Nanos = 3 * MILLISECOND;

/// What a process does that these tests start; `None` where it is none of theirs.
pub fn role(args: &[&str]) -> Option<Outcome> {
    match args {
        ["plant", cpu] => Some(plant(cpu)),
        ["hold-watch"] => Some(hold_watch()),
        ["doze"] => Some(doze()),
        ["cost"] => Some(cost()),
        _ => None,
    }
}

/// For any host.
pub const TESTS: [(&str, Test); 2] = [
    ("without_the_tracer", without_the_tracer),
    (
        "a_sentinel_says_what_it_costs",
        a_sentinel_says_what_it_costs,
    ),
];

/// For hosts whose kernel may be traced.
pub const TRACED: [(&str, Test); 4] = [
    ("planted_noise_is_named", || {
        traced_only(planted_noise_is_named)
    }),
    ("a_frozen_process_is_stopped", || {
        traced_only(a_frozen_process_is_stopped)
    }),
    ("a_watcher_leaves_nothing", || {
        traced_only(a_watcher_leaves_nothing)
    }),
    ("nor_does_one_that_is_killed", || {
        traced_only(nor_does_one_that_is_killed)
    }),
];

fn traced_only(test: Test) -> Outcome {
    match Tracefs::open() {
        Ok(_) => test(),
        Err(error) if std::env::var_os("CI").is_some() => {
            Err(format!("no tracefs here, and nothing is skipped in CI: {error}").into())
        }
        Err(error) => {
            println!("skipped: no tracefs: {error}");
            Ok(())
        }
    }
}

fn planted_noise_is_named() -> Outcome {
    let cpu = last_cpu()?;
    let mut watcher = Watcher::start(Options {
        cpus: Some(Cpus::from([cpu])),
        ..Options::default()
    })?;
    let mut planted = start(&["plant", &cpu.to_string()])?.0;
    let watch = watcher.watch(5);
    let rig = Rig {
        cpu,
        duration: 2 * SECOND,
        wait_mode: WaitMode::Block,
        alone: true,
    };
    let records = rig.probe();
    let seen = watch.finish();
    planted.kill()?;
    planted.wait()?;
    let records = records?;

    let bursts: Vec<&NoiseEvent> = seen
        .events
        .iter()
        .filter(|event| is_planted(event))
        .collect();
    ensure(
        bursts.len() >= 10,
        &format!("{} bursts were seen: {:?}", bursts.len(), seen.sources),
    )?;
    let length = median(bursts.iter().map(|burst| burst.length).collect());
    let near = |value: Nanos, wanted: Nanos| (wanted * 8 / 10..wanted * 3 / 2).contains(&value);
    ensure(
        near(length, BURST),
        &format!("their median length is {length} ns"),
    )?;
    let period = median(
        bursts
            .windows(2)
            .map(|two| two[1].start - two[0].start)
            .collect(),
    );
    ensure(
        near(period, PERIOD),
        &format!("their median period is {period} ns"),
    )?;
    let placed = |event: &NoiseEvent| event.trial == 5 && event.cpu == u16::try_from(cpu).ok();
    ensure(
        seen.events.iter().filter(traced).all(placed),
        "events are of the trial and the CPU",
    )?;
    ensure(
        seen.events.is_sorted_by_key(|event| event.start),
        "events are in the order of time",
    )?;
    marks_what_was_delayed(&seen, &bursts, &records)
}

/// Packets that were due in the first two thirds of a burst had to wait for its end.
fn marks_what_was_delayed(
    seen: &TrialNoise,
    bursts: &[&NoiseEvent],
    records: &[Record],
) -> Outcome {
    let join = Join::new(&seen.events);
    let due_inside = |record: &&Record| {
        bursts.iter().any(|burst| {
            let early = burst.start..burst.start + burst.length * 2 / 3;
            early.contains(&record.t_intended)
        })
    };
    let delayed: Vec<&Record> = records.iter().filter(due_inside).collect();
    let by_planted = |record: &Record| join.overlap(record).who() == Some(PLANTED);
    let named = delayed.iter().filter(|record| by_planted(record)).count();
    ensure(
        delayed.len() >= bursts.len() && named * 10 >= delayed.len() * 9,
        &format!(
            "of {} records that it delayed, {named} name it",
            delayed.len()
        ),
    )?;
    let all = records.iter().filter(|record| by_planted(record)).count();
    let most = delayed.len() * 3 + bursts.len() * 4;
    ensure(
        all <= most,
        &format!("{all} of {} records name it", records.len()),
    )
}

fn is_planted(event: &NoiseEvent) -> bool {
    let long = event.length > 500 * MICROSECOND;
    event.kind == NoiseKind::Scheduled && event.who.as_deref() == Some(PLANTED) && long
}

fn traced(event: &&NoiseEvent) -> bool {
    !matches!(
        event.kind,
        NoiseKind::SlowClockRead | NoiseKind::SentinelGap
    )
}

const FROZEN: Nanos = 100 * MILLISECOND;

/// A process that answers is frozen with its cgroup,: that is a stop, of that length.
fn a_frozen_process_is_stopped() -> Outcome {
    let group = match own_group() {
        Ok(group) => group,
        Err(error) => {
            println!("skipped: no cgroup 2 to make a group in: {error}");
            return Ok(());
        }
    };
    let seen = frozen_in(&group);
    // Its process is gone by now.
    fs::remove_dir(&group)?;
    let (seen, process, frozen) = seen?;
    let stops = seen.events.iter();
    let stops = stops.filter(|event| event.kind == NoiseKind::Stopped);
    let stops: Vec<&NoiseEvent> = stops.filter(|stop| stop.pid == Some(process)).collect();
    ensure(stops.len() == 1, &format!("{stops:?}: {:?}", seen.sources))?;
    let length = stops[0].length;
    let near = (frozen * 8 / 10..frozen * 2).contains(&length);
    ensure(near, &format!("{length} ns of {frozen}"))?;
    ensure(stops[0].who.as_deref() == Some(DOZING), "by its name")
}

/// What is seen while a process of this group is frozen, which that is, and for how long it is frozen.
fn frozen_in(group: &Path) -> Result<(TrialNoise, u32, Nanos), Failure> {
    let mut watcher = Watcher::start(Options::default())?;
    let mut process = start(&["doze"])?.0;
    let watch = watcher.watch(3);
    let freeze = || -> io::Result<Nanos> {
        let freezer = group.join("cgroup.freeze");
        fs::write(group.join("cgroup.procs"), process.id().to_string())?;
        clock::sleep_until(clock::monotonic() + FROZEN / 2)?;
        fs::write(&freezer, "1")?;
        let from = clock::monotonic();
        clock::sleep_until(from + FROZEN)?;
        fs::write(&freezer, "0")?;
        // This thread may be late, too.
        let length = clock::monotonic() - from;
        clock::sleep_until(clock::monotonic() + FROZEN / 2)?;
        Ok(length)
    };
    let frozen = freeze();
    let seen = watch.finish();
    process.kill()?;
    process.wait()?;
    Ok((seen, process.id(), frozen?))
}

/// A cgroup of this test.
fn own_group() -> io::Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts")?;
    let mut mounts = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    let mount = mounts.find(|mount| mount.get(2) == Some(&"cgroup2"));
    let mount = mount.ok_or(io::ErrorKind::NotFound)?;
    let group = Path::new(mount[1]).join(format!("delaylab-test-{}", std::process::id()));
    fs::create_dir(&group)?;
    Ok(group)
}

fn a_watcher_leaves_nothing() -> Outcome {
    let mine = || -> Result<usize, Failure> {
        let prefix = format!("delaylab-{}-", std::process::id());
        let names = Tracefs::open()?.names();
        Ok(names
            .iter()
            .filter(|name| name.starts_with(&prefix))
            .count())
    };
    let mut watcher = Watcher::start(Options::default())?;
    for trial in 0..3 {
        // The second one is given up: the next must not care.
        let watch = watcher.watch(trial);
        ensure(mine()? == 1, "one instance serves every trial")?;
        std::thread::sleep(Duration::from_millis(30));
        if trial == 1 {
            drop(watch);
            continue;
        }
        let seen = watch.finish();
        ensure(
            seen.events.iter().all(|event| event.trial == trial),
            "its own events only",
        )?;
        ensure(uses_tracer(&seen), &format!("{:?}", seen.sources))?;
        ensure(
            seen.lost == 0 && seen.left_out.count == 0,
            "and nothing was lost",
        )?;
    }
    drop(watcher);
    ensure(mine()? == 0, "the instance is gone")
}

fn nor_does_one_that_is_killed() -> Outcome {
    let (mut holder, said) = start(&["hold-watch"])?;
    ensure(said == "true", "it traces")?;
    let prefix = format!("delaylab-{}-", holder.id());
    let there = || -> Result<bool, Failure> {
        Ok(Tracefs::open()?
            .names()
            .iter()
            .any(|name| name.starts_with(&prefix)))
    };
    ensure(there()?, "its instance is there")?;
    holder.kill()?;
    holder.wait()?;
    // Only the kernel's own pace can delay this: the limit is there to fail rather than to hang.
    for _ in 0..3_000 {
        if !there()? {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err("its instance is left behind".into())
}

fn without_the_tracer() -> Outcome {
    let mut watcher = Watcher::start(Options {
        tracer: false,
        ..Options::default()
    })?;
    let watch = watcher.watch(9);
    let rig = Rig {
        cpu: last_cpu()?,
        duration: SECOND / 4,
        wait_mode: WaitMode::Block,
        alone: false,
    };
    let records = rig.probe()?;
    let seen = watch.finish();
    ensure(!records.is_empty(), "there are records")?;
    ensure(
        !seen.events.iter().any(|event| traced(&event)),
        "nobody is named",
    )?;
    ensure(!uses_tracer(&seen), "and the source says so")?;
    let reads: u64 = seen.clock_reads.iter().map(|bin| bin.count).sum();
    ensure(reads >= 20_000, &format!("{reads} clock reads"))?;
    ensure(
        seen.clock_reads.iter().all(|bin| bin.trial == 9),
        "of the trial",
    )?;
    ensure(!seen.counters.softirqs.is_empty(), "softirqs were counted")?;
    ensure(!seen.counters.threads.is_empty(), "threads ran")?;
    ensure(
        seen.cost.cpu_time < seen.cost.length,
        "watching is not all it did",
    )
}

fn a_sentinel_says_what_it_costs() -> Outcome {
    let mut watcher = Watcher::start(Options {
        tracer: false,
        sentinel: SentinelUse::Always,
        gap: 1,
        max_events: 50,
        ..Options::default()
    })?;
    let watch = watcher.watch(0);
    std::thread::sleep(Duration::from_millis(50));
    let seen = watch.finish();
    if scheduling::affinity()?.len() < 2 {
        return ensure(
            seen.cost.sentinel_look.is_none(),
            "there is no room for one",
        );
    }
    ensure(seen.cost.sentinel_look.is_some(), "each look has a cost")?;
    ensure(
        seen.events.len() == 50 && seen.left_out.count > 0,
        "more was seen than kept",
    )?;
    let shortest = seen.events.iter().map(|event| event.length).min();
    ensure(
        shortest >= Some(seen.left_out.longest),
        "and the longest were kept",
    )?;
    ensure(seen.warnings().len() == 1, "and that is said")
}

fn uses_tracer(seen: &TrialNoise) -> bool {
    let source = seen
        .sources
        .iter()
        .find(|source| source.name == "scheduler and interrupts");
    source.is_some_and(|source| matches!(source.state, SourceState::Used(_)))
}

/// How a reflector of our own is probed, at 2 kHz, from one CPU.
#[derive(Clone, Copy)]
struct Rig {
    cpu: usize,
    duration: Nanos,
    wait_mode: WaitMode,
    /// The reflector too is on that CPU, and both go before ordinary threads.
    alone: bool,
}

impl Rig {
    fn probe(self) -> Result<Vec<Record>, Failure> {
        let mut bound = Bound::default();
        let opened = bound.open_echo(&[Ipv4Addr::LOCALHOST.into()], 0..=0)?;
        let &target = opened.first().ok_or("no address")?;
        let over = AtomicBool::new(false);
        let before = ThreadState::save()?;
        if self.alone {
            scheduling::pin(self.cpu)?;
            // Where it may not be, the host has to be quiet by itself.
            let _ = Scheduling::fifo(10).apply();
        }
        let records = std::thread::scope(|scope| {
            scope.spawn(|| {
                let stop = || over.load(Ordering::Relaxed);
                let policy = Policy::new(Access::Open { allow: Vec::new() });
                serve(bound, policy, WaitMode::Block, &stop)
            });
            let pinned = scheduling::pin(self.cpu).map_err(Failure::from);
            let records = pinned.and_then(|()| probe(target, self.duration, self.wait_mode));
            over.store(true, Ordering::Relaxed);
            records
        });
        before.restore()?;
        records
    }
}

fn probe(target: SocketAddr, duration: Nanos, wait_mode: WaitMode) -> Result<Vec<Record>, Failure> {
    let mut probe = Probe::new("planted", Method::Udp);
    probe.payload = 84;
    probe.pacing = Pacing::Every {
        interval_ns: MILLISECOND / 2,
    };
    probe.duration = Some(duration);
    probe.wait_mode = wait_mode;
    let run = ProbeRun {
        trial: 5,
        index: 0,
        target,
        probe,
        host: HostCondition::Normal,
        seed: 1,
    };
    let probing = Probing::new(None, Stop::default());
    let mut records = Records::default();
    probing.run(&run, &mut records)?;
    Ok(records.0)
}

#[derive(Default)]
struct Records(Vec<Record>);

impl Sink for Records {
    fn begin(&mut self, _: u16, _: &RecordFacts) -> io::Result<()> {
        Ok(())
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.0.push(*record);
        Ok(())
    }
}

/// The process that disturbs: runs for [`BURST`] in each [`PERIOD`], before all ordinary threads
/// where it may.
fn plant(cpu: &str) -> Outcome {
    process::die_with_parent()?;
    process::set_name(c"planted-noise")?;
    scheduling::pin(cpu.parse()?)?;
    let _ = Scheduling::fifo(20).apply();
    println!("planted");
    let mut due = clock::monotonic();
    loop {
        let end = clock::monotonic() + BURST;
        while clock::monotonic() < end {
            std::hint::spin_loop();
        }
        due += PERIOD;
        clock::sleep_until(due)?;
    }
}

/// The process that is frozen: it runs a little each millisecond, under a name of ours.
fn doze() -> Outcome {
    process::die_with_parent()?;
    process::set_name(c"dlab-doze")?;
    println!("dozes");
    loop {
        clock::sleep_until(clock::monotonic() + MILLISECOND)?;
    }
}

/// Watches until it is killed, and says whether it traces.
fn hold_watch() -> Outcome {
    let mut watcher = Watcher::start(Options::default())?;
    let seen = watcher.watch(0).finish();
    let _watch = watcher.watch(1);
    println!("{}", uses_tracer(&seen));
    loop {
        std::thread::park();
    }
}

/// Starts this program in a role, and waits for the first line that it says.
fn start(args: &[&str]) -> Result<(Child, String), Failure> {
    let mut child = Command::new("/proc/self/exe")
        .args(args)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no stdout")?).read_line(&mut line)?;
    Ok((child, line.trim().to_owned()))
}

/// Round trips with and without a watch take turns, so that a slow drift of the host is not mistaken
/// for an effect.
fn cost() -> Outcome {
    let cpu = last_cpu()?;
    let mut watcher = Watcher::start(Options {
        cpus: Some(Cpus::from([cpu])),
        ..Options::default()
    })?;
    println!("wait   p50 ns without/with ratio   p99 ns without/with ratio   watcher's CPU");
    for wait_mode in [WaitMode::Block, WaitMode::Spin] {
        let (mut alone, mut watched) = (Vec::new(), Vec::new());
        let (mut cpu_time, mut length) = (0, 0);
        let rig = Rig {
            cpu,
            duration: SECOND,
            wait_mode,
            alone: false,
        };
        for trial in 0..10 {
            alone.extend(round_trips(&rig.probe()?));
            let watch = watcher.watch(trial);
            let records = rig.probe();
            let seen = watch.finish();
            watched.extend(round_trips(&records?));
            cpu_time += seen.cost.cpu_time;
            length += seen.cost.length;
        }
        let share = cpu_time as f64 / length as f64 * 100.0;
        println!("{wait_mode:?}  {}  {share:.2} %", quantiles(alone, watched));
    }
    Ok(())
}

fn round_trips(records: &[Record]) -> Vec<Nanos> {
    records.iter().filter_map(Record::round_trip).collect()
}

fn quantiles(mut alone: Vec<Nanos>, mut watched: Vec<Nanos>) -> String {
    alone.sort_unstable();
    watched.sort_unstable();
    let at = |values: &[Nanos], percent: usize| values[values.len() * percent / 100];
    [50, 99]
        .map(|percent| {
            let (a, b) = (at(&alone, percent), at(&watched, percent));
            format!("{a} / {b}  {:.3}", b as f64 / a as f64)
        })
        .join("   ")
}

fn last_cpu() -> Result<usize, Failure> {
    let cpus = scheduling::affinity()?;
    Ok(*cpus.last().ok_or("no CPU")?)
}

fn median(mut values: Vec<Nanos>) -> Nanos {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

fn ensure(holds: bool, what: &str) -> Outcome {
    if holds { Ok(()) } else { Err(what.into()) }
}
