//! What other tools printed becomes a run that the other commands read; what is wrong with it is said.

use crate::harness::process::{Ran, delaylab, ran};
use crate::harness::scratch::Scratch;
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A file of each format, the name of its run, and of each of its streams how many packets there are
/// and were answered.
type Sample = (&'static str, &'static str, &'static [(u64, u64)]);

const SAMPLES: &[Sample] = &[
    ("ping.txt", "ping", &[(50, 50)]),
    ("fping-c.txt", "fping", &[(20, 20), (20, 15)]),
    ("irtt.json", "irtt", &[(12, 8)]),
    ("irtt.txt", "irtt-text", &[(12, 8)]),
    ("sockperf-loss.csv", "sockperf", &[(55, 38)]),
    (
        "mtr-raw.txt",
        "mtr-raw",
        &[(10, 7), (10, 10), (1, 1), (1, 1)],
    ),
    ("mtr.json", "mtr-json", &[(0, 0), (0, 0)]),
    ("mtr.csv", "mtr-csv", &[(0, 0), (0, 0)]),
    ("mtr-report.txt", "mtr-report", &[(0, 0), (0, 0)]),
    ("iperf3-tcp.json", "iperf3", &[(2, 2), (2, 2)]),
    ("icmp.pcapng", "capture", &[(8, 2), (1, 0), (2, 0)]),
    ("atlas-ping.ndjson", "ripe-atlas", &[(6, 4), (3, 3)]),
    ("cisco-verbose.txt", "ping-of-cisco", &[(4, 3)]),
    ("delaylab-ping.json", "delaylab-ping", &[(5, 5)]),
    ("flowmon.xml", "ns-3-flowmonitor", &[(0, 0)]),
    ("fping.json", "fping-json", &[(4, 3)]),
    ("hping3-icmp.txt", "hping3", &[(10, 7)]),
    ("iperf3-udp.txt", "iperf3-text", &[(0, 0)]),
    ("mikrotik.txt", "ping-of-mikrotik", &[(5, 3)]),
    ("mtr.xml", "mtr-xml", &[(0, 0), (0, 0)]),
    ("nping-icmp.txt", "nping", &[(10, 6)]),
    ("omnet.vec", "omnet-vectors", &[(3, 3)]),
    ("owping.txt", "owping", &[(4, 3)]),
    ("ping.txt.zst", "ping", &[(50, 50)]),
    ("pscheduler-rtt.json", "pscheduler", &[(5, 4)]),
    ("rrd-fetch.txt", "smokeping-rrd", &[(40, 39)]),
    ("rrul.flent.gz", "flent", &[(10, 9), (10, 9)]),
    ("table.csv", "table", &[(4, 3), (1, 1)]),
    ("table-pandas.parquet", "table", &[(60, 58)]),
    ("traceroute.txt", "traceroute", &[(3, 3), (3, 3)]),
    ("windows-de.txt", "ping-of-windows", &[(4, 3)]),
];

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../explain/tests/data/import")
        .join(name)
}

fn sample_text(name: &str) -> String {
    fs::read_to_string(sample(name)).unwrap()
}

/// `delaylab import FILE WORDS` in this directory.
fn import(scratch: &Scratch, file: &Path, words: &str) -> Ran {
    let mut command = delaylab(None);
    command
        .current_dir(scratch.path(""))
        .arg("import")
        .arg(file);
    Ran::to_end(command.args(words.split_whitespace()))
}

/// The document of an import that must end well.
fn imported(scratch: &Scratch, file: &Path) -> Value {
    let ran = import(scratch, file, "--json --no-report");
    assert_eq!(ran.code, 0, "{}: {}", file.display(), ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["schema"], "delaylab/import/3");
    document
}

