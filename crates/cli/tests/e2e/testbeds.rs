//! The world `testbed`: every topology and queue, and nothing left behind.
//!
//! A soft switch has a real-time thread, which tests that watch the clock would take for a slow network: these run
//! before them, beside those that compute.

use crate::harness::process::{DELAYLAB, Process, Ran, delaylab, python, ran};
use crate::harness::scratch::Scratch;
use crate::{or_skip, skip};
use nix::sys::signal::Signal;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Root, who may make namespaces.
pub fn root() -> Result<(), String> {
    if delaylab_kernel::privilege::is_root() {
        Ok(())
    } else {
        Err("testbeds of this test need root".to_owned())
    }
}

/// Servers of this machine's packages, and delaylab's own: 20 ms for a page that a proxy fetches, too.
const SERVERS: &str = r#"
name = "bed"
title = "Servers"
world = "testbed"

[[probe]]
name = "own"
method = "http"
url = "http://own/2KiB"
fresh = true
pacing = { wait = "10ms" }
count = 15
[[probe]]
name = "proxy"
method = "http"
url = "http://proxy/2KiB"
pacing = { wait = "10ms" }
count = 15
[[probe]]
name = "nginx"
method = "http"
url = "https://web/gzip/10KiB"
headers = ["Accept-Encoding: gzip"]
fresh = true
pacing = { wait = "10ms" }
count = 15
[[probe]]
name = "apache"
method = "http"
url = "http://other/2KiB"
pacing = { wait = "10ms" }
count = 15
[[probe]]
name = "cached"
method = "dns"
question = "www.example.test"
to = "b4"
pacing = { wait = "10ms" }
count = 15
[[probe]]
name = "unknown"
method = "dns"
question = "*.example.test AAAA"
transport = "tcp"
fresh = true
to = "b4"
pacing = { wait = "10ms" }
count = 15
[[probe]]
name = "port"
method = "tcp-connect"
port = 443
to = "b2"
pacing = { wait = "10ms" }
count = 15
[[probe]]
name = "tls-proxy"
method = "http"
url = "https://tls-proxy/2KiB"
pacing = { wait = "10ms" }
count = 15

[path]
topology = "pairs-on-a-trunk"
pairs = 8
rate = "100Mbit/s"

[path.switch]
discipline = "fifo"
buffer = "64KiB"

[[path.server]]
name = "own"
at = "b1"
think = "20ms"
workers = 4
[[path.server]]
name = "web"
at = "b2"
software = "nginx"
[[path.server]]
name = "other"
at = "b6"
software = "apache"
[[path.server]]
name = "proxy"
at = "b3"
software = "haproxy"
forward = "own"
[[path.server]]
name = "resolver"
at = "b4"
software = "unbound"
forward = "authority"
[[path.server]]
name = "authority"
at = "b5"
software = "delaylab"
think = "10ms"
workers = 4
[[path.server]]
name = "tls-proxy"
at = "b7"
software = "nginx"
forward = "own"
"#;

const WEB: &str = r#"
name = "web"
world = "testbed"

[[probe]]
name = "nginx"
method = "http"
url = "http://web/2KiB"
pacing = { wait = "10ms" }
count = 5

[path]
topology = "two-hosts"
rate = "100Mbit/s"

[[path.server]]
name = "web"
at = "b1"
software = "nginx"
"#;

/// Real servers in namespaces: what each is asked it answers, what it thinks is its own, and none is left behind.
#[test]
fn servers_answer_in_a_testbed() {
    for server in ["nginx", "apache2", "haproxy", "unbound"] {
        let there = ["/usr/sbin", "/usr/bin"].map(|folder| format!("{folder}/{server}"));
        if !there.iter().any(|file| Path::new(file).exists()) {
            skip!("{server} is not installed (scripts/install.sh test)");
        }
    }
    let mut bed = or_skip!(Bed::new(SERVERS));
    let done = bed.run("");
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    bed.look(
        "names = trials['probe_name'].to_list()\n\
         records = records.with_columns(pl.col('probe').replace_strict(dict(enumerate(names))).alias('name'))\n\
         lost = records.filter(pl.col('to_t_recv').is_null())\n\
         assert lost.is_empty(), lost.select('name', 'outcome')\n\
         answers = {row['name']: row['answer'] for row in records.unique('name').to_dicts()}\n\
         assert answers['own'] == answers['proxy'] == answers['nginx'] == answers['apache'] == answers['tls-proxy'] == '200', answers\n\
         assert answers['cached'] == answers['unknown'] == 'NOERROR', answers\n\
         assert answers['port'] == 'open', answers\n\
         server = records.with_columns((pl.col('t_first') - pl.col('t_ack')).alias('server'))\n\
         least = {row['name']: row['server'] for row in server.group_by('name').agg(pl.col('server').min()).to_dicts()}\n\
         assert 19e6 < least['own'] < 26e6 and 9e6 < least['unknown'] < 16e6, least\n\
         own = server.filter(pl.col('name').is_in(['own', 'proxy']))\n\
         assert own['server_says'].null_count() == 0 and server.filter(pl.col('name') == 'nginx')['server_says'].max() is None\n\
         assert (own['server_says'] > 9e6).all(), own['server_says'].min()\n\
         small = records.filter((pl.col('name') == 'nginx') & (pl.col('reply_bytes') > 9000))\n\
         assert small.is_empty(), 'a page was not compressed'\n",
    );
    let folders = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let names = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let left: Vec<_> = names
        .filter(|name| {
            name.contains("-servers-") && delaylab_kernel::owned_name::is_left_over(name)
        })
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// nginx reads its pages as a user of its own.
#[test]
fn pages_can_be_read_whatever_the_umask_or_the_trial_says_that_they_cannot() {
    if Ran::to_end(Command::new("which").arg("nginx")).code != 0 {
        skip!("nginx is not installed (scripts/install.sh test)");
    }
    let mut bed = or_skip!(Bed::new(WEB));
    let run_after = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{script}; exec \"$@\""), "sh", DELAYLAB]);
        command.args(["run", "bed.toml", "-q", "--no-report"]);
        Ran::to_end(command.current_dir(bed.scratch.path("")))
    };
    let closed = run_after("mkdir -m 700 closed; export TMPDIR=$PWD/closed");
    assert_eq!(closed.code, 3, "{}{}", closed.stdout, closed.stderr);
    let why = "nginx answers `HTTP/1.1 403 Forbidden` to a request for a page";
    assert!(closed.stderr.contains(why), "{}", closed.stderr);
    let done = run_after("umask 077");
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    bed.look("assert set(records['answer']) == {'200'}, records['answer']");
}

