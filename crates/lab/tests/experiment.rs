//! Experiment files: what is refused and how it is said, and what holds of every plan.

use delaylab_lab::experiment::catalogue::catalogue;
use delaylab_lab::experiment::{Choices, Diagnostics, Experiment, FactorialPlan, Resolved, Source};
use delaylab_lab::finding::Verdict;
use delaylab_model::experiment::WorldName;
use delaylab_model::plan::Plan;
use delaylab_model::probe::Pacing;
use delaylab_model::refusal::Refusal;
use delaylab_model::trial::Trial;
use proptest::prelude::*;
use std::collections::BTreeSet;

const GOOD: &str = r#"name = "good"

[[probe]]
name = "echo"
method = "udp"
ip_size = "64B"
pacing = { wait = "0ms" }
count = 10

[[probe]]
name = "bulk"
method = "tcp"
payload = "4KiB"
count = 10

[[load]]
name = "ttcp"
kind = "tcp"
streams = 0

[path.switch]
discipline = "fifo"

[sweep]
wait = { set = "probe.echo.pacing.wait", to = ["0ms", "1ms", "100ms"] }
condition = { set = "host.condition", to = ["normal", "quiet"] }

[[case]]
name = "idle"

[[case]]
name = "two streams"
set = { "load.ttcp.streams" = 2, "probe.*.class" = "ef" }

[design]
repeats = 2

[in.sim.path.switch]
latency = "12us"

[[finding]]
id = "1"
says = "Waiting raises the jitter"
check = "sd(response | wait=1ms) > sd(response | wait=0ms)"

[quick]
design.repeats = 1

[[figure]]
id = "jitter"
title = "Jitter by wait"
draw = "table"
rows = "wait"
values = ["sd(response)"]
where = "condition=quiet"
"#;

fn source(text: &str) -> Source {
    Source {
        name: "test.toml".to_owned(),
        text: text.to_owned(),
    }
}

fn honours_all(_: &Trial) -> Vec<Refusal> {
    Vec::new()
}

fn resolve(text: &str, choices: &Choices) -> Result<Resolved, Diagnostics> {
    Experiment::read(source(text))?.resolve(choices, &honours_all)
}

fn refusal(text: &str, choices: &Choices, why: &str) -> Diagnostics {
    match resolve(text, choices) {
        Ok(_) => panic!("taken: {why}"),
        Err(said) => said,
    }
}

fn seeded(seed: u64) -> Choices {
    Choices {
        seed: Some(seed),
        ..Choices::default()
    }
}

