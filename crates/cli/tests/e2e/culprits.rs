//! Random sets of one to three culprits beside a probe: `explain` names the right process first, with its period
//! and its share; two of one name are told apart. What was planted is known from what each culprit writes down
//! when it runs.
//!
//! A line for each process of each set is printed (`--nocapture`); `docs/explain.md` has the sums of one run.

use super::explain::{LIVE, explained, last_cpu, records, root};
use crate::harness::process::{Process, Ran, delaylab};
use crate::harness::scratch::Scratch;
use crate::or_skip;
use delaylab_kernel::{clock, process, scheduling};
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos};
use delaylab_stats::excursion::Spread;
use delaylab_stats::random::SplitMix;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a culprit does, as its environment tells it.
#[derive(Debug, Clone)]
struct Role {
    name: String,
    realtime: bool,
    period: Nanos,
    length: Nanos,
}

const CPU: &str = "CULPRIT_CPU";
const ROLE: &str = "CULPRIT_ROLE";
const LOG: &str = "CULPRIT_LOG";

/// A culprit that sees the clock pass by so much had lost its CPU meanwhile.
const LOST_CPU: Nanos = 20 * MICROSECOND;

/// Everything that measures, and the culprits of normal priority, go before what else this machine does.
const NICE: i32 = -10;

/// Not a test: a culprit.
#[test]
#[ignore = "the role of a process that disturbs"]
fn culprit() {
    let (Ok(cpu), Ok(role), Ok(log)) =
        (std::env::var(CPU), std::env::var(ROLE), std::env::var(LOG))
    else {
        return;
    };
    let role = Role::parse(&role).unwrap();
    let name = std::ffi::CString::new(role.name).unwrap();
    process::die_with_parent().unwrap();
    process::set_name(&name).unwrap();
    scheduling::pin(cpu.parse().unwrap()).unwrap();
    scheduling::set_timer_slack(1).unwrap();
    if role.realtime {
        scheduling::Scheduling::fifo(20).apply().unwrap();
    } else {
        scheduling::set_nice(NICE).unwrap();
    }
    let mut log = std::fs::File::create(log).unwrap();
    let mut due = clock::monotonic();
    loop {
        let worked = clock::thread_cpu_time();
        let mut pieces = vec![(clock::monotonic(), 0)];
        while clock::thread_cpu_time() < worked + role.length {
            let now = clock::monotonic();
            let last = pieces.last_mut().unwrap();
            if last.1 != 0 && now - last.1 > LOST_CPU {
                pieces.push((now, now));
            } else {
                last.1 = now;
            }
        }
        for (from, to) in pieces {
            log.write_all(&from.to_ne_bytes()).unwrap();
            log.write_all(&to.to_ne_bytes()).unwrap();
        }
        due += role.period;
        clock::sleep_until(due).unwrap();
    }
}

impl Role {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        Some(Self {
            name: words.next()?.to_owned(),
            realtime: words.next()? == "true",
            period: words.next()?.parse().ok()?,
            length: words.next()?.parse().ok()?,
        })
    }

    fn text(&self) -> String {
        format!(
            "{} {} {} {}",
            self.name, self.realtime, self.period, self.length
        )
    }
}

/// A culprit at work.
struct Culprit {
    role: Role,
    process: Process,
    log: std::path::PathBuf,
}

/// When it had a CPU.
struct Done {
    role: Role,
    pid: u32,
    bursts: Vec<(Nanos, Nanos)>,
}

impl Culprit {
    fn start(role: &Role, cpu: usize, log: std::path::PathBuf) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--exact",
                "e2e::culprits::culprit",
                "--ignored",
                "--nocapture",
            ])
            .env(CPU, cpu.to_string())
            .env(ROLE, role.text())
            .env(LOG, &log)
            .stdout(Stdio::null());
        Self {
            role: role.clone(),
            process: Process::start(&mut command),
            log,
        }
    }

    fn end(self) -> Done {
        let pid = self.process.child.id();
        drop(self.process);
        let log = std::fs::read(&self.log).unwrap();
        let number = |bytes: &[u8]| Nanos::from_ne_bytes(bytes.try_into().unwrap());
        let bursts = log.chunks_exact(16);
        Done {
            role: self.role,
            pid,
            bursts: bursts
                .map(|both| (number(&both[..8]), number(&both[8..])))
                .collect(),
        }
    }
}

/// One to three processes, periods from 1.7 to 400 ms, lengths from 0.2 to 20 ms, each of which takes a hundredth of a CPU
/// or more, and all of them at most a third, so that most packets are not late; in every other set of several two have
/// one name.
fn draw(random: &mut SplitMix) -> Vec<Role> {
    let log_uniform =
        |random: &mut SplitMix, low: f64, high: f64| low * (high / low).powf(random.uniform());
    loop {
        let count = 1 + random.below(3);
        let same = random.uniform() < 0.5;
        let roles: Vec<Role> = (0..count)
            .map(|at| Role {
                name: format!("culprit-{}", if same && at < 2 { 0 } else { at }),
                realtime: random.uniform() < 0.5,
                period: (log_uniform(random, 1.7, 400.0) * 1e6) as Nanos,
                length: (log_uniform(random, 0.2, 20.0) * 1e6) as Nanos,
            })
            .collect();
        let load = |role: &Role| role.length as f64 / role.period as f64;
        let each = roles.iter().all(|role| load(role) >= 0.01);
        if each && roles.iter().map(load).sum::<f64>() <= 0.33 {
            return roles;
        }
    }
}