/// delaylab where these programs are not.
fn without(programs: &[&str], words: &str) -> Command {
    let files = programs
        .iter()
        .flat_map(|name| ["/usr/sbin", "/usr/bin"].map(|at| format!("{at}/{name}")));
    let files: Vec<_> = files.collect();
    let hide = format!(
        "for file in {}; do [ ! -e $file ] || mount --bind /dev/null $file || exit 99; done; exec \"$@\"",
        files.join(" ")
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &hide, "sh", DELAYLAB]);
    command.args(words.split(' '));
    command
}

fn hid(run: &Ran) -> Result<(), String> {
    match run.code {
        99 => Err(format!(
            "no mounts in a namespace of their own: {}",
            run.stderr.trim()
        )),
        _ => Ok(()),
    }
}

/// What a user's search path does not have may be where programs for root are.
#[test]
fn a_check_says_what_a_testbed_needs_and_this_host_lacks() {
    or_skip!(root());
    const CHECK: &str = "check class-jitter --world testbed --quick";
    let user = Ran::to_end(
        delaylab(None)
            .args(CHECK.split(' '))
            .env("PATH", "/nowhere"),
    );
    assert!(!user.stdout.contains("is missing"), "{}", user.stdout);
    let run = Ran::to_end(&mut without(&["ip", "nft"], CHECK));
    or_skip!(hid(&run));
    assert_eq!(run.code, 0, "{}", run.stderr);
    for (command, package) in [("ip", "iproute2"), ("nft", "nftables")] {
        let lack =
            format!("it cannot run here: `{command}` is missing: install the package {package}");
        assert!(run.stdout.contains(&lack), "{}", run.stdout);
    }
}

/// As `check` says it, and not at the first trial, when there is a folder of a run already.
#[test]
fn a_server_without_its_program_is_refused_before_there_is_a_run() {
    or_skip!(root());
    let scratch = Scratch::new();
    scratch.file("bed.toml", SERVERS);
    let mut command = without(&["nginx"], "run bed.toml -q --no-report");
    let run = Ran::to_end(command.current_dir(scratch.path("")));
    or_skip!(hid(&run));
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    let missing = "server `web`: `nginx` is missing: install the package nginx-light";
    assert!(run.stderr.contains(missing), "{}", run.stderr);
    let runs = std::fs::read_dir(scratch.path("runs"))
        .into_iter()
        .flatten();
    assert_eq!(runs.count(), 0, "a run was begun");
}

/// A segment that overtook a lost one came before the bytes in front of it: the reply came with the last of both.
#[test]
fn a_reply_with_a_lost_segment_has_no_stage_below_zero() {
    let lossy = SERVERS
        .split("[[probe]]")
        .take(2)
        .collect::<Vec<_>>()
        .join("[[probe]]")
        .replace("/2KiB", "/6KiB")
        .replace("fresh = true\n", "")
        .replace("wait = \"10ms\"", "every = \"5ms\"")
        .replace("count = 15", "count = 300")
        + "[path]\ntopology = \"pairs-on-a-trunk\"\npairs = 1\nrate = \"100Mbit/s\"\n\
           switch = { discipline = \"fifo\", buffer = \"64KiB\", impair = { loss = \"3%\" } }\n\
           server = [{ name = \"own\", at = \"b1\" }]\n";
    let mut bed = or_skip!(Bed::new(&lossy));
    let done = bed.run("");
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    bed.look(
        "whole = records.filter(pl.col('to_t_recv').is_not_null())\n\
         steps = ['to_t_send', 'to_t_sched', 'to_t_tx', 'to_t_rx']\n\
         t_rx = sum((pl.col(step).fill_null(0) for step in steps), pl.col('t_intended'))\n\
         before = whole.filter(t_rx < pl.col('t_first'))\n\
         assert len(whole) > 250 and before.is_empty(), before.select('seq', t_rx - pl.col('t_first'))\n",
    );
}