/// Ways to write it wrong: what is replaced, and by what.
const MALFORMED: &[(&str, &str)] = &[
    // TOML itself.
    ("name = \"good\"", "name = \"good"),
    ("[sweep]", "[sweep"),
    ("count = 10", "count = 10\ncount = 11"),
    ("count = 10", "count = 99999999999999999999"),
    ("count = 10", "count = 2026-11-21"),
    // Names.
    ("name = \"good\"\n", ""),
    ("name = \"good\"", "name = \"../good\""),
    ("name = \"bulk\"", "name = \"echo\""),
    ("name = \"two streams\"", "name = \"idle\""),
    ("name = \"echo\"\n", ""),
    // Keys and choices.
    ("count = 10", "cuont = 10"),
    ("[design]", "[desing]"),
    ("method = \"udp\"", "method = \"upd\""),
    ("discipline = \"fifo\"", "discipline = \"per-cv\""),
    ("[in.sim.path", "[in.mars.path"),
    ("[in.sim.path.switch]", "[in.sim.path.swich]"),
    ("name = \"good\"", "name = \"good\"\nworld = \"moon\""),
    ("[quick]\n", "[quick]\nname = \"short\"\n"),
    // Units.
    ("wait = \"0ms\" }", "wait = 10 }"),
    ("ip_size = \"64B\"", "ip_size = \"64\""),
    ("ip_size = \"64B\"", "ip_size = \"64ms\""),
    ("latency = \"12us\"", "latency = \"12 parsecs\""),
    ("class\" = \"ef\"", "class\" = \"gold\""),
    // What does not go together or into range.
    ("count = 10\n\n[[probe]]", "\n[[probe]]"),
    ("ip_size = \"64B\"", "ip_size = \"20B\""),
    ("ip_size = \"64B\"", "ip_size = \"64B\"\npayload = \"36B\""),
    ("wait = \"0ms\" }", "wait = \"0ms\", every = \"1s\" }"),
    ("count = 10", "count = 10\nwarmup = \"2s\""),
    ("count = 10", "count = 10\nreply_payload = \"1B\""),
    ("method = \"udp\"", "method = \"frame\""),
    ("repeats = 2", "repeats = 0"),
    ("repeats = 2", "repeats = 4000000000"),
    ("repeats = 2", "procedure = \"rfc2544-throughput\""),
    (
        "repeats = 2",
        "repeats = 2\nprocedure = { name = \"throughput\" }",
    ),
    (
        "repeats = 2",
        "stop = { of = \"p50(response | probe=ehco)\", within = \"5%\", at_most = 4 }",
    ),
    ("count = 10", "duration = \"0ms\""),
    ("count = 10", "count = 10.0"),
    // Paths.
    (
        "set = \"probe.echo.pacing.wait\"",
        "set = \"probe.ehco.pacing.wait\"",
    ),
    (
        "set = \"probe.echo.pacing.wait\"",
        "set = \"probe.echo.pacing.wiat\"",
    ),
    (
        "set = \"probe.echo.pacing.wait\"",
        "set = \"probe.echo..wait\"",
    ),
    (
        "set = \"probe.echo.pacing.wait\"",
        "set = \"design.repeats\"",
    ),
    (
        "set = \"probe.echo.pacing.wait\"",
        "set = \"probe.echo.count.most\"",
    ),
    (
        "set = \"probe.echo.pacing.wait\"",
        "set = \"path.node.a.kind\"",
    ),
    ("set = \"host.condition\"", "set = \"probe.*.pacing.wait\""),
    ("set = \"host.condition\"", "set = \"path.target\""),
    // What would be overwritten.
    (
        "\"load.ttcp.streams\" = 2",
        "\"probe.echo.pacing.every\" = \"1ms\"",
    ),
    (
        "\"load.ttcp.streams\" = 2",
        "\"probe.echo.ip_size\" = \"128B\", \"probe.echo.payload\" = \"4B\"",
    ),
    (
        "condition = { set = \"host.condition\", to = [\"normal\", \"quiet\"] }",
        "size = { set = \"probe.*.payload\", to = [\"1B\"] }\nbytes = { set = \"probe.echo.ip_size\", to = [\"64B\"] }",
    ),
    // Levels.
    ("\"1ms\", \"100ms\"", "\"1ms\", 100"),
    ("\"1ms\", \"100ms\"", "\"1ms\", \"1ms\""),
    (
        "\"1ms\", \"100ms\"",
        "{ from = \"1ms\", to = \"9ms\", step = \"1B\" }",
    ),
    ("[\"normal\", \"quiet\"]", "\"quiet\""),
    ("condition = {", "case = {"),
    ("condition = {", "on = {"),
    ("condition = {", "wait_unit = {"),
    (
        "check = \"sd(response | wait=1ms) > sd(response | wait=0ms)\"",
        "",
    ),
    ("sd(response | wait=0ms)", "sd(respones | wait=0ms)"),
    // Figures.
    ("draw = \"table\"", "draw = \"pie\""),
    ("draw = \"table\"", "draw = \"distribution\""),
    ("values = [\"sd(response)\"]", "values = [\"sd(respones)\"]"),
    (
        "values = [\"sd(response)\"]",
        "values = [\"sd(response) > 1ms\"]",
    ),
    ("values = [\"sd(response)\"]\n", ""),
    ("where = \"condition=quiet\"", "where = \"condition quiet\""),
    (
        "where = \"condition=quiet\"",
        "where = \"condition=quiet wait=1ms\"",
    ),
    ("id = \"jitter\"", "id = \"../jitter\""),
];

#[test]
fn what_is_malformed_is_shown_where_it_is_written() {
    assert!(resolve(GOOD, &seeded(1)).is_ok());
    let mut all = String::new();
    for (good, bad) in MALFORMED {
        assert!(GOOD.contains(good), "{good}");
        let text = GOOD.replacen(good, bad, 1);
        let said = refusal(&text, &seeded(1), bad);
        all.push_str(&format!("──── {good:?} → {bad:?}\n{said}\n\n"));
    }
    insta::assert_snapshot!("malformed_files", all);
}

#[test]
fn what_is_set_wrongly_is_shown_where_it_is_written() {
    let mut all = String::new();
    for (path, value) in [
        ("probe.echo.cuont", "5"),
        ("probe.ecko.count", "5"),
        ("probe.echo.ip_size", "64"),
        ("probe.echo.pacing.wait", "5ms"),
        ("world", "sim"),
        ("quick.design.repeats", "7"),
        ("desing.repeats", "7"),
        ("design.repeats", "\"many\""),
        ("", "1"),
        ("probe", "1"),
        ("load.ttcp.streams", "3"),
        ("probe.echo.pacing", "{ every = \"5ms\" }"),
        ("load", "[]"),
    ] {
        let choices = Choices {
            sets: vec![(path.to_owned(), value.to_owned())],
            ..seeded(1)
        };
        let said = refusal(GOOD, &choices, path);
        all.push_str(&format!("{said}\n\n"));
    }
    insta::assert_snapshot!("malformed_sets", all);
}

#[test]
fn every_mistake_of_a_file_is_shown_at_once() {
    let text = GOOD
        .replacen("count = 10", "cuont = 10", 1)
        .replacen("\"fifo\"", "\"lifo\"", 1)
        .replacen("repeats = 2", "repeats = \"twice\"", 1);
    let said = Experiment::read(source(&text)).unwrap_err();
    let lines: Vec<_> = said.list.iter().map(|diagnostic| diagnostic.line).collect();
    assert_eq!(lines, [8, 22, 36], "{said}");
}