/// Runs the experiment beside these.
fn run_beside(roles: &[Role], scratch: &Scratch) -> Vec<Done> {
    scratch.file("planted.toml", LIVE);
    let cpu = last_cpu();
    let log = |at: usize| scratch.path(&format!("log-{at}"));
    let culprits: Vec<Culprit> = (roles.iter().enumerate())
        .map(|(at, role)| Culprit::start(role, cpu, log(at)))
        .collect();
    let mut command = Command::new("nice");
    command.args(["-n", &NICE.to_string(), "taskset", "-c", &cpu.to_string()]);
    command.arg(delaylab(None).get_program());
    command.args(["run", "planted.toml", "-q", "--no-report"]);
    let ran = Ran::to_end(command.current_dir(scratch.path(".")));
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    culprits.into_iter().map(Culprit::end).collect()
}

/// Of the packets that `explain` calls late, the share and the lost time of each culprit: by which most of what a
/// packet lost was taken.
fn truth(run: &Path, done: &[Done]) -> Vec<(f64, f64)> {
    let records = records(run);
    let answered = || {
        records
            .iter()
            .filter_map(|record| Some((record, record.response()?)))
    };
    let mut responses: Vec<Nanos> = answered().map(|(_, response)| response).collect();
    responses.sort_unstable();
    let quantile = |p: f64| responses[(p * responses.len() as f64) as usize];
    let spread = Spread {
        min: responses[0],
        median: quantile(0.5),
        iqr: quantile(0.75) - quantile(0.25),
    };
    let bound = spread.bound();
    let usual = quantile(0.5);
    let mut sums = vec![(0.0, 0.0); done.len()];
    let mut late = 0.0;
    for (record, response) in answered().filter(|(_, response)| *response > bound) {
        late += 1.0;
        let end = record.t_recv.unwrap();
        let taken: Vec<Nanos> = taken(done, record.t_intended, end);
        let most = (0..done.len()).max_by_key(|&at| taken[at]).unwrap();
        if taken.iter().sum::<Nanos>() * 2 >= response - usual {
            sums[most].0 += 1.0;
            sums[most].1 += (response - usual) as f64;
        }
    }
    sums.into_iter()
        .map(|(count, lost)| (count / f64::max(late, 1.0), lost))
        .collect()
}

/// How long each culprit had the CPU between two times: of real-time ones the first that began goes on, of others each
/// has an equal part.
fn taken(done: &[Done], from: Nanos, to: Nanos) -> Vec<Nanos> {
    let each: Vec<Vec<(Nanos, Nanos)>> = (done.iter())
        .map(|done| {
            let begun = done.bursts.partition_point(|burst| burst.1 <= from);
            let over = done.bursts[begun..].iter().take_while(|burst| burst.0 < to);
            over.copied().collect()
        })
        .collect();
    let mut edges: Vec<Nanos> = vec![from, to];
    let both = each.iter().flatten().flat_map(|burst| [burst.0, burst.1]);
    edges.extend(both.filter(|edge| (from..to).contains(edge)));
    edges.sort_unstable();
    let mut taken = vec![0; done.len()];
    for pair in edges.windows(2) {
        let running = |at: &usize| {
            let mut bursts = each[*at].iter();
            bursts
                .find(|burst| burst.0 <= pair[0] && pair[0] < burst.1)
                .copied()
        };
        let all: Vec<usize> = (0..done.len()).filter(|at| running(at).is_some()).collect();
        let realtime = all.iter().copied().filter(|&at| done[at].role.realtime);
        let first = realtime.min_by_key(|at| running(at));
        let share = first.map_or(all, |first| vec![first]);
        for &at in &share {
            taken[at] += (pair[1] - pair[0]) / share.len() as Nanos;
        }
    }
    taken
}

fn is_of(cause: &Value, pid: u32) -> bool {
    cause["process"]["pid"] == pid
}

/// Shares smaller than this are not asked for: a few packets have no period and no rank.
const WORTH: f64 = 0.1;