/// What cannot be had is said by its field, with what to write instead.
#[test]
fn servers_that_cannot_be_had_are_refused() {
    let scratch = Scratch::new();
    for (from, to, said) in [
        (
            "at = \"b1\"",
            "at = \"b9\"",
            "there is no node `b9`: there are a1",
        ),
        (
            "forward = \"own\"",
            "forward = \"wob\"",
            "no [[path.server]] is called `wob`",
        ),
        (
            "forward = \"own\"",
            "workers = 2",
            "a proxy asks another server: name it",
        ),
        (
            "forward = \"own\"",
            "forward = \"resolver\"",
            "`resolver` does not answer what haproxy asks",
        ),
        (
            "software = \"nginx\"",
            "software = \"nginx\"\nthink = \"1ms\"",
            "nginx takes as long as it takes",
        ),
        (
            "at = \"b3\"",
            "at = \"b2\"",
            "has its port on the same host",
        ),
        (
            "to = \"b4\"",
            "to = \"b2\"",
            "no server of `b2` has the port",
        ),
        ("/2KiB", "/2GiB", "its page is larger than 64 MiB"),
        ("workers = 4", "workers = 0", "1 to 256 work at once"),
    ] {
        scratch.file("bed.toml", &SERVERS.replacen(from, to, 1));
        let checked = ran(&scratch, "check bed.toml");
        assert_eq!(checked.code, 2, "{to}: {}", checked.stdout);
        assert!(checked.stderr.contains(said), "{to}: {}", checked.stderr);
    }
}

/// A run in a testbed, whose tables a few lines of Python look at.
struct Bed {
    scratch: Scratch,
    python: Command,
}

impl Bed {
    fn new(experiment: &str) -> Result<Self, String> {
        root()?;
        let scratch = Scratch::new();
        scratch.file("bed.toml", experiment);
        let python = python()?;
        Ok(Self { scratch, python })
    }

    fn run(&self, words: &str) -> Ran {
        ran(
            &self.scratch,
            format!("run bed.toml -q --no-report {words}").trim(),
        )
    }

    /// `records`, `hops`, `series` and `trials` are frames of polars, or `None` where the run has no such table.
    fn look(&mut self, script: &str) {
        let before = "import os, sys, polars as pl\n\
             file = lambda name: sys.argv[1] + '/' + name + '.parquet'\n\
             table = lambda name: pl.read_parquet(file(name)) if os.path.exists(file(name)) else None\n\
             records, trials, hops, series = map(table, ['records', 'trials', 'hops', 'series'])\n";
        let looked = Ran::to_end(
            self.python
                .args(["-c", &format!("{before}{script}")])
                .arg(self.scratch.path("runs/latest")),
        );
        assert_eq!(looked.code, 0, "{}{}", looked.stdout, looked.stderr);
    }
}

const TOPOLOGIES: &str = r#"
name = "bed"
title = "Every topology"
world = "testbed"

[[probe]]
name = "echo"
method = "udp"
from = "a1"
to = "b1"
pacing = { every = "5ms" }
count = 20

[path]
rate = "50Mbit/s"

[[case]]
name = "two-hosts"
set = { "path.topology" = "two-hosts" }
[[case]]
name = "pairs-on-a-trunk"
set = { "path.topology" = "pairs-on-a-trunk", "path.pairs" = 2 }
[[case]]
name = "many-to-one"
set = { "path.topology" = "many-to-one", "path.senders" = 3 }
[[case]]
name = "chain"
set = { "path.topology" = "chain", "path.hops" = 3 }
[[case]]
name = "routed"
set = { "path.topology" = "routed", "path.hops" = 3 }
[[case]]
name = "two-paths"
set = { "path.topology" = "two-paths" }
[[case]]
name = "leaf-spine"
set = { "path.topology" = "leaf-spine", "path.leaves" = 2, "path.spines" = 2, "path.hosts" = 2, "probe.echo.from" = "h1", "probe.echo.to" = "h4" }
"#;

const PATHS: &str = r#"
name = "bed"
title = "Two paths"
world = "testbed"

[[probe]]
name = "ef"
method = "icmp"
class = "ef"
pacing = { every = "5ms" }
count = 40

[[probe]]
name = "ss"
method = "icmp"
class = "cs1"
pacing = { every = "5ms" }
count = 40

[[load]]
name = "bulk"
kind = "tcp"
class = "cs1"
window = "64KiB"
congestion_control = "reno"
route = "congested"

[path]
topology = "two-paths"
rate = "20Mbit/s"
route = { ef = "congested", cs1 = "control" }
remark = { cs1 = "be" }

[path.switch]
discipline = "priority"
"#;