#[test]
fn the_plan_is_every_combination_as_often_as_asked() {
    let resolved = resolve(GOOD, &seeded(1)).unwrap();
    let names = resolved.factors.iter().map(|(name, _)| name);
    assert!(names.eq(["case", "wait", "condition"]));
    let labels = resolved.factors[0].1.iter().map(|level| &level.label);
    assert!(labels.eq(["idle", "two streams"]));
    assert_eq!(resolved.planned.len(), 2 * 3 * 2 * 2);
    let combinations: BTreeSet<_> = resolved
        .planned
        .iter()
        .map(|planned| {
            let labels = planned.factors.iter().map(|(_, level)| level.label.clone());
            (labels.collect::<Vec<_>>(), planned.repeat)
        })
        .collect();
    assert_eq!(combinations.len(), resolved.planned.len());
    let ids: Vec<_> = resolved
        .planned
        .iter()
        .map(|planned| planned.trial.id)
        .collect();
    assert_eq!(ids, (0..24).collect::<Vec<_>>());
    // A repeat is over before the next begins.
    assert!(resolved.planned.is_sorted_by_key(|planned| planned.repeat));
    for planned in &resolved.planned {
        let streams = planned.trial.loads[0].streams;
        let ef = planned
            .trial
            .probes
            .iter()
            .all(|probe| probe.dscp.to_string() == "ef");
        match planned.factors[0].1.label.as_str() {
            "idle" => assert!(streams == 0 && !ef),
            _ => assert!(streams == 2 && ef),
        }
    }
}

/// The same for every combination of a repeat, and another in each repeat.
#[test]
fn a_random_stagger_is_drawn_for_each_repeat() {
    let load = "kind = \"tcp\"\nstreams = 0\n";
    let between = |from: &str, to: &str| {
        let given = format!("{load}stagger = \"{from}\"\nstagger_to = \"{to}\"\n");
        resolve(&GOOD.replace(load, &given), &seeded(1))
    };
    let resolved = between("100ms", "200ms").unwrap();
    let drawn = resolved.planned.iter().map(|planned| {
        let load = &planned.trial.loads[0];
        assert_eq!(load.stagger_to, None);
        (planned.repeat, load.stagger.unwrap().0)
    });
    let drawn: BTreeSet<_> = drawn.collect();
    let staggers: BTreeSet<_> = drawn.iter().map(|(_, stagger)| *stagger).collect();
    assert_eq!((drawn.len(), staggers.len()), (2, 2));
    assert!(
        staggers
            .iter()
            .all(|stagger| (100_000_000..=200_000_000).contains(stagger))
    );
    let said = between("100ms", "50ms").unwrap_err().to_string();
    assert!(said.contains("stagger_to"), "{said}");
}

#[test]
fn what_a_world_has_instead_is_laid_over() {
    let sim = Choices {
        world: Some(WorldName::Sim),
        ..seeded(1)
    };
    let live = resolve(GOOD, &seeded(1)).unwrap();
    let sim = resolve(GOOD, &sim).unwrap();
    let latency = |resolved: &Resolved| {
        resolved.planned[0]
            .trial
            .path
            .switch
            .clone()
            .unwrap()
            .latency
    };
    assert_eq!(latency(&live), None);
    assert_eq!(latency(&sim), Some("12us".parse().unwrap()));
}

#[test]
fn cases_of_a_world_replace_the_others() {
    let text = format!("{GOOD}\n[[in.sim.case]]\nname = \"alone\"\n");
    let sim = Choices {
        world: Some(WorldName::Sim),
        ..seeded(1)
    };
    assert_eq!(resolve(&text, &seeded(1)).unwrap().planned.len(), 24);
    assert_eq!(resolve(&text, &sim).unwrap().planned.len(), 12);
}

