//! What else differs between two runs: where they ran, and what was set. Any of these may have caused a shift.

use delaylab_stats::remarks::Remarked;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Where and how a run was made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Circumstances {
    /// `live`, `testbed` or `sim`.
    pub world: String,
    /// `environment.json`.
    pub environment: Value,
    /// `experiment.toml` as a tree.
    pub experiment: Value,
    /// The states that the host was put in.
    pub conditions: Vec<String>,
    /// Classes that were re-marked on the way; `None` where no packet says in which class it arrived.
    pub remarked: Option<Vec<Remarked>>,
}

/// Something that is not the same in both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// What: `kernel`, or the path of a setting.
    pub what: String,
    /// In A; null where it has none.
    pub a: Option<String>,
    /// In B; null where it has none.
    pub b: Option<String>,
}

/// Facts of `environment.json` that delays depend on, and what they are called. Those of the host do not
/// matter to a simulation.
const FACTS: [(&str, &str); 8] = [
    ("/host/kernel", "kernel"),
    ("/host/cpu_model", "CPU"),
    ("/host/cpus", "CPUs"),
    ("/host/virtualised", "virtual machine"),
    ("/host/clock_source", "clock source"),
    ("/target", "target"),
    ("/imported/round_trip", "what round trips are"),
    ("/delaylab", "delaylab"),
];

/// Parts of the experiment that change nothing that is measured, and its world, which `--world` replaces.
const NO_SETTINGS: [&str; 5] = ["title", "about", "finding", "figure", "world"];

/// Settings that say what is said once more in other words.
const SAID_AS: [(&str, &str); 2] = [
    ("host.condition", "host condition"),
    ("path.target", "target"),
];

impl Circumstances {
    /// Was it made of what another tool measured? Then there is no schedule but the times of the packets.
    pub fn is_imported(&self) -> bool {
        self.environment["imported"].is_object()
    }
}

/// What is not the same in A and in B, the world and the host first.
pub fn differences(a: &Circumstances, b: &Circumstances) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut compare = |what: &str, a, b| found.extend(difference(what, a, b));
    compare("world", Some(a.world.clone()), Some(b.world.clone()));
    compare("host condition", conditions(a), conditions(b));
    if let Some([in_a, in_b]) = remarked(a, b) {
        compare("marks (DSCP) on the way", Some(in_a), Some(in_b));
    }
    let simulated = [a, b].iter().all(|side| side.world == "sim");
    for (pointer, name) in FACTS {
        if !(simulated && pointer.starts_with("/host")) {
            let fact = |side: &Circumstances| side.environment.pointer(pointer).and_then(word);
            compare(name, fact(a), fact(b));
        }
    }
    let [mut in_a, mut in_b] = [a, b].map(settings);
    let is_said = |of: &str| found.iter().any(|difference| difference.what == of);
    let mut names: Vec<String> = in_a.keys().chain(in_b.keys()).cloned().collect();
    names.retain(|name| {
        !SAID_AS
            .iter()
            .any(|(setting, of)| name == setting && is_said(of))
    });
    for name in names {
        // One that was seen is gone from both.
        let (a, b) = (in_a.remove(&name), in_b.remove(&name));
        found.extend(difference(&name, a, b));
    }
    found
}

fn difference(what: &str, a: Option<String>, b: Option<String>) -> Option<Difference> {
    let what = what.to_owned();
    (a != b).then_some(Difference { what, a, b })
}

/// The classes that one alone re-marks, or that become another one in each, where they are known in both.
fn remarked(a: &Circumstances, b: &Circumstances) -> Option<[String; 2]> {
    let (in_a, in_b) = a.remarked.as_ref().zip(b.remarked.as_ref())?;
    let change = |one: &Remarked| (one.leg, one.from, one.to);
    let alone = |own: &[Remarked], other: &[Remarked]| -> Vec<String> {
        let is_shared = |one: &&Remarked| other.iter().any(|it| change(it) == change(one));
        let alone = own.iter().filter(|one| !is_shared(one));
        alone.map(ToString::to_string).collect()
    };
    let sides = [alone(in_a, in_b), alone(in_b, in_a)];
    let words = |(alone, all): (&Vec<String>, &[Remarked])| match (alone.is_empty(), all.is_empty())
    {
        (true, true) => "as they were sent".to_owned(),
        (true, false) => "as they were sent, but for what both re-mark".to_owned(),
        (false, _) => alone.join("; "),
    };
    let differ = sides.iter().any(|alone| !alone.is_empty());
    differ.then(|| [(&sides[0], &in_a[..]), (&sides[1], &in_b[..])].map(words))
}

fn conditions(side: &Circumstances) -> Option<String> {
    let mut names = side.conditions.clone();
    names.sort();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The settings of an experiment by their paths.
fn settings(side: &Circumstances) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    flatten("", &side.experiment, &mut found);
    found.retain(|path, _| {
        let first = path.split('.').next().unwrap_or_default();
        !NO_SETTINGS.contains(&first)
    });
    found
}

fn flatten(path: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    let below = |name: &str| match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    };
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                flatten(&below(name), value, found);
            }
        }
        // Probes, loads: known by their names.
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (at, item) in items.iter().enumerate() {
                let name = item["name"].as_str().map_or(at.to_string(), str::to_owned);
                flatten(&below(&name), item, found);
            }
        }
        other => found.extend(word(other).map(|word| (path.to_owned(), word))),
    }
}