const QUEUES: &str = r#"
name = "bed"
title = "Queues"
world = "testbed"

[[probe]]
name = "echo"
method = "udp"
payload = "200B"
pacing = { every = "5ms" }
count = 40
timeout = "1s"

[path]
topology = "two-hosts"
rate = "20Mbit/s"

[path.switch]
buffer = "64KiB"
"#;

const BACKLOG: &str = r#"
name = "bed"
title = "What waits"
world = "testbed"

[[probe]]
name = "echo"
method = "udp"
pacing = { every = "5ms" }
duration = "1500ms"

[[load]]
name = "bulk"
kind = "tcp"
streams = 2
congestion_control = "reno"
window = "64KiB"

[path]
topology = "pairs-on-a-trunk"
rate = "20Mbit/s"

[path.switch]
buffer = "200kB"

[sweep]
discipline = { set = "path.switch.discipline", to = ["fifo", "kernel-tbf", "kernel-htb"] }
"#;

/// Hosts, switches and links that a network could have, in `ip`'s words.
fn namespaces() -> BTreeSet<String> {
    let listed = Ran::to_end(Command::new("ip").args(["netns", "list"]));
    let names = listed.stdout.lines();
    let names = names.filter_map(|line| line.split_whitespace().next());
    let ours = names.filter(|name| name.starts_with("delaylab-"));
    ours.map(str::to_owned).collect()
}

fn links() -> BTreeSet<String> {
    let listed = Ran::to_end(Command::new("ip").args(["-o", "link"]));
    let names = listed
        .stdout
        .lines()
        .filter_map(|line| line.split(": ").nth(1));
    names.map(str::to_owned).collect()
}

/// `delaylab testbed up WORDS` that stands, and what it called itself.
pub fn up(words: &str) -> (Process, String) {
    let mut command = delaylab(None);
    let command = command
        .args(["testbed", "up"])
        .args(words.split_whitespace());
    let mut process = Process::start(command.stdout(Stdio::piped()));
    let mut id = String::new();
    let stdout = process.child.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut id).unwrap();
    let id = id.trim().to_owned();
    assert!(id.starts_with("delaylab-"), "{id}");
    (process, id)
}

fn of(id: &str) -> usize {
    namespaces()
        .iter()
        .filter(|name| name.starts_with(id))
        .count()
}

#[test]
fn what_builds_it_can_be_seen() {
    let scratch = Scratch::new();
    let shown = ran(&scratch, "testbed up two-hosts --show-commands");
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    insta::assert_snapshot!(shown.stdout);
    let kernel = ran(
        &scratch,
        "testbed up two-hosts --show-commands --set path.switch.discipline=kernel-htb",
    );
    let words = [
        "type bridge",
        "htb default 30",
        "dsfield 0xb8 0xfc flowid 1:20",
    ];
    for word in words {
        assert!(kernel.stdout.contains(word), "{word}: {}", kernel.stdout);
    }
}

#[test]
fn what_cannot_be_built_is_refused_by_its_field() {
    let scratch = Scratch::new();
    scratch.file("bed.toml", QUEUES);
    let cases = [
        ("path.topology=loopback", "path.topology", "world live"),
        ("path.abr=eprca-1995", "path.abr", "world sim"),
        ("path.shaper.cbr=1Mbit/s", "path.shaper", "[in.sim.path]"),
        (
            "path.host.per_packet=1us",
            "path.host",
            "[in.sim.path.host]",
        ),
        ("path.switch.discipline=efci", "path.switch", "ABR"),
        (
            "path.route.ef=congested",
            "path.route.ef",
            "no link `congested`",
        ),
        ("path.remark.ef=be", "path.remark", "routers re-mark"),
        ("path.remark.xx=be", "path.remark.xx", "not a traffic class"),
        (
            "path.switch.queue_buffer=1KiB",
            "path.switch.queue_buffer",
            "class queues",
        ),
        (
            "probe.echo.interface=eth0",
            "probe.echo.interface",
            "use `from`",
        ),
        ("probe.echo.from=s1", "probe.echo.from", "name a host"),
        (
            "path.switch.packet_discard=early",
            "path.switch.packet_discard",
            "whole",
        ),
    ];
    for (set, field, why) in cases {
        let done = ran(&scratch, &format!("check bed.toml --set {set}"));
        assert_eq!(done.code, 2, "{set}: {}{}", done.stdout, done.stderr);
        let said = done.stderr.contains(field) && done.stderr.contains(why);
        assert!(said, "{set}: {}", done.stderr);
    }
    let tbf = "check bed.toml --set path.switch.discipline=kernel-tbf --set path.propagation=1ms";
    let done = ran(&scratch, tbf);
    assert!(
        done.code == 2 && done.stderr.contains("path.propagation"),
        "{}",
        done.stderr
    );
}