#[test]
fn the_short_form_and_settings_are_laid_over() {
    let choices = Choices {
        quick: true,
        sets: vec![
            ("probe.echo.payload".to_owned(), "100B".to_owned()),
            ("sweep.wait.to".to_owned(), r#"["2ms"]"#.to_owned()),
            ("probe.*.timeout".to_owned(), "3s".to_owned()),
        ],
        target: Some("192.0.2.1".to_owned()),
        ..seeded(1)
    };
    let resolved = resolve(GOOD, &choices).unwrap();
    assert!(resolved.quick);
    assert_eq!(resolved.planned.len(), 4);
    assert_eq!(resolved.target.as_deref(), Some("192.0.2.1"));
    let probes = &resolved.planned[0].trial.probes;
    // Instead of the IP packet's size.
    assert_eq!(probes[0].payload, 100);
    assert!(probes.iter().all(|probe| probe.timeout == 3_000_000_000));
}

#[test]
fn an_ip_packet_holds_less_over_ipv6() {
    let v6 = Choices {
        v6: true,
        ..seeded(1)
    };
    let payload =
        |choices: &Choices| resolve(GOOD, choices).unwrap().planned[0].trial.probes[0].payload;
    assert_eq!(payload(&seeded(1)), 64 - 28);
    assert_eq!(payload(&v6), 64 - 48);
}

#[test]
fn a_warm_up_is_a_count_of_packets() {
    let with = |pacing: &str, warmup: &str| {
        let text = GOOD
            .replacen(
                "wait = \"0ms\" }",
                &format!("{pacing} }}\nwarmup = {warmup}"),
                1,
            )
            .replacen(
                "set = \"probe.echo.pacing.wait\"",
                "set = \"probe.bulk.pacing.wait\"",
                1,
            );
        let resolved = resolve(&text, &seeded(1));
        resolved.unwrap_or_else(|said| panic!("{said}")).planned[0]
            .trial
            .probes[0]
            .warmup
    };
    assert_eq!(with("every = \"10ms\"", "7"), 7);
    assert_eq!(with("every = \"10ms\"", "\"45ms\""), 5);
    assert_eq!(with("every = \"20ms\", burst = 3", "\"40ms\""), 6);
}

#[test]
fn a_warm_up_leaves_something_of_a_duration() {
    let text = GOOD
        .replacen("wait = \"0ms\" }", "every = \"200ms\" }\nwarmup = 10", 1)
        .replacen("count = 10", "duration = \"1s\"", 1)
        .replacen(
            "set = \"probe.echo.pacing.wait\"",
            "set = \"probe.bulk.pacing.wait\"",
            1,
        );
    for text in [
        &text,
        &text.replacen("duration =", "count = 100\nduration =", 1),
    ] {
        let said = resolve(text, &seeded(1)).unwrap_err().to_string();
        assert!(said.contains("10 of 5 packets are left out"), "{said}");
    }
}

/// A probe of this URL.
fn page(name: &str, url: &str) -> String {
    format!(
        "\n[[probe]]\nname = \"{name}\"\nmethod = \"http\"\nurl = \"{url}\"\nhttp = 2\ncount = 1\n"
    )
}

#[test]
fn the_requests_of_a_run_go_to_one_host() {
    let (one, other) = (page("a", "http://a.test/"), page("b", "http://b.test/"));
    let fresh = format!("name = \"pages\"\n{other}fresh = true\n{one}");
    let resolved = resolve(&fresh, &seeded(1)).unwrap();
    assert_eq!(resolved.target.as_deref(), Some("a.test"));
    let two = format!("name = \"pages\"\n{one}{other}");
    let said = refusal(&two, &seeded(1), "two hosts").to_string();
    assert!(said.contains("these to `a.test` and `b.test`"), "{said}");
    let aimed = Choices {
        target: Some("192.0.2.1".to_owned()),
        ..seeded(1)
    };
    assert!(resolve(&two, &aimed).is_ok());
}

#[test]
fn a_short_form_is_of_its_world() {
    let text = GOOD.replacen("[quick]", "[in.sim.quick]", 1);
    let quick = |world| Choices {
        quick: true,
        world: Some(world),
        ..seeded(1)
    };
    assert!(resolve(&text, &quick(WorldName::Sim)).unwrap().quick);
    let said = refusal(&text, &quick(WorldName::Live), "no short form").to_string();
    assert!(said.contains("no short form in world live"), "{said}");
}

#[test]
fn a_star_that_matches_nothing_is_refused() {
    let text = GOOD.replacen("load.ttcp.streams", "load.*.streams", 1);
    let none = Choices {
        sets: vec![("load".to_owned(), "[]".to_owned())],
        ..seeded(1)
    };
    let said = refusal(&text, &none, "no loads").to_string();
    assert!(said.contains("`*` matches nothing in `load`"), "{said}");
}

#[test]
fn what_is_to_be_built_is_told_from_where_to_go() {
    let text = GOOD.replacen(
        "[path.switch]",
        "[path]\ntarget = \"192.0.2.1\"\n[path.switch]",
        1,
    );
    let resolved = resolve(&text, &seeded(1)).unwrap();
    assert_eq!(resolved.planned[0].trial.path.to_be_built(), ["switch"]);
}

#[test]
fn the_schedule_says_how_long_it_takes() {
    let resolved = resolve(GOOD, &seeded(1)).unwrap();
    // Beside echo in closed loop, bulk sends ten a second apart.
    let trials = resolved.planned.len() as i64;
    assert_eq!(resolved.estimate().length, trials * 10 * 1_000_000_000);
    assert!(resolved.estimate().at_least);
    let text = GOOD.replacen("streams = 0", "streams = 1\nlead = \"2s\"", 1);
    let after = |world| {
        let choices = Choices {
            world: Some(world),
            ..seeded(1)
        };
        resolve(&text, &choices).unwrap().estimate().length / trials
    };
    assert_eq!(after(WorldName::Live), 12_000_000_000);
    assert_eq!(after(WorldName::Sim), 10_000_000_000);
}

#[test]
fn a_case_that_the_world_refuses_is_skipped() {
    let no_loads = |trial: &Trial| match trial.loads[0].streams {
        0 => Vec::new(),
        _ => vec![Refusal::new("load.ttcp", "nobody sends it")],
    };
    let experiment = Experiment::read(source(GOOD)).unwrap();
    let resolved = experiment.resolve(&seeded(1), &no_loads).unwrap();
    assert_eq!(resolved.planned.len(), 12);
    assert_eq!(resolved.skipped.len(), 1);
    assert_eq!(resolved.skipped[0].case, "two streams");
    assert_eq!(resolved.skipped[0].refusals[0].field, "load.ttcp");
    // The text of the run resolves to the same trials: the case is skipped again.
    let again = Experiment::read(source(&resolved.toml)).unwrap();
    let again = again.resolve(&Choices::default(), &no_loads).unwrap();
    assert_eq!(again.planned, resolved.planned);
}

/// A run of an older version, whose file has a claim that is refused today, is read all the same; what is typed is not.
#[test]
fn a_finding_that_is_no_longer_read_does_not_hide_its_run() {
    let resolved = Experiment::read(source(GOOD)).unwrap();
    let resolved = resolved.resolve(&seeded(1), &honours_all).unwrap();
    let bounds = "sd(response | wait=1ms) > sd(response | wait=0ms)";
    let older = resolved
        .toml
        .replace(bounds, "mean(response) ≈ 0ms within 5 %");
    assert_ne!(older, resolved.toml);
    let said = Experiment::read(source(&older)).unwrap_err();
    assert!(said.list[0].message.contains("a share of 0 is 0"), "{said}");

    let recorded = Experiment::read_recorded(source(&older)).unwrap();
    let again = recorded.resolve(&Choices::default(), &honours_all).unwrap();
    assert_eq!(again.planned, resolved.planned);
    assert_eq!(again.toml, older);
    assert_eq!(again.findings.len() + 1, resolved.findings.len());
    let [unread] = again.unread.as_slice() else {
        panic!("{:?}", again.unread)
    };
    assert_eq!(
        (unread.id.as_str(), unread.verdict),
        ("1", Verdict::NotApplicable)
    );
    assert!(
        unread.reason.contains("a share of 0 is 0"),
        "{}",
        unread.reason
    );
    assert!(resolved.unread.is_empty());
    // Anything else that is wrong with it is still an error.
    let broken = older.replace("\"udp\"", "\"carrier pigeon\"");
    assert!(Experiment::read_recorded(source(&broken)).is_err());
}

#[test]
fn what_the_world_refuses_of_the_rest_refuses_the_run() {
    let no_echo = |_: &Trial| {
        vec![Refusal::new(
            "probe.echo.payload",
            "too large for this world",
        )]
    };
    let experiment = Experiment::read(source(GOOD)).unwrap();
    let said = experiment.resolve(&seeded(1), &no_echo).unwrap_err();
    assert_eq!(said.list.len(), 1);
    // Where its size is written, by whichever of its names.
    assert_eq!(
        (said.list[0].line, said.list[0].excerpt.as_str()),
        (6, "ip_size = \"64B\"")
    );
}

/// Of a replay of this file.
fn replay_of(file: &str) -> String {
    format!(
        "name = \"replay\"\n[[probe]]\nname = \"echo\"\ncount = 10\npacing = {{ every = \"1ms\" }}\n\
         [[load]]\nname = \"bulk\"\nkind = \"replay\"\nfile = \"{file}\"\n"
    )
}

#[test]
fn worlds_get_the_packets_of_a_replay() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.csv");
    std::fs::write(&file, "time,size\n1ms,100B\n").unwrap();
    let text = replay_of(&file.display().to_string());
    let resolved = resolve(&text, &seeded(1)).unwrap();
    let packets = resolved.planned[0].trial.loads[0].trace.as_deref();
    let first = packets.and_then(|packets| packets.first()).unwrap();
    assert_eq!((first.at, first.bytes), (1_000_000_000, 100));
}

