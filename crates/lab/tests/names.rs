//! Names in findings and figures: which are refused, where, and what is suggested instead.

use delaylab_lab::experiment::catalogue::catalogue;
use delaylab_lab::experiment::{
    Choices, Diagnostic, Diagnostics, Experiment, Source, not_applicable,
};
use delaylab_model::experiment::WorldName;
use delaylab_model::series::KeptSeries;
use delaylab_model::trial::Trial;

/// A factor that one world alone has, one that the short form alone has, and every place where a name may stand.
const NAMES: &str = r#"name = "names"

[[probe]]
name = "echo"
pacing = { wait = "0ms" }
count = 10

[[load]]
name = "ttcp"
kind = "tcp"
streams = 2

[path]
topology = "pairs-on-a-trunk"
pairs = 2
rate = "10Mbit/s"

[path.switch]
discipline = "fifo"
buffer = "100packets"

[sweep]
wait = { set = "probe.echo.pacing.wait", to = ["0ms", "1ms", "100ms"] }
condition = { set = "host.condition", to = ["normal", "quiet"] }

[in.sim.sweep]
latency = { set = "path.switch.latency", to = ["12us", "1ms"] }

[quick.sweep]
size = { set = "probe.echo.ip_size", to = ["64B", "128B", "256B"] }

[[finding]]
id = "1"
says = "known everywhere"
check = "for each condition in [quiet, normal]: sd(response | wait=1000us, probe=echo) > 0"

[[finding]]
id = "2"
says = "known in sim, and in the short form"
check = """mean(response | latency=1000us) > mean(response | latency=12us) \
and slope(min(round_trip | condition=quiet) on size) > 0"""

[[finding]]
id = "3"
says = "over time"
check = "mean(backlog | of='s1→s2') > 0packets and mean(fairness | of=ttcp) > 50 % and mean(cwnd | of='ttcp 1') > 0B"

[[figure]]
id = "size"
title = "Against size"
draw = "delay_against_size"
against = "wait"
where = "condition=normal, probe in [echo]"

[[figure]]
id = "queue"
title = "Queue"
draw = "series"
series = "backlog"
where = "of='s2→s1', wait=0ms"

[[figure]]
id = "table"
title = "Table"
draw = "table"
rows = "condition"
columns = "wait"
values = ["p50(response)", "mean(utilisation | of='s1→s2')"]
printed = { normal = ["1 ms"], quiet = ["2 ms"] }
"#;

fn source(text: &str) -> Source {
    Source {
        name: "test.toml".to_owned(),
        text: text.to_owned(),
    }
}

/// As a host has it that knows the simulation alone.
fn kept(world: WorldName, trial: &Trial) -> Option<Vec<KeptSeries>> {
    match world {
        WorldName::Sim if !delaylab_sim::refusals(trial).is_empty() => None,
        WorldName::Sim => Some(delaylab_sim::kept_series(trial)),
        WorldName::Live | WorldName::Testbed => Some(Vec::new()),
    }
}

/// Reads it and asks for the series that it names, as for a run in this world with these settings.
fn checked(text: &str, world: WorldName, sets: &[(&str, &str)]) -> Result<(), Diagnostics> {
    let experiment = Experiment::read(source(text))?;
    let sets = sets
        .iter()
        .map(|(path, value)| ((*path).to_owned(), (*value).to_owned()));
    let choices = Choices {
        world: Some(world),
        sets: sets.collect(),
        ..Choices::default()
    };
    let run = experiment.resolve(&choices, &|_| Vec::new())?;
    experiment.unknown_series(&run, &kept)
}

/// What is wrong with a file in which one text stands instead of another.
fn wrong(right: &str, wrong: &str) -> Vec<Diagnostic> {
    assert!(NAMES.contains(right), "{right}");
    let text = NAMES.replacen(right, wrong, 1);
    let checked = checked(&text, WorldName::Live, &[]);
    checked.err().map_or_else(Vec::new, |wrong| wrong.list)
}

/// The text above the carets.
fn marked(diagnostic: &Diagnostic) -> String {
    let line = diagnostic.excerpt.chars();
    let line = line.skip(diagnostic.column - 1);
    line.take(diagnostic.width).collect()
}

#[test]
fn names_that_are_known_somewhere_are_fine() {
    for (right, written) in [
        ("name = \"names\"", "name = \"names\""),
        ("wait=1000us", "wait=0"),
        ("wait=1000us", "wait > 0"),
    ] {
        let wrong = wrong(right, written);
        assert!(wrong.is_empty(), "{written}: {wrong:?}");
    }
}