#[test]
fn every_topology_is_crossed() {
    let mut bed = or_skip!(Bed::new(TOPOLOGIES));
    let done = bed.run("");
    assert_eq!(done.code, 0, "{}", done.stderr);
    // Each packet meets as many queues there and back as the topology has.
    bed.look(
        r#"
expected = {"two-hosts": [1, 1], "pairs-on-a-trunk": [2, 2], "many-to-one": [1, 1], "chain": [3, 3],
            "routed": [2, 2], "two-paths": [1, 1], "leaf-spine": [3, 3]}
for row in trials.iter_rows(named=True):
    case = row["factor_case"]
    assert row["received"] == 20, (case, row["received"])
    own = hops.filter(pl.col("trial") == row["trial"])
    for direction, queues in zip(["forward", "return"], expected[case]):
        ways = own.filter(pl.col("direction") == direction).group_by("seq").len()
        assert ways.height == 20 and set(ways["len"]) == {queues}, (case, direction, ways)
    assert (own["t_dequeue"] >= own["t_enqueue"]).all()
"#,
    );
}

#[test]
fn classes_take_their_paths_and_loads_theirs() {
    let mut bed = or_skip!(Bed::new(PATHS));
    let done = bed.run("");
    assert_eq!(done.code, 0, "{}", done.stderr);
    bed.look(
        r#"
def ports(probe, direction):
    own = hops.filter((pl.col("probe") == probe) & (pl.col("direction") == direction))
    return set(own["port"])
assert ports(0, "forward") == {"s1→s2 congested"}, ports(0, "forward")
assert ports(1, "forward") == {"s1→s2 control"}, ports(1, "forward")
assert ports(0, "return") == ports(1, "return") == {"s2→s1 return"}
# An echo reply has the class that its request arrived with.
assert set(records.filter(pl.col("probe") == 0)["reply_dscp"]) == {46}
assert set(records.filter(pl.col("probe") == 1)["reply_dscp"]) == {0}
# The load is of the control path's class, and goes where it is told to.
busy = {row["of"]: row["mean"] for row in series.filter(pl.col("series") == "utilisation")
        .group_by("of").agg(mean=(pl.col("mean") * pl.col("length")).sum() / pl.col("length").sum()).iter_rows(named=True)}
assert busy["s1→s2 congested"] > 10 * busy["s1→s2 control"], busy
cwnd = series.filter((pl.col("series") == "cwnd") & (pl.col("of") == "bulk"))
assert cwnd.height > 0 and cwnd["max"].max() > 1448
"#,
    );
}

/// A rule of the kernel's takes what the rule before has changed.
#[test]
fn classes_that_change_places_are_changed_once() {
    let swapped = PATHS.replace("{ cs1 = \"be\" }", "{ cs1 = \"ef\", ef = \"cs1\" }");
    let mut bed = or_skip!(Bed::new(&swapped));
    let done = bed.run("");
    assert_eq!(done.code, 0, "{}", done.stderr);
    bed.look(
        r#"
# An echo reply has the class that its request arrived with.
assert set(records.filter(pl.col("probe") == 0)["reply_dscp"]) == {8}
assert set(records.filter(pl.col("probe") == 1)["reply_dscp"]) == {46}
"#,
    );
}

/// Senders and reflectors of STAMP count from numbers of their own.
#[test]
fn what_packets_meet_is_of_the_packets_that_met_it() {
    let sweep = format!(
        "{QUEUES}\n[sweep]\nmethod = {{ set = \"probe.echo.method\", to = [\"udp\", \"icmp\", \"stamp\"] }}\n"
    );
    let mut bed = or_skip!(Bed::new(&sweep));
    let done = bed.run("");
    assert_eq!(done.code, 0, "{}", done.stderr);
    bed.look(
        r#"
for row in trials.iter_rows(named=True):
    method = row["factor_method"]
    own = hops.filter(pl.col("trial") == row["trial"])
    sent = records.filter(pl.col("trial") == row["trial"])
    for direction in ["forward", "return"]:
        one = own.filter(pl.col("direction") == direction)
        assert sorted(one["seq"]) == list(range(40)), (method, direction, sorted(one["seq"]))
    met = sent.join(own.filter(pl.col("direction") == "forward"), on="seq")
    assert met.height == 40, (method, met.height)
"#,
    );
}

#[test]
fn every_queue_that_there_is_forwards() {
    let disciplines = [
        "fifo",
        "per-flow",
        "priority",
        "wrr",
        "wfq",
        "drr",
        "red",
        "codel",
        "fq-codel",
        "kernel-tbf",
        "kernel-htb",
    ];
    let list = disciplines.map(|name| format!("{name:?}")).join(", ");
    let sweep = format!(
        "{QUEUES}\n[sweep]\ndiscipline = {{ set = \"path.switch.discipline\", to = [{list}] }}\n"
    );
    let sweep = sweep.replace("buffer = \"64KiB\"", "buffer = \"60packets\"");
    let mut bed = or_skip!(Bed::new(&sweep));
    let done = bed.run("");
    assert_eq!(done.code, 0, "{}", done.stderr);
    bed.look(&format!(
        "assert set(trials['factor_discipline']) == {{{list}}}\n\
         assert (trials['received'] == 40).all(), trials.select('factor_discipline', 'received')"
    ));
}