#[test]
fn a_replay_of_another_file_is_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.csv");
    std::fs::write(&file, "1ms,100B\n").unwrap();
    let begun = resolve(&replay_of(&file.display().to_string()), &seeded(1)).unwrap();
    let again = resolve(&begun.toml, &Choices::default()).unwrap();
    assert_eq!(again.toml, begun.toml);
    std::fs::write(&file, "1ms,200B\n").unwrap();
    let experiment = Experiment::read_recorded(source(&begun.toml)).unwrap();
    let said = experiment.resolve(&Choices::default(), &|_| Vec::new());
    let said = said.unwrap_err().to_string();
    assert!(
        said.contains("is not the file that this run began with"),
        "{said}"
    );
}

#[test]
fn a_file_that_cannot_be_replayed_is_named_where_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = folder.path().join("wrong.csv");
    std::fs::write(&wrong, "time,size\n1ms,100B\n2ms\n").unwrap();
    let wrong = wrong.display().to_string();
    // A world that asks which file it is adds nothing.
    let asks = |trial: &Trial| {
        let empty = trial.loads.iter().filter(|load| load.trace.is_none());
        let refusals = empty.map(|load| Refusal::new(format!("load.{}.file", load.name), "which?"));
        refusals.collect::<Vec<_>>()
    };
    for (file, why) in [
        ("/no/such/file", "cannot read /no/such/file: ".to_owned()),
        ("/dev/zero", "/dev/zero is not a regular file".to_owned()),
        (&wrong, format!("{wrong}: line 3: write `time,size`")),
    ] {
        let experiment = Experiment::read(source(&replay_of(file))).unwrap();
        let said = experiment.resolve(&seeded(1), &asks).unwrap_err();
        assert_eq!(said.list.len(), 1, "{said}");
        assert!(said.list[0].excerpt.contains(file), "{said}");
        assert!(said.to_string().contains(&why), "{said}");
    }
}