/// A setting as a word; `None` of null.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Bool(true) => Some("yes".to_owned()),
        Value::Bool(false) => Some("no".to_owned()),
        Value::Array(items) => {
            let words: Vec<_> = items.iter().filter_map(word).collect();
            Some(words.join(", "))
        }
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::dscp::Dscp;
    use delaylab_stats::remarks::Leg;
    use serde_json::json;

    fn side(world: &str, kernel: &str, wait: &str) -> Circumstances {
        Circumstances {
            world: world.to_owned(),
            environment: json!({ "host": { "kernel": kernel, "cpus": 2 }, "target": null }),
            experiment: json!({
                "name": "x", "title": kernel, "seed": 1, "world": world, "host": { "condition": "quiet" },
                "probe": [{ "name": "echo", "payload": "64B", "pacing": { "every": wait } }],
            }),
            conditions: vec!["quiet".to_owned(), "quiet".to_owned()],
            remarked: None,
        }
    }

    fn found(a: &Circumstances, b: &Circumstances) -> Vec<String> {
        let each = differences(a, b).into_iter();
        let shown = |end: Option<String>| end.unwrap_or("–".to_owned());
        each.map(|d| format!("{}: {} {}", d.what, shown(d.a), shown(d.b)))
            .collect()
    }

    #[test]
    fn what_matters_is_named_once() {
        let (a, b) = (side("live", "6.1", "1ms"), side("live", "6.12", "2ms"));
        assert_eq!(
            found(&a, &b),
            ["kernel: 6.1 6.12", "probe.echo.pacing.every: 1ms 2ms"]
        );
        assert!(found(&a, &a).is_empty());
    }

    #[test]
    fn the_host_of_a_simulation_does_not_matter() {
        let (a, b) = (side("sim", "6.1", "1ms"), side("sim", "6.12", "1ms"));
        assert!(found(&a, &b).is_empty());
        let mixed = found(&a, &side("live", "6.1", "1ms"));
        assert_eq!(mixed, ["world: sim live"]);
    }

    #[test]
    fn what_is_both_set_and_seen_is_said_once() {
        let a = side("live", "6.1", "1ms");
        let mut b = a.clone();
        b.environment["target"] = json!("192.0.2.1");
        b.experiment["path"] = json!({ "target": "example.org" });
        b.experiment["host"]["condition"] = json!("normal");
        b.conditions = vec!["normal".to_owned()];
        assert_eq!(
            found(&a, &b),
            ["host condition: quiet normal", "target: – 192.0.2.1"]
        );
        // A name that means another address, or what one of several conditions is, is seen nowhere else.
        b.environment["target"] = Value::Null;
        assert_eq!(
            found(&a, &b),
            ["host condition: quiet normal", "path.target: – example.org"]
        );
    }

    #[test]
    fn marks_that_only_one_run_changes_are_named() {
        let with = |remarked: &[Remarked]| Circumstances {
            remarked: Some(remarked.to_vec()),
            ..side("live", "6.1", "1ms")
        };
        let becomes_cs1 = |from: u8, packets: u64| Remarked {
            leg: Leg::Out,
            from: Dscp::new(from).unwrap(),
            to: Dscp::new(8).unwrap(),
            packets,
            of: 200,
        };
        let (ef, be) = (becomes_cs1(46, 200), becomes_cs1(0, 9));
        let changes = "ef (46) arrived as cs1 (8) in 200 of 200 packets";
        let (plain, remarks) = (with(&[]), with(&[ef]));
        let both_ways = [(&plain, &remarks), (&remarks, &plain)].map(|(a, b)| found(a, b));
        let sent = "as they were sent";
        assert_eq!(
            both_ways,
            [
                [format!("marks (DSCP) on the way: {sent} {changes}")],
                [format!("marks (DSCP) on the way: {changes} {sent}")]
            ]
        );
        // Both do, in however many packets, or one does not say.
        for other in [with(&[becomes_cs1(46, 1)]), side("live", "6.1", "1ms")] {
            assert!(found(&other, &remarks).is_empty());
        }
        // Another class that both re-mark, or A alone, hides none.
        for (a, said) in [
            (vec![be], "as they were sent, but for what both re-mark"),
            (vec![], "as they were sent"),
        ] {
            let says = format!("marks (DSCP) on the way: {said} {changes}");
            let both: Vec<Remarked> = a.iter().copied().chain([ef]).collect();
            assert_eq!(found(&with(&a), &with(&both)), [says]);
        }
        let says = format!("marks (DSCP) on the way: {be} {changes}");
        assert_eq!(found(&with(&[be]), &remarks), [says]);
    }

    #[test]
    fn what_only_one_has_is_named_too() {
        let mut imported = side("live", "6.1", "1ms");
        imported.environment = json!({ "imported": { "format": "ping" } });
        imported.experiment = Value::Null;
        imported.conditions.clear();
        assert!(imported.is_imported());
        let found = found(&imported, &side("live", "6.1", "1ms"));
        assert!(found.contains(&"kernel: – 6.1".to_owned()), "{found:?}");
        assert!(
            found.contains(&"host condition: – quiet".to_owned()),
            "{found:?}"
        );
    }
}