#[test]
fn what_waits_is_seen_over_time_in_every_device() {
    let mut bed = or_skip!(Bed::new(BACKLOG));
    let done = bed.run("");
    assert_eq!(done.code, 0, "{}", done.stderr);
    // What the windows leave of the path waits at the trunk, which both share, and nowhere else.
    bed.look(
        r#"
for row in trials.iter_rows(named=True):
    own = series.filter((pl.col("trial") == row["trial"]) & (pl.col("series") == "backlog"))
    def mean(of):
        one = own.filter(pl.col("of") == of)
        return (one["mean"] * one["length"]).sum() / one["length"].sum()
    trunk, last = mean("s1→s2"), mean("s2→b2")
    assert 10_000 < trunk < 150_000 and last < trunk / 4, (row["factor_discipline"], trunk, last)
"#,
    );
}

#[test]
fn a_window_bounds_what_is_under_way() {
    let far = BACKLOG
        .replace("20Mbit/s", "100Mbit/s")
        .replace("1500ms", "3s")
        .replace("buffer = \"200kB\"", "latency = \"12500us\"");
    let mut bed = or_skip!(Bed::new(&far));
    let done = bed.run("--set sweep.discipline.to=[\"fifo\"] --set load.bulk.streams=1");
    assert_eq!(done.code, 0, "{}", done.stderr);
    // 64 KiB a round trip of 50 ms: two switches each way.
    bed.look(
        r#"
goodput = series.filter((pl.col("series") == "goodput") & (pl.col("of") == "bulk"))
mean = (goodput["mean"] * goodput["length"]).sum() / goodput["length"].sum()
assert 5e6 < mean < 10.6e6, mean
"#,
    );
}

#[test]
fn a_kernel_without_a_queue_says_so() {
    let bed = or_skip!(Bed::new(QUEUES));
    for (discipline, module) in [("kernel-netem", "netem"), ("kernel-fq-codel", "fq_codel")] {
        let done = bed.run(&format!("--set path.switch.discipline={discipline}"));
        // Where the kernel has it, it is used.
        if done.code != 0 {
            assert_eq!(done.code, 2, "{}", done.stderr);
            let said = format!("this kernel has no {module}");
            assert!(done.stderr.contains(&said), "{}", done.stderr);
        }
    }
}

#[test]
fn impairments_reach_the_records() {
    let mut bed = or_skip!(Bed::new(&format!(
        "{QUEUES}\n[[case]]\nname = \"loss\"\nset = {{ \"path.switch.impair.loss\" = \"30%\" }}\n\
         [[case]]\nname = \"duplicate\"\nset = {{ \"path.switch.impair.duplicate\" = \"30%\" }}\n\
         [[case]]\nname = \"reorder\"\nset = {{ \"path.switch.impair.reorder\" = \"30%\", \"path.switch.impair.reorder_by\" = \"12ms\" }}\n\
         [[case]]\nname = \"corrupt\"\nset = {{ \"path.switch.impair.corrupt\" = \"30%\" }}\n\
         [[case]]\nname = \"flood\"\nset = {{ \"path.switch.impair.flood\" = \"100%\" }}\n\
         [[case]]\nname = \"latency\"\nset = {{ \"path.switch.latency\" = \"20ms\" }}\n"
    )));
    let done = bed.run("");
    assert_eq!(done.code, 0, "{}", done.stderr);
    bed.look(
            r#"
case = {row["factor_case"]: records.filter(pl.col("trial") == row["trial"]) for row in trials.iter_rows(named=True)}
lost = (case["loss"]["outcome"] == "lost").sum()
assert 5 <= lost <= 35, lost
assert (case["duplicate"]["copies"] > 0).sum() >= 5
assert (case["reorder"]["reorder_extent"].fill_null(0) > 0).sum() >= 2
# A UDP checksum that does not fit is dropped by the host that gets it.
assert 5 <= (case["corrupt"]["outcome"] == "lost").sum() <= 35
assert (case["flood"]["outcome"] != "lost").all()
late = trials.filter(pl.col("factor_case") == "latency")
assert late["round_trip_min_ns"][0] >= 40_000_000
"#,
        );
}

/// The policer drops packets of the probe, which are waited for through their time-out: loads and series have ended by then.
#[test]
fn the_wait_for_what_was_lost_is_no_part_of_loads_and_series() {
    let mut bed = or_skip!(Bed::new(
        r#"
name = "bed"
title = "A policer"
world = "testbed"
[[probe]]
name = "echo"
method = "udp"
payload = "1000B"
pacing = { every = "10ms" }
duration = "1s"
timeout = "4s"
[[load]]
name = "bulk"
kind = "cbr"
rate = "10Mbit/s"
payload = "1000B"
[path]
topology = "pairs-on-a-trunk"
pairs = 2
rate = "100Mbit/s"
[path.switch]
policer = { rate = "6Mbit/s", burst = "20kB" }
"#
    ));
    let done = bed.run("");
    assert_eq!(done.code, 0, "{}", done.stderr);
    bed.look(
        r#"
assert (records["outcome"] == "lost").sum() > 5
busy = series.filter((pl.col("series") == "utilisation") & (pl.col("of") == "s1→s2"))
assert 0.9e9 < busy["length"].sum() < 3e9, busy
first = records["t_intended"].min()
assert busy["t"].min() <= first < busy["t"].max()
# 4 of 10 Mbit/s are dropped and more: of 1 s about 550 packets, of 5 s 2500.
lost = trials["lost_load"][0]
assert 300 < lost < 1500, lost
"#,
    );
}