/// A report that has figures and no packets says nothing of what was answered: nothing was lost, and not 0 were sent.
#[test]
fn figures_without_packets_are_no_blackout() {
    let scratch = Scratch::new();
    for file in ["mtr.json", "mtr.csv", "mtr.xml", "mtr-report.txt"] {
        let shown = import(&scratch, &sample(file), "--no-report");
        assert_eq!(shown.code, 0, "{file}: {}", shown.stderr);
        let text = shown.stdout + &shown.stderr;
        assert!(!text.contains("was lost"), "{file}: {text}");
        // What the report said of a hop stands in its row, also when the run is shown again.
        let again = ran(&scratch, "report latest").stdout;
        let hop = |text: &str| {
            let (_, run) = text.split_once("round trip min")?;
            let hop = run.lines().find(|line| line.starts_with("hop 1"))?;
            Some(hop.to_owned())
        };
        let first = hop(&text).unwrap_or_else(|| panic!("{file}: {text}"));
        assert!(
            first.contains(" µs") || first.contains(" us"),
            "{file}: {first}"
        );
        assert_eq!(hop(&again), Some(first), "{file}: {again}");
    }
}

/// Of ping's summary alone, counts are what it says, and losses are compared by them.
#[test]
fn what_a_summary_says_of_losses_counts() {
    let scratch = Scratch::new();
    for (name, received, percent) in [("none", 1000, 0), ("most", 200, 80)] {
        let text = format!(
            "PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.\n\n--- 10.0.0.2 ping statistics ---\n\
             1000 packets transmitted, {received} received, {percent}% packet loss, time 9990ms\n\
             rtt min/avg/max/mdev = 10.500/11.000/11.500/0.500 ms\n"
        );
        let file = scratch.file(&format!("{name}.txt"), &text);
        let made = import(&scratch, &file, &format!("--no-report -o {name}"));
        assert_eq!(made.code, 0, "{}", made.stderr);
    }
    let compared = ran(
        &scratch,
        "compare none/latest most/latest --fail-if lost>1%",
    );
    assert_eq!(compared.code, 1, "{}", compared.stderr);
    let text = in_one_line(&compared.stdout);
    for says in [
        "1000 packets of 1 trial in A, 1000 of 1 in B",
        "lost 0 % 80 %",
        "round trip min 10.5 ms 10.5 ms",
        "holds: lost > 1%: 80 % in B",
        "A and B have figures of another tool and no packets",
        "B loses 80 % of its packets and A 0 %",
    ] {
        assert!(text.contains(says), "{says}: {}", compared.stdout);
    }
    let explained = ran(&scratch, "explain latest --runs most").stdout;
    for says in [
        "1000 packets sent, 200 answered",
        "800 of 1000 packets were lost (80 %)",
        "figures of another tool and no packets",
    ] {
        assert!(
            in_one_line(&explained).contains(says),
            "{says}: {explained}"
        );
    }
    let summary = ran(&scratch, "report latest --runs most --table summary -o -").stdout;
    assert!(summary.contains("\n1,1000,800,0.8,"), "{summary}");
}

/// The first hop answers one of 30 packets, and the target all of them.
#[test]
fn what_routers_do_not_answer_is_no_loss_of_the_path() {
    let scratch = Scratch::new();
    let mut raw = "x 0 0\nh 0 10.0.0.1\np 0 500 0\nx 1 1\nh 1 10.0.0.9\np 1 9000 1\n".to_owned();
    for seq in (2..60).step_by(2) {
        raw += &format!("x 0 {seq}\nx 1 {0}\np 1 9000 {0}\n", seq + 1);
    }
    let file = scratch.file("m.raw", &raw);
    assert_eq!(import(&scratch, &file, "--no-report").code, 0);
    let shown = ran(&scratch, "explain latest").stdout;
    let text = in_one_line(&shown);
    let said = "Hop 1 answered 1 of 30 packets, which is no loss of the path";
    for says in ["30 packets sent, 30 answered", said] {
        assert!(text.contains(says), "{says}: {shown}");
    }
    for says in ["lost", "varied"] {
        assert!(!text.contains(&format!("{says} ")), "{says}: {shown}");
    }
}