/// A line needs three levels, and steps sixteen sizes, in one form of the file; and a slope has the unit of both.
#[test]
fn a_fit_that_no_run_can_judge_is_refused() {
    let slope = "slope(min(round_trip | condition=quiet) on size) > 0";
    for (right, written, says) in [
        (
            "\"128B\", \"256B\"]",
            "\"128B\"]",
            "a line needs 3 levels of `size`, there are 2",
        ),
        (
            slope,
            "slope(min(round_trip) on size | size <= 128B) > 0",
            "a line needs 3 levels of `size`, there are 2",
        ),
        (
            slope,
            "slope(min(round_trip | size in [64B, 256B]) on size) > 0",
            "a line needs 3 levels of `size`, there are 2",
        ),
        (
            slope,
            "steps(min(round_trip | condition=quiet) on size) > 0",
            "a search for steps needs 16 levels of `size`, there are 3",
        ),
        (
            slope,
            "steps(min(round_trip | condition=quiet) on wait) > 0",
            "steps are of bytes, and `wait` is no size",
        ),
        (
            slope,
            "slope(min(round_trip) on size) > 5us",
            "a number of ns/B is compared with a number of ns",
        ),
        (
            slope,
            "slope(min(round_trip) on size) > 5",
            "a number of ns/B is compared with a plain number",
        ),
    ] {
        let found = wrong(right, written);
        let says =
            |it: &Diagnostic| it.message.contains(says) && ["size", "wait"].contains(&&*marked(it));
        assert!(found.len() == 1 && says(&found[0]), "{written}: {found:?}");
    }
    for right in [
        "slope(min(round_trip) on size) > 5us / 1B",
        "slope(p50(round_trip) on wait) > 5",
    ] {
        assert!(wrong(slope, right).is_empty(), "{right}");
    }
}