/// Builds `count` testbeds one after the other, and takes each down.
fn come_and_go(count: usize) {
    or_skip!(root());
    let before = links();
    let topologies = [
        "two-hosts",
        "routed",
        "two-paths",
        "pairs-on-a-trunk",
        "chain",
    ];
    for topology in topologies.iter().cycle().take(count) {
        let (mut process, id) = up(topology);
        assert!(of(&id) >= 3, "{topology}");
        // Nothing of it is in the namespace of this host.
        assert_eq!(links(), before, "{topology}");
        process.signal(Signal::SIGINT);
        assert!(process.child.wait().unwrap().success());
        assert_eq!(of(&id), 0, "{topology}");
    }
}

/// Tests that look for what others leave: the machine is theirs alone.
mod alone {
    use super::*;

    #[test]
    fn testbeds_in_a_row_leave_nothing_behind() {
        come_and_go(10);
    }

    /// The same with many more, in `make test-all`.
    mod long {
        use super::*;

        #[test]
        fn fifty_testbeds_in_a_row_leave_nothing_behind() {
            come_and_go(50);
        }
    }

    #[test]
    fn what_a_killed_one_leaves_is_removed_by_clean() {
        or_skip!(root());
        let (mut process, id) = up("two-paths");
        let (other, standing) = up("two-hosts");
        process.signal(Signal::SIGKILL);
        process.child.wait().unwrap();
        assert!(of(&id) > 0);
        // Only what stands is entered.
        let exec = |words: &[&str]| {
            let mut command = delaylab(None);
            Ran::to_end(command.args(["testbed", "exec"]).args(words))
        };
        let gone = exec(&["--testbed", &id, "a1", "--", "true"]);
        assert_eq!(gone.code, 2, "{}", gone.stderr);
        let said = format!("the process of {id} is gone");
        assert!(gone.stderr.contains(&said), "{}", gone.stderr);
        let entered = exec(&["a1", "--", "true"]);
        assert_eq!(entered.code, 0, "{}", entered.stderr);
        let cleaned = Ran::to_end(delaylab(None).args(["testbed", "clean"]));
        assert_eq!(cleaned.code, 0, "{}", cleaned.stderr);
        assert!(cleaned.stdout.contains(&id), "{}", cleaned.stdout);
        assert_eq!(of(&id), 0);
        // What stands is left alone.
        assert_eq!(of(&standing), 3);
        drop(other);
        let cleaned = Ran::to_end(delaylab(None).args(["testbed", "clean"]));
        assert!(cleaned.stdout.contains(&standing), "{}", cleaned.stdout);
    }

    /// A namespace of another program that is called as ours are.
    #[test]
    fn clean_keeps_a_namespace_that_has_only_the_name() {
        or_skip!(root());
        let name = "delaylab-4294967295-7-0-a1";
        let ip = |words: &str| Command::new("ip").args(words.split(' ')).status();
        assert!(ip(&format!("netns add {name}")).unwrap().success());
        let cleaned = Ran::to_end(delaylab(None).args(["testbed", "clean"]));
        assert!(ip(&format!("netns del {name}")).unwrap().success());
        assert_eq!(cleaned.code, 0, "{}", cleaned.stderr);
        let said = format!("kept {name}: it does not bear the mark of a testbed");
        assert!(cleaned.stdout.contains(&said), "{}", cleaned.stdout);
    }

    #[test]
    fn one_can_work_in_it_by_hand_and_not_get_out() {
        or_skip!(root());
        let (_process, id) = up("routed --set path.hops=3");
        let at = |node: &str, words: &[&str]| {
            let mut command = delaylab(None);
            Ran::to_end(
                command
                    .args(["testbed", "exec", "--testbed", &id, node, "--"])
                    .args(words),
            )
        };
        let pinged = at("a1", &["ping", "-c", "3", "-i", "0.2", "10.82.2.2"]);
        assert_eq!(pinged.code, 0, "{}", pinged.stdout);
        // Three routers counted the hops down.
        assert!(pinged.stdout.contains("ttl=61"), "{}", pinged.stdout);
        let outside = at("a1", &["ping", "-c", "1", "-W", "1", "192.0.2.1"]);
        assert_ne!(outside.code, 0);
        assert!(outside.stdout.contains("Unreachable"), "{}", outside.stdout);
        let nowhere = at("x9", &["true"]);
        assert_eq!(nowhere.code, 2);
        assert!(
            nowhere
                .stderr
                .contains("there is no node `x9`: there are a1"),
            "{}",
            nowhere.stderr
        );
    }