/// Of a file without a path nothing of a path can be pointed at: its end is where one is added.
#[test]
fn a_path_that_is_missing_is_missing_at_the_end() {
    let no_path = |_: &Trial| vec![Refusal::new("path.topology", "give a topology")];
    let text =
        "name = \"bare\"\n\n[[probe]]\nname = \"echo\"\ncount = 10\npacing = { every = \"1ms\" }";
    let experiment = Experiment::read(source(text)).unwrap();
    let said = experiment.resolve(&seeded(1), &no_path).unwrap_err();
    assert_eq!(said.list.len(), 1);
    let found = &said.list[0];
    assert_eq!(
        (found.line, found.message.as_str()),
        (6, "`[path]` is missing")
    );
}

#[test]
fn a_plan_hands_out_what_is_not_done_yet() {
    let planned = resolve(GOOD, &seeded(1)).unwrap().planned;
    let done: BTreeSet<u32> = [0, 1, 5].into();
    let mut plan: FactorialPlan<()> = FactorialPlan::new(planned.clone(), &done, 2);
    let mut seen = Vec::new();
    assert_eq!(plan.remaining().map(|left| left.trials), Some(21));
    loop {
        let next = plan.next_trials();
        assert!(next.len() <= 2);
        if next.is_empty() {
            break;
        }
        // No more while they are under way.
        assert!(next.len() < 2 || plan.next_trials().is_empty());
        for planned in next {
            plan.observe(&planned, &());
            seen.push(planned.trial.id);
        }
    }
    let expected: Vec<_> = (0..24).filter(|id| !done.contains(id)).collect();
    assert_eq!(seen, expected);
    assert_eq!(plan.remaining(), Some(Default::default()));
}

#[test]
fn each_of_the_catalogue_resolves_in_each_of_its_worlds() {
    for entry in catalogue() {
        let experiment = Experiment::read(entry.source()).unwrap_or_else(|said| panic!("{said}"));
        assert_eq!(experiment.name(), entry.name());
        assert!(!experiment.title().is_empty() && !experiment.about().is_empty());
        for world in experiment.worlds() {
            for quick in [false, true] {
                let choices = Choices {
                    world: Some(world),
                    quick,
                    ..seeded(1)
                };
                let resolved = experiment
                    .resolve(&choices, &honours_all)
                    .unwrap_or_else(|said| panic!("{said}"));
                assert!(!resolved.planned.is_empty());
                let length = resolved.estimate().length;
                assert!(
                    !quick || world != WorldName::Live || length < 30_000_000_000,
                    "{length}"
                );
            }
        }
    }
}

#[test]
fn what_the_catalogue_simulates_can_be_simulated() {
    for entry in catalogue() {
        let experiment = Experiment::read(entry.source()).unwrap_or_else(|said| panic!("{said}"));
        for quick in [false, true] {
            let choices = Choices {
                world: Some(WorldName::Sim),
                quick,
                ..seeded(1)
            };
            if !experiment.worlds().contains(&WorldName::Sim) {
                continue;
            }
            let resolved = experiment.resolve(&choices, &honours_all).unwrap();
            let once = resolved
                .planned
                .iter()
                .filter(|planned| planned.repeat == 0);
            for planned in once {
                let (name, trial) = (entry.name(), &planned.trial);
                assert_eq!(delaylab_sim::refusals(trial), [], "{name}");
            }
        }
    }
}

/// Mostly the short one: those of the catalogue make many trials each.
fn any_text() -> impl Strategy<Value = &'static str> {
    let long = prop::sample::select(vec![catalogue()[0].text, catalogue()[1].text]);
    prop_oneof![5 => Just(GOOD), 2 => long]
}

fn any_choices() -> impl Strategy<Value = Choices> {
    let parts = (any::<bool>(), any::<bool>(), any::<u64>());
    parts.prop_map(|(quick, sim, drawn_seed)| Choices {
        world: sim.then_some(WorldName::Sim),
        quick,
        drawn_seed,
        sets: vec![("probe.*.timeout".to_owned(), "2.5s".to_owned())],
        target: Some("a \"host\"\\\n".to_owned()),
        ..Choices::default()
    })
}

fn means_a_plan(text: &str, seed: u64) -> Result<(), TestCaseError> {
    let one = resolve(text, &seeded(seed)).unwrap();
    let same = resolve(text, &seeded(seed)).unwrap();
    prop_assert_eq!(&one.planned, &same.planned);
    let other = resolve(text, &seeded(seed ^ 1)).unwrap();
    let order = |resolved: &Resolved| -> Vec<_> {
        let planned = resolved.planned.iter();
        planned.map(|planned| planned.factors.clone()).collect()
    };
    prop_assert_ne!(order(&one), order(&other));
    Ok(())
}

fn resolves_to_the_same(text: &str, choices: &Choices) -> Result<(), TestCaseError> {
    let once = resolve(text, choices).unwrap();
    let again = resolve(&once.toml, &Choices::default()).unwrap();
    prop_assert_eq!(&once.toml, &again.toml);
    prop_assert_eq!(&once.planned, &again.planned);
    prop_assert_eq!(&once.factors, &again.factors);
    let chosen = |resolved: &Resolved| (resolved.world, resolved.seed, resolved.quick);
    prop_assert_eq!(chosen(&once), chosen(&again));
    let claims = |resolved: &Resolved| -> Vec<_> {
        let findings = resolved.findings.iter();
        findings
            .map(|finding| (finding.id.clone(), finding.check.clone()))
            .collect()
    };
    prop_assert_eq!(claims(&once), claims(&again));
    prop_assert_eq!(once.target, again.target);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_seed_means_a_plan(text in any_text(), seed in 0..=i64::MAX as u64) {
        means_a_plan(text, seed)?;
    }

    #[test]
    fn what_is_resolved_resolves_to_the_same(text in any_text(), choices in any_choices()) {
        resolves_to_the_same(text, &choices)?;
    }
}