/// Neither is of a packet: a report is dated, and what iperf3 says of a transfer stands beside its losses.
#[test]
fn what_a_file_without_packets_says_is_shown() {
    let scratch = Scratch::new();
    let of_mtr = imported(&scratch, &sample("mtr.csv"));
    let folder = of_mtr["folder"].as_str().unwrap();
    assert!(
        folder.starts_with("runs/import-mtr-csv-20261122T"),
        "{folder}"
    );
    for file in ["iperf3-udp.json", "iperf3-udp.txt"] {
        let shown = import(&scratch, &sample(file), "--no-report").stdout;
        for says in ["jitter", "throughput", "Over time"] {
            assert!(shown.contains(says), "{file}, {says}: {shown}");
        }
        assert!(shown.contains("transferred"), "{file}: {shown}");
        let is_dated = !shown.contains("-undated");
        assert_eq!(is_dated, file.ends_with("json"), "{file}: {shown}");
    }
}

/// Text without its line breaks, which depend on the width.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_format_becomes_a_run_that_can_be_shown() {
    for (index, (name, word, streams)) in SAMPLES.iter().enumerate() {
        let scratch = Scratch::new();
        let document = imported(&scratch, &sample(name));
        let counts: Vec<_> = document["streams"]
            .as_array()
            .unwrap()
            .iter()
            .map(|stream| {
                let count = |name: &str| stream[name].as_u64().unwrap();
                (count("sent"), count("received") + count("late"))
            })
            .collect();
        assert_eq!(counts, *streams, "{name}");
        assert_eq!(
            document["disagreements"],
            Value::Array(Vec::new()),
            "{name}"
        );

        let run = format!("import-{word}");
        let folder = document["folder"].as_str().unwrap();
        assert!(folder.starts_with(&format!("runs/{run}-")), "{folder}");
        // A list and a page take half a second each, and are the same whatever the file was.
        if index > 0 {
            continue;
        }
        let packets: u64 = streams.iter().map(|(packets, _)| packets).sum();
        let listed: Value = serde_json::from_str(&ran(&scratch, "list --json").stdout).unwrap();
        assert_eq!(listed["runs"][0]["state"], "complete", "{name}");
        assert_eq!(listed["runs"][0]["records"], packets, "{name}");
        let shown = ran(&scratch, "report latest");
        assert_eq!(shown.code, 0, "{name}: {}", shown.stderr);
        assert!(
            shown.stdout.contains(&format!("--- {run} (live) ---")),
            "{name}: {}",
            shown.stdout
        );
        let page = fs::read_to_string(scratch.path(folder).join("report.html")).unwrap();
        assert!(page.contains(&run), "{name}");
        // Nothing can carry it out again.
        assert!(!page.contains("Repeat this run"), "{name}");
    }
}

/// From a foreign file to what explains it and what it is held against, by the command line alone.
fn explained_and_compared(name: &str) {
    let scratch = Scratch::new();
    let first = imported(&scratch, &sample(name));
    let second = imported(&scratch, &sample(name));
    let folder = |document: &Value| document["folder"].as_str().unwrap().to_owned();
    let (first, second) = (folder(&first), folder(&second));
    assert_ne!(first, second, "{name}");
    let explained = ran(&scratch, &format!("explain {first}"));
    assert!(explained.code < 2, "{name}: {}", explained.stderr);
    assert!(!explained.stdout.is_empty(), "{name}");
    let compared = ran(&scratch, &format!("compare {first} {second}"));
    assert_eq!(compared.code, 0, "{name}: {}", compared.stderr);
    let shown = ran(&scratch, &format!("report {first} --beside {second}"));
    assert_eq!(shown.code, 0, "{name}: {}", shown.stderr);
}

#[test]
fn formats_can_be_explained_and_compared() {
    for (name, ..) in SAMPLES.iter().step_by(5) {
        explained_and_compared(name);
    }
}