    #[test]
    fn servers_of_an_experiment_are_there_by_hand_too() {
        or_skip!(root());
        let scratch = Scratch::new();
        let own = WEB.replace("software = \"nginx\"\n", "");
        scratch.file("bed.toml", &own);
        let (mut process, id) = up(&scratch.path("bed.toml").display().to_string());
        let exec = ["testbed", "exec", "--testbed", &id, "a1", "--", DELAYLAB];
        let page = ["ping", "http://10.82.0.2/2KiB", "-c", "2", "-i", "10ms"];
        let asked = Ran::to_end(delaylab(None).args(exec).args(page));
        assert_eq!(asked.code, 0, "{}{}", asked.stdout, asked.stderr);
        assert!(asked.stdout.contains("2 received"), "{}", asked.stdout);
        // And leave nothing.
        process.signal(Signal::SIGINT);
        assert!(process.child.wait().unwrap().success());
    }

    /// As a user whose files none of this machine's services has, in a user namespace.
    #[test]
    fn without_root_it_stands_in_a_user_namespace() {
        or_skip!(root());
        let scratch = Scratch::new();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(scratch.path(""), open).unwrap();
        let as_user = |words: &str| {
            let mut command = user();
            command
                .arg(DELAYLAB)
                .args(words.split(' '))
                .current_dir(scratch.path(""));
            command
        };
        or_skip!(users_make_namespaces());
        scratch.file("bed.toml", QUEUES);
        let ended = Ran::to_end(&mut as_user("run bed.toml --json --no-report -o runs"));
        assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains("\"received\":40"), "{}", ended.stdout);
        assert!(
            namespaces()
                .iter()
                .all(|name| !ended.stdout.contains(name.as_str()))
        );
        // There is no other user: Apache does not run, and nginx as root.
        scratch.file("servers.toml", SERVERS);
        let refused = Ran::to_end(&mut as_user("run servers.toml -q --no-report"));
        let why = "server `other`: apache2 works as another user";
        let not_installed = "server `other`: `apache2` is missing";
        let says = |what| refused.stderr.contains(what);
        assert!(
            refused.code == 3 && (says(why) || says(not_installed)),
            "{}",
            refused.stderr
        );
        if Ran::to_end(Command::new("which").arg("nginx")).code == 0 {
            scratch.file("web.toml", WEB);
            let ended = Ran::to_end(&mut as_user("run web.toml --json --no-report -o runs"));
            assert!(
                ended.stdout.contains("\"received\":5"),
                "{}{}",
                ended.stdout,
                ended.stderr
            );
        }
        // What the kernel lacks is known as well.
        const NETEM: &str = "check bed.toml --set path.switch.discipline=kernel-netem";
        if ran(&scratch, NETEM).code != 0 {
            let checked = Ran::to_end(&mut as_user(NETEM));
            let said = "it cannot run here: path.switch.discipline: this kernel has no netem";
            assert!(checked.stdout.contains(said), "{}", checked.stdout);
        }
        is_entered_by_hand(Path::new(DELAYLAB));
    }

    /// The kernel gives what is in /proc of such a program to root.
    #[test]
    fn a_user_whose_program_has_capabilities_has_testbeds_too() {
        or_skip!(root());
        or_skip!(users_make_namespaces());
        let scratch = Scratch::new();
        let program = scratch.path("delaylab");
        std::fs::copy(DELAYLAB, &program).unwrap();
        let mut setcap = Command::new("setcap");
        let given = Ran::to_end(setcap.arg("cap_net_raw,cap_sys_nice+p").arg(&program));
        if given.code != 0 {
            skip!("no capabilities for files here: {}", given.stderr.trim());
        }
        is_entered_by_hand(&program);
    }

    /// One of whom this machine's services have no files.
    fn user() -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "12345", "--regid", "12345", "--clear-groups"]);
        command
    }

    fn users_make_namespaces() -> Result<(), String> {
        match Ran::to_end(user().args(["unshare", "--user", "true"])).code {
            0 => Ok(()),
            _ => Err("this kernel lets no user make namespaces".to_owned()),
        }
    }

    /// A user's testbed is entered from another terminal with the words that it prints.
    fn is_entered_by_hand(program: &Path) {
        let mut up = user();
        up.arg(program).args(["testbed", "up", "two-hosts"]);
        let mut process = Process::start(up.current_dir("/").stdout(Stdio::piped()));
        let stdout = BufReader::new(process.child.stdout.take().unwrap());
        let mut lines = stdout.lines().map(Result::unwrap);
        let way_in = lines.find_map(|line| Some(line.split_once("Meanwhile: ")?.1.to_owned()));
        let way_in = way_in.unwrap() + " -c 2 -i 10ms";
        let folder = program.parent().unwrap();
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        let asked = Ran::to_end(user().args(["sh", "-c", &way_in]).env("PATH", path));
        assert_eq!(asked.code, 0, "{way_in}: {}{}", asked.stdout, asked.stderr);
        assert!(asked.stdout.contains("2 received"), "{}", asked.stdout);
        process.signal(Signal::SIGINT);
        assert!(process.child.wait().unwrap().success());
    }
}