/// Two ports that offer the same load of the same frames.
const PORTS: &str = r#"name = "ports"
world = "sim"

[[probe]]
name = "a"
method = "frame"
from = "a1"
to = "b1"
frame_size = "512B"
pacing = { load = "50%" }
duration = "100ms"
phase = "random"
clock_tolerance = "100ppm"

[[probe]]
name = "b"
method = "frame"
from = "a2"
to = "b1"
frame_size = "512B"
pacing = { load = "50%" }
duration = "100ms"
phase = "random"
clock_tolerance = "100ppm"

[path]
topology = "many-to-one"
senders = 2
rate = "10Mbit/s"

[design]
repeats = 40
"#;

/// Where each stream of frames begins, and its interval.
fn ports(text: &str) -> Vec<(i64, u64)> {
    let trials = resolve(text, &Choices::default())
        .unwrap()
        .planned
        .into_iter();
    let probes = trials.flat_map(|planned| planned.trial.probes);
    let streams = probes.filter_map(|probe| match (probe.frames, probe.pacing) {
        (Some(frames), Pacing::Frames { interval_ps }) => Some((frames.start, interval_ps)),
        _ => None,
    });
    streams.collect()
}

#[test]
fn ports_draw_their_phases_and_clocks_in_each_trial() {
    let nominal = 851_200_000.0;
    let drawn = ports(PORTS);
    assert_eq!(drawn.len(), 80);
    let phases = drawn.iter().map(|(start, _)| *start as f64 * 1e3 / nominal);
    let errors = drawn
        .iter()
        .map(|(_, ps)| 1e6 * (nominal / *ps as f64 - 1.0));
    let phases: Vec<f64> = phases.collect();
    assert!(phases.iter().all(|phase| (0.0..1.0).contains(phase)));
    // Five standard deviations of the mean of 80 that are evenly spread.
    let mean = phases.iter().sum::<f64>() / 80.0;
    assert!((mean - 0.5).abs() < 5.0 * 0.29 / 80_f64.sqrt(), "{mean}");
    let first = phases.chunks(2).filter(|ports| ports[0] < ports[1]).count();
    assert!((5..=35).contains(&first), "a is first in {first} of 40");
    let errors: Vec<f64> = errors.collect();
    assert!(errors.iter().all(|error| error.abs() <= 100.01));
    let fast = errors.iter().filter(|error| **error > 0.0).count();
    assert!((18..=62).contains(&fast), "{fast} of 80 are fast");
    assert_eq!(drawn, ports(PORTS), "the same seed draws the same");
}

#[test]
fn ports_of_which_nothing_is_said_begin_together_and_run_as_they_should() {
    let plain = PORTS.replace("phase = \"random\"\n", "");
    let plain = plain.replace("clock_tolerance = \"100ppm\"\n", "");
    assert!(ports(&plain).iter().all(|port| *port == (0, 851_200_000)));
    let fixed = PORTS.replace("\"random\"", "\"fixed\"");
    assert!(ports(&fixed).iter().all(|(start, _)| *start == 0));
}

#[test]
fn what_draws_phases_in_vain_is_refused() {
    let procedure = PORTS.replace("repeats = 40", "procedure.name = \"throughput\"");
    let refused = [
        (procedure, "leave `phase` and `clock_tolerance` out"),
        (PORTS.replace("100ppm", "1%"), "at most 1000ppm"),
        (
            PORTS.replace("method = \"frame\"", "method = \"udp\""),
            "for method frame",
        ),
    ];
    for (text, expected) in refused {
        let said = refusal(&text, &Choices::default(), expected).to_string();
        assert!(said.contains(expected), "{said}");
    }
}

/// Said before a run begins, and not of one that was recorded.
#[test]
fn a_procedure_whose_first_trials_have_too_many_frames_is_refused() {
    let plain = PORTS.replace("phase = \"random\"\n", "");
    let plain = plain.replace("clock_tolerance = \"100ppm\"\n", "");
    let lasts = |trial: &str| {
        let procedure = format!("procedure = {{ name = \"throughput\", trial = \"{trial}\" }}");
        plain.replace("repeats = 40", &procedure)
    };
    let said = refusal(&lasts("1h"), &Choices::default(), "1h").to_string();
    assert!(said.contains("make design.procedure.trial"), "{said}");
    resolve(&lasts("10min"), &Choices::default()).unwrap();
}

/// As `PORTS`, with this procedure in place of repeats.
fn with_procedure(procedure: &str) -> String {
    let plain = PORTS.replace("phase = \"random\"\n", "");
    let plain = plain.replace("clock_tolerance = \"100ppm\"\n", "");
    plain.replace("repeats = 40", &format!("procedure = {{ {procedure} }}"))
}