mod long {
    #[test]
    fn every_format_can_be_explained_and_compared() {
        for (name, ..) in super::SAMPLES {
            super::explained_and_compared(name);
        }
    }
}

/// A run has the date of its measurement; one that has none has none.
#[test]
fn a_run_is_dated_by_its_measurement() {
    for (name, stamp, date) in [
        (
            "atlas-ping.ndjson",
            "20231114T221320Z",
            "2023-11-14T22:13:20Z",
        ),
        ("rrul.flent.gz", "20261121T134500Z", "2026-11-21T13:45:00Z"),
        ("owping.txt", "20190213T115419Z", "2019-02-13T11:54:19.387Z"),
    ] {
        let scratch = Scratch::new();
        let document = imported(&scratch, &sample(name));
        let folder = document["folder"].as_str().unwrap();
        assert!(folder.ends_with(stamp), "{name}: {folder}");
        let listed: Value = serde_json::from_str(&ran(&scratch, "list --json").stdout).unwrap();
        assert_eq!(listed["runs"][0]["started_utc"], date, "{name}");
    }
    let scratch = Scratch::new();
    let document = imported(&scratch, &sample("windows-en.txt"));
    let folder = document["folder"].as_str().unwrap();
    assert!(folder.ends_with("-undated"), "{folder}");
    let listed: Value = serde_json::from_str(&ran(&scratch, "list --json").stdout).unwrap();
    assert_eq!(listed["runs"][0]["started_utc"], Value::Null);
}

#[test]
fn a_table_that_does_not_say_its_unit_is_asked_for_it() {
    let scratch = Scratch::new();
    let numbers = scratch.file("numbers.txt", "12.3\n12.9\n11.8\n");
    let asked = import(&scratch, &numbers, "");
    assert_eq!(asked.code, 2);
    assert!(asked.stderr.contains("--unit ms"), "{}", asked.stderr);
    let told = import(&scratch, &numbers, "--unit ms --no-report --json");
    assert_eq!(told.code, 0, "{}", told.stderr);
    let columns = scratch.file("columns.csv", "1,2,12.3\n2,3,12.9\n");
    let asked = import(&scratch, &columns, "");
    assert_eq!(asked.code, 2);
    assert!(
        asked.stderr.contains("--columns time,rtt_ms,-"),
        "{}",
        asked.stderr
    );
    let told = import(
        &scratch,
        &columns,
        "--columns seq,-,rtt_ms --no-report --json",
    );
    assert_eq!(told.code, 0, "{}", told.stderr);
}