/// What is written instead of what; the text that is marked; a part of what is said; a part of the help.
const CASES: &str = r#"
# Measures, statistics and series.
sd(response ; sd(respones ; respones ; no measure ; mean `response`?
sd(response ; sdd(response ; sdd ; no statistic ; mean `sd`?
"p50(response)" ; "p50(reponse)" ; reponse ; no measure ; mean `response`?
"p50(response)" ; "p5O(response)" ; p5O ; no statistic ; mean `p50`?
series = "backlog" ; series = "backlgo" ; "backlgo" ; no series ; mean `backlog`?
series = "backlog" ; series = "response" ; "response" ; no series ; one of
# Factors.
wait=1000us ; wiat=1000us ; wiat ; no factor `wiat` ; mean `wait`?
latency=12us ; speed=12us ; speed ; no factor `speed` ; one of
for each condition ; for each condtion ; condtion ; no factor ; mean `condition`?
on size ; on sise ; sise ; no factor ; mean `size`?
against = "wait" ; against = "wiat" ; "wiat" ; no factor ; mean `wait`?
rows = "condition" ; rows = "conditon" ; "conditon" ; no factor ; mean `condition`?
columns = "wait" ; columns = "wit" ; "wit" ; no factor ; mean `wait`?
"condition=normal, ; "condtion=normal, ; condtion ; no factor ; mean `condition`?
# Levels. The nearest of a quantity is the nearest number.
wait=1000us ; wait=3ms ; 3ms ; `wait` has no level `3ms` ; `1ms`
wait=1000us ; wait=3s ; 3s ; `wait` has no level `3s` ; `100ms`
wait=1000us ; wait=1000B ; 1000B ; `wait` has no level ; one of `0ms`, `1ms`, `100ms`
wait=1000us ; wait!=3ms ; 3ms ; `wait` has no level `3ms` ; `1ms`
wait=1000us ; wait > 1s ; wait ; `wait` has no level > 1s ; `100ms`
wait=1000us ; wait > 2 ; wait ; `wait` has no level > 2 ; one of `0ms`, `1ms`, `100ms`
latency=12us ; latency=13us ; 13us ; `latency` has no level `13us` ; `12us`
[quiet, normal] ; [quiet, norml] ; norml ; no level `norml` ; mean `normal`?
condition=quiet) on ; condition=quite) on ; quite ; no level `quite` ; mean `quiet`?
"condition=normal, ; "condition=nrmal, ; nrmal ; no level ; mean `normal`?
wait=0ms" ; wait=2ms" ; 2ms ; no level `2ms` ; `1ms`
quiet = ["2 ms"] ; quite = ["2 ms"] ; quite ; no level `quite` ; mean `quiet`?
# Probes.
probe=echo ; probe=ecco ; ecco ; no level `ecco` ; mean `echo`?
[echo] ; [ecco] ; ecco ; no level `ecco` ; mean `echo`?
# Ports, loads and their streams.
backlog | of='s1→s2' ; backlog | of='s1→s9' ; 's1→s9' ; no `backlog` ; mean `s1→s2`?
backlog | of='s1→s2' ; backlog | of=ttcp ; ttcp ; no `backlog` ; one of
of=ttcp) ; of=tcp) ; tcp ; no `fairness` ; mean `ttcp`?
of='ttcp 1' ; of='ttcp 3' ; 'ttcp 3' ; no `cwnd` ; mean `ttcp 1`?
of='s2→s1' ; of='s2→s0' ; 's2→s0' ; no series of ; mean `s2→s1`?
utilisation | of='s1→s2' ; utilisation | of='s1→s4' ; 's1→s4' ; no `utilisation` ; `s1→s2`?
# What no world of the experiment keeps.
mean(cwnd | of='ttcp 1') > 0B ; mean(acr) > 0bit/s ; acr ; keeps `acr` ; one of
series = "backlog" ; series = "paused" ; "paused" ; keeps `paused` ; one of
mean(backlog | of ; mean(response | of ; of ; `response` has no factor `of` ; write `probe`
of=ttcp) ; probe=ttcp) ; probe ; `fairness` has no factor `probe` ; write `of`
check = "mean(backlog ; check = "for each probe: mean(backlog ; probe ; has no factor `probe` ; write `of`
for each condition in ; for each of, condition in ; of ; `response` has no factor `of` ; write `probe`
"#;

#[test]
fn every_unknown_name_is_marked_and_the_nearest_is_suggested() {
    let lines = CASES.lines().filter(|line| !line.starts_with('#'));
    let cases = lines.filter(|line| !line.is_empty()).map(|line| {
        let parts: Vec<&str> = line.split(" ; ").collect();
        <[&str; 5]>::try_from(parts).unwrap()
    });
    let mut missed = Vec::new();
    for [right, written, mark, says, help] in cases {
        let found = wrong(right, written);
        let good = |diagnostic: &Diagnostic| {
            let helps = diagnostic.help.as_deref().unwrap_or_default();
            marked(diagnostic) == mark && diagnostic.message.contains(says) && helps.contains(help)
        };
        if found.len() != 1 || !good(&found[0]) {
            let marks: Vec<_> = found.iter().map(marked).collect();
            missed.push(format!("{written}: {marks:?} {found:?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_table_has_two_factors() {
    let found = wrong("columns = \"wait\"", "columns = \"condition\"");
    let says = |it: &Diagnostic| it.message.starts_with("`columns` is the factor of `rows`");
    assert!(found.len() == 1 && says(&found[0]), "{found:?}");
}

#[test]
fn a_whole_section_is_not_set() {
    let found = checked(NAMES, WorldName::Live, &[("probe.echo", "{ count = 5 }")]);
    let found = found.err().map_or_else(Vec::new, |wrong| wrong.list);
    let says = |it: &Diagnostic| it.message == "`probe.echo` is no field but a whole section";
    assert!(found.len() == 1 && says(&found[0]), "{found:?}");
}

#[test]
fn what_another_world_alone_has_does_not_apply_here() {
    let applies = |world| {
        let experiment = Experiment::read(source(NAMES)).unwrap();
        let choices = Choices {
            world: Some(world),
            seed: Some(1),
            ..Choices::default()
        };
        let resolved = experiment.resolve(&choices, &|_| Vec::new()).unwrap();
        let check = |at: usize| &resolved.findings[at].check;
        let why = [0, 1, 2].map(|at| not_applicable(check(at), &resolved, &kept));
        // What a run writes has one world, and is read without complaint.
        checked(&resolved.toml, world, &[]).unwrap();
        why
    };
    let why = |factor: &str| Some(format!("this run has no factor `{factor}`"));
    assert_eq!(applies(WorldName::Sim), [None, why("size"), None]);
    let over_time =
        "the world `testbed` keeps no backlog (what waits in the queue, over time)".to_owned();
    assert_eq!(
        applies(WorldName::Testbed),
        [None, why("latency"), Some(over_time)]
    );
}

/// A testbed keeps backlogs and no drops, and another port than the one that is named.
#[test]
fn what_a_world_does_not_keep_is_known_before_the_run() {
    let backlog = |_: WorldName, _: &Trial| {
        let series = KeptSeries {
            series: "backlog",
            of: "s1→s2".into(),
        };
        Some(vec![series])
    };
    let experiment = Experiment::read(source(NAMES)).unwrap();
    let choices = Choices {
        world: Some(WorldName::Testbed),
        ..Choices::default()
    };
    let run = experiment.resolve(&choices, &|_| Vec::new()).unwrap();
    let why = |check: &str| {
        let check = delaylab_lab::finding::Check::parse(check).unwrap();
        not_applicable(&check, &run, &backlog)
    };
    assert_eq!(why("max(peak_backlog | of='s1→s2') < 5packets"), None);
    let drops = why("mean(backlog) > 0 and mean(drops) < 1packets").unwrap();
    assert!(
        drops.starts_with("the world `testbed` keeps no drops ("),
        "{drops}"
    );
    // What is kept decides.
    let either = "mean(backlog | of='s1→s2') > 0 or mean(drops) < 1packets";
    assert_eq!(why(either), None);
    assert!(why("mean(drops) < 1packets or mean(drops) > 3packets").is_some());
    let port = why("mean(backlog | of='s2→s1') > 0").unwrap();
    assert!(port.contains("(it has s1→s2)"), "{port}");
    assert_eq!(why("max(clock_reads) > 10ms"), None);
    // Its probe is of method icmp, which asks no server.
    let server = why("p50(server) < 1ms and p50(response) < 1s").unwrap();
    assert!(
        server.starts_with("no probe of this run is of a method that has server ("),
        "{server}"
    );
    assert!(why("mean(back_to_back) > 5").is_some());
    assert_eq!(why("p50(server) < 1ms or p50(response) < 1s"), None);
    // A trial that the world cannot honour might have them.
    let check = delaylab_lab::finding::Check::parse("mean(drops) < 1packets").unwrap();
    assert_eq!(not_applicable(&check, &run, &|_, _| None), None);
}

/// As the run judges it: a simulated host has a clock if reading it costs something.
#[test]
fn clock_reads_are_of_hosts_that_read_a_clock() {
    let why = |host: &str| {
        let text = format!("{NAMES}\n[path.host]\n{host}\n");
        let experiment = Experiment::read(source(&text)).unwrap();
        let choices = Choices {
            world: Some(WorldName::Sim),
            ..Choices::default()
        };
        let run = experiment.resolve(&choices, &|_| Vec::new()).unwrap();
        let claim = "share(clock_reads >= 10ms) >= 0.01 %";
        let check = delaylab_lab::finding::Check::parse(claim).unwrap();
        not_applicable(&check, &run, &|_, _| Some(Vec::new()))
    };
    assert_eq!(why("noise = \"linux\""), None);
    assert_eq!(why("clock_read = { cost = \"30ns\" }"), None);
    assert!(why("per_packet = \"10us\"").is_some());
}

#[test]
fn where_no_world_honours_every_trial_series_are_not_judged() {
    let text = NAMES.replacen("of='s1→s2'", "of='s1→s9'", 1);
    assert!(checked(&text, WorldName::Sim, &[]).is_err());
    let experiment = Experiment::read(source(&text)).unwrap();
    let run = experiment
        .resolve(&Choices::default(), &|_| Vec::new())
        .unwrap();
    assert_eq!(experiment.unknown_series(&run, &|_, _| None), Ok(()));
}

#[test]
fn the_trials_of_a_run_count_even_where_the_experiment_does_not_speak_of_them() {
    let text = NAMES.replace("[in.sim.sweep]\n", "");
    assert!(checked(&text, WorldName::Live, &[]).is_err());
    assert_eq!(checked(&text, WorldName::Sim, &[]), Ok(()));
    let third = NAMES.replace("'ttcp 1'", "'ttcp 3'");
    assert!(checked(&third, WorldName::Sim, &[]).is_err());
    let three = [("load.ttcp.streams", "3")];
    assert_eq!(checked(&third, WorldName::Sim, &three), Ok(()));
}

#[test]
fn every_name_of_the_catalogue_is_known() {
    for entry in catalogue() {
        checked(entry.text, WorldName::Sim, &[]).unwrap_or_else(|said| panic!("{said}"));
    }
}