/// What is wrong with what was found of a set; a line for each process is added.
fn judge(
    set: u64,
    found: &Value,
    truth: &[(f64, f64)],
    done: &[Done],
    lines: &mut String,
) -> Judged {
    let causes = found["causes"].as_array().unwrap();
    let most = (0..done.len())
        .max_by(|&a, &b| truth[a].1.total_cmp(&truth[b].1))
        .unwrap();
    // What has no name ran below this kernel. What was not planted, such as other tests, may take more time than
    // what was; here too it is told which of the planted ones took most.
    let named: Vec<&Value> = causes
        .iter()
        .filter(|cause| cause["kind"] == "ran")
        .collect();
    let planted = |cause: &Value| done.iter().any(|done| is_of(cause, done.pid));
    let is_most = |cause: &Value| is_of(cause, done[most].pid);
    let first = named.first().is_some_and(|cause| is_most(cause));
    let first_planted = named.iter().find(|cause| planted(cause));
    let first_planted = first_planted.is_some_and(|cause| is_most(cause));
    let mut judged = Judged {
        first,
        first_planted,
        ..Judged::default()
    };
    for (at, (share, _)) in truth.iter().enumerate() {
        let Done { role, pid, bursts } = &done[at];
        let cause = causes.iter().find(|cause| is_of(cause, *pid));
        let period = cause.and_then(|cause| cause["period"]["period_ns"].as_f64());
        let said = cause.map_or(0.0, |cause| cause["share_of_excursions"].as_f64().unwrap());
        let off = period.map(|period| (period / role.period as f64 - 1.0).abs());
        let worth = *share >= WORTH;
        judged.processes += usize::from(worth);
        judged.periods += usize::from(worth && off.is_some_and(|off| off <= 0.01));
        judged.wrong_periods += usize::from(off.is_some_and(|off| off > 0.01));
        judged.shares += usize::from(worth && (said - share).abs() <= 0.1);
        writeln!(
            lines,
            "{set:3} {:10} {:9} {:8.2} {:7.2} {:6} {:>9} {:6.3} {:6.3}{}",
            role.name,
            if role.realtime { "real-time" } else { "normal" },
            role.period as f64 / MILLISECOND as f64,
            role.length as f64 / MILLISECOND as f64,
            bursts.len(),
            period.map_or("–".to_owned(), |period| format!("{:.3}", period / 1e6)),
            share,
            said,
            if at == most {
                ["  most, not first", "  most, first"][usize::from(first)]
            } else {
                ""
            },
        )
        .unwrap();
    }
    judged
}

/// Sums over sets.
#[derive(Debug, Default)]
struct Judged {
    first: bool,
    first_planted: bool,
    processes: usize,
    periods: usize,
    wrong_periods: usize,
    shares: usize,
}

/// Plants sets and prints what was found of each.
fn plant(sets: std::ops::Range<u64>) -> Vec<Judged> {
    let mut lines =
        String::from("set process    priority  every ms  for ms   runs period ms  truth   said\n");
    let mut all = Vec::new();
    for set in sets {
        let scratch = Scratch::new();
        let roles = draw(&mut SplitMix::new(set));
        let done = run_beside(&roles, &scratch);
        let (found, truth) = (
            explained(&scratch),
            truth(&scratch.path("runs/latest"), &done),
        );
        all.push(judge(set, &found, &truth, &done, &mut lines));
    }
    println!("{lines}");
    all
}

mod alone {
    use super::*;

    /// Twenty sets, in `make test-all`.
    mod long {
        use super::*;

        #[test]
        fn of_twenty_random_sets_the_right_process_comes_first() {
            or_skip!(root());
            let all = plant(0..20);
            let sum = |of: &dyn Fn(&Judged) -> usize| all.iter().map(of).sum::<usize>();
            let first = sum(&|judged| usize::from(judged.first_planted));
            let processes = sum(&|judged| judged.processes);
            let (periods, shares) = (sum(&|judged| judged.periods), sum(&|judged| judged.shares));
            let wrong = sum(&|judged| judged.wrong_periods);
            let said = format!(
                "of those planted the right one first in {first} of 20 sets, before all others in {}; of {processes} processes \
                 {periods} periods, {shares} shares; {wrong} wrong periods",
                sum(&|judged| usize::from(judged.first))
            );
            println!("{said}");
            assert!(
                first >= 19 && wrong == 0 && 20 * periods.min(shares) >= 19 * processes,
                "{said}"
            );
        }
    }
}

#[test]
fn what_a_culprit_took_is_counted_by_priority() {
    let done = |realtime: bool, bursts: &[(Nanos, Nanos)]| Done {
        role: Role {
            name: String::new(),
            realtime,
            period: 1,
            length: 1,
        },
        pid: 0,
        bursts: bursts
            .iter()
            .map(|&(from, to)| (from * MICROSECOND, to * MICROSECOND))
            .collect(),
    };
    let taken = |done: &[Done]| -> Vec<Nanos> {
        let each = taken(done, 10 * MICROSECOND, 50 * MICROSECOND);
        each.into_iter().map(|ns| ns / MICROSECOND).collect()
    };
    assert_eq!(taken(&[done(true, &[(0, 20), (40, 90)])]), [20]);
    let one_before_the_other = [done(false, &[(0, 40)]), done(true, &[(20, 30)])];
    assert_eq!(taken(&one_before_the_other), [20, 10]);
    let equals = [done(false, &[(10, 30)]), done(false, &[(20, 30), (45, 60)])];
    assert_eq!(taken(&equals), [15, 10]);
}