#[test]
fn the_tools_figures_stand_beside_those_of_its_packets() {
    let scratch = Scratch::new();
    let ran = import(&scratch, &sample("ping.txt"), "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = in_one_line(&ran.stdout);
    for expected in [
        "output of ping: 1 stream, 50 packets, 50 answered",
        "figure ping says its packets give",
        "mean round trip 20.5 ms 20.5 ms",
        "--- import-ping (live) ---",
        "Records: runs/import-ping-",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let document = imported(&scratch, &sample("ping.txt"));
    let said = document["said"].as_array().unwrap();
    let mean = said.iter().find(|said| said["what"] == "mean round trip");
    let mean = mean.unwrap();
    assert_eq!(mean["theirs"], 20_489_000.0);
    assert!((mean["ours"].as_f64().unwrap() - 20_489_000.0).abs() < 50_000.0);
}

#[test]
fn packets_that_were_lost_were_sent() {
    let scratch = Scratch::new();
    let document = imported(&scratch, &sample("ping-D-O-loss.txt"));
    assert_eq!(document["streams"][0]["lost"], 11);
    let shown = ran(&scratch, "report latest").stdout;
    assert!(shown.contains("55 %"), "{shown}");
}

#[test]
fn a_capture_shows_what_passed_the_interface() {
    let scratch = Scratch::new();
    imported(&scratch, &sample("icmp.pcapng"));
    let shown = in_one_line(&ran(&scratch, "report latest").stdout);
    assert!(
        shown.contains("those of the place where the capture was taken"),
        "{shown}"
    );
}

#[test]
fn a_summary_that_is_not_that_of_its_packets_is_told() {
    let scratch = Scratch::new();
    let wrong = sample_text("ping.txt").replace("/20.489/", "/30.489/");
    let wrong = scratch.file("wrong.txt", &wrong);
    let sentence = "ping says that mean round trip of 10.77.2.1 is 30.5 ms, and the samples in its file \
                    give 20.5 ms";
    let document = imported(&scratch, &wrong);
    let disagreements = document["disagreements"].as_array().unwrap();
    assert!(
        disagreements.iter().any(|it| it["sentence"] == sentence),
        "{disagreements:?}"
    );
    let told = import(&scratch, &wrong, "").stdout;
    assert!(in_one_line(&told).contains(sentence), "{told}");
    // The run keeps it.
    let shown = ran(&scratch, "report latest").stdout;
    assert!(in_one_line(&shown).contains(sentence), "{shown}");
}

#[test]
fn a_file_that_was_cut_short_gives_what_is_whole_and_a_warning() {
    let scratch = Scratch::new();
    let whole = sample_text("ping.txt");
    let cut = scratch.file("cut.txt", &whole[..whole.len() / 2]);
    let document = imported(&scratch, &cut);
    let packets = document["streams"][0]["sent"].as_u64().unwrap();
    assert!((10..40).contains(&packets), "{packets}");
    assert_ne!(document["warnings"], Value::Array(Vec::new()));
}

#[test]
fn standard_input_is_a_file() {
    let scratch = Scratch::new();
    let mut command = delaylab(None);
    command.current_dir(scratch.path(""));
    command.stdin(File::open(sample("ping.txt")).unwrap());
    let ran = Ran::to_end(command.args(["import", "-", "--format", "ping", "-o", "elsewhere"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.starts_with("standard input is output of ping"),
        "{}",
        ran.stdout
    );
    assert!(scratch.path("elsewhere").is_dir());
}

#[test]
fn what_cannot_be_read_is_said_and_leaves_no_run() {
    let scratch = Scratch::new();
    let json = sample_text("irtt.json");
    for (name, content, code, says) in [
        ("empty.txt", "", 2, "empty.txt: the file is empty"),
        (
            "poem.txt",
            "Roses are red.\n",
            2,
            "of no format that can be read; known are:",
        ),
        ("cut.json", &json[..json.len() / 2], 2, "was cut short"),
    ] {
        let file = scratch.file(name, content);
        let ran = import(&scratch, &file, "");
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{name}");
        assert!(ran.stderr.contains(says), "{name}: {}", ran.stderr);
    }
    let ran = import(&scratch, &sample("iperf3-failed.json"), "");
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("iperf3 did not measure"),
        "{}",
        ran.stderr
    );
    let ran = import(&scratch, &scratch.path("nowhere.txt"), "");
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("cannot read"), "{}", ran.stderr);
    assert!(!scratch.path("runs").exists());
}

#[test]
fn the_help_and_the_page_name_every_format() {
    let scratch = Scratch::new();
    let wrong = ran(&scratch, "import x --format nothing");
    assert_eq!(wrong.code, 2);
    let known = wrong.stderr.split_once("[possible values: ").unwrap().1;
    let known = in_one_line(known.split_once(']').unwrap().0);
    let help = in_one_line(&ran(&scratch, "import --help").stdout);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/import.md");
    let page = fs::read_to_string(page).unwrap();
    for name in known.split(", ") {
        assert!(help.contains(name), "{name}: {help}");
        assert!(
            page.contains(&format!("`{name}`")),
            "{name} is not in docs/import.md"
        );
        let sampled = SAMPLES.iter().any(|(_, word, _)| *word == name);
        assert!(sampled, "{name} has no sample");
    }
}