/// `check` would else take what `run` refuses once its world is built.
#[test]
fn a_procedure_that_cannot_begin_is_refused_where_it_is_written() {
    for (procedure, expected, underlined) in [
        (
            "name = \"througput\"",
            "there is no procedure",
            "\"througput\"",
        ),
        (
            "name = \"throughput\", sizes = [\"60B\"]",
            "no frame of 60 B",
            "[\"60B\"]",
        ),
        (
            "name = \"throughput\", resolution = \"0%\"",
            "resolution is out of range",
            "\"0%\"",
        ),
    ] {
        let said = refusal(&with_procedure(procedure), &Choices::default(), procedure);
        let problem = &said.list[0];
        assert!(problem.message.contains(expected), "{said}");
        let marked: String = problem
            .excerpt
            .chars()
            .skip(problem.column - 1)
            .take(problem.width)
            .collect();
        assert_eq!(marked, underlined, "{said}");
    }
}

#[test]
fn a_procedure_takes_as_long_as_the_trials_that_it_chooses() {
    let procedure = "name = \"throughput\", trial = \"1s\", sizes = [\"64B\"]";
    let resolved = resolve(&with_procedure(procedure), &Choices::default()).unwrap();
    assert_eq!(resolved.planned.len(), 1, "the pattern of its trials");
    let expected = resolved.expected_of_procedure().unwrap();
    assert!(expected.trials > 1, "{expected:?}");
    let length = resolved.estimate().length;
    assert_eq!(length, expected.expected);
    assert!(length > expected.trials as i64 * 1_000_000_000, "{length}");
}

#[test]
fn probes_of_which_a_procedure_knows_nothing_are_refused() {
    let text = with_procedure("name = \"throughput\"");
    let ping = "[[probe]]\nname = \"ping\"\nmethod = \"icmp\"\ncount = 10\n\n[path]";
    let said = refusal(
        &text.replacen("[path]", ping, 1),
        &Choices::default(),
        "ping",
    )
    .to_string();
    assert!(said.contains("a procedure sends frames alone"), "{said}");
}

/// RFC 2544, section 23: what a device still holds has two seconds to come.
#[test]
fn a_trial_of_frames_ends_when_the_last_have_had_their_time() {
    let length = |text: &str| {
        let resolved = resolve(text, &Choices::default()).unwrap();
        resolved.estimate().length / resolved.planned.len() as i64
    };
    let waits = |timeout: &str| {
        PORTS.replace(
            "method = \"frame\"",
            &format!("method = \"frame\"\ntimeout = \"{timeout}\""),
        )
    };
    assert_eq!(length(&waits("5s")) - length(PORTS), 3_000_000_000);
}

#[test]
fn what_a_world_says_for_its_short_form_replaces_as_anywhere() {
    let short = "design.repeats = 1
[[quick.probe]]
name = \"echo\"
pacing = { poisson = \"10ms\" }
[[in.sim.quick.probe]]
name = \"echo\"
pacing = { every = \"1ms\" }
[[in.sim.quick.case]]
name = \"alone\"
";
    let text = GOOD.replacen("design.repeats = 1\n", short, 1);
    let waits = "wait = { set = \"probe.echo.pacing.wait\", to = [\"0ms\", \"1ms\", \"100ms\"] }\n";
    let text = text
        .replace(waits, "")
        .replace("rows = \"wait\"", "rows = \"condition\"");
    let text = text.replace("where = \"condition=quiet\"\n", "");
    let text = text.replace(
        "sd(response | wait=1ms) > sd(response | wait=0ms)",
        "sd(response) > 0s",
    );
    let quick = Choices {
        world: Some(WorldName::Sim),
        quick: true,
        ..seeded(1)
    };
    let resolved = resolve(&text, &quick).unwrap();
    let pacing = resolved.planned[0].trial.probes[0].pacing;
    assert_eq!(
        pacing,
        Pacing::Every {
            interval_ns: 1_000_000
        }
    );
    let (factor, cases) = &resolved.factors[0];
    let cases: Vec<_> = cases.iter().map(|level| level.label.as_str()).collect();
    assert_eq!((factor.as_str(), cases), ("case", vec!["alone"]));
}

#[test]
fn a_factor_without_levels_is_taken_away() {
    let text = GOOD.to_owned() + "\n[in.sim.sweep]\ncondition.to = []\n";
    let text = text.replace("where = \"condition=quiet\"\n", "");
    let names = |world| {
        let choices = Choices {
            world: Some(world),
            ..seeded(1)
        };
        let factors = resolve(&text, &choices).unwrap().factors;
        factors
            .into_iter()
            .map(|(name, _)| name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(WorldName::Testbed), ["case", "wait", "condition"]);
    assert_eq!(names(WorldName::Sim), ["case", "wait"]);
}

/// The same of more of the catalogue's, in `make test-all`.
mod long {
    use super::*;

    fn text_of_the_catalogue() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![catalogue()[0].text, catalogue()[1].text])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn a_seed_means_a_plan_of_the_catalogue(text in text_of_the_catalogue(), seed in 0..=i64::MAX as u64) {
            means_a_plan(text, seed)?;
        }

        #[test]
        fn what_is_resolved_of_the_catalogue_resolves_to_the_same(
            text in text_of_the_catalogue(),
            choices in any_choices(),
        ) {
            resolves_to_the_same(text, &choices)?;
        }
    }
}
