//! What was different where a run was taken up again: another kernel is another host for what it measures.

use delaylab_model::words::plural;
use serde_json::Value;

/// Facts of a host that its delays depend on, with what they are called.
const FACTS: [(&str, &str); 5] = [
    ("/host/kernel", "kernel"),
    ("/host/cpu_model", "processor"),
    ("/host/cpus", "number of processors"),
    ("/host/clock_source", "clock source"),
    ("/delaylab", "version of delaylab"),
];

/// A sentence for each time that a run was taken up in another way than before, by its `environment.json`. A simulation
/// depends on nothing of it.
pub fn differences(environment: &Value) -> Vec<String> {
    if environment["run"]["world"] == "sim" {
        return Vec::new();
    }
    let mut before = environment;
    let mut sentences = Vec::new();
    for resumed in environment["resumed"].as_array().into_iter().flatten() {
        let changed = FACTS.iter().filter_map(|(place, name)| {
            let [was, is] =
                [before, resumed].map(|of| of.pointer(place).filter(|it| !it.is_null()));
            let (was, is) = (word(was?), word(is?));
            (was != is).then(|| format!("{name} {is} in place of {was}"))
        });
        let changed: Vec<_> = changed.collect();
        if !changed.is_empty() {
            let after = resumed["trials"].as_u64().unwrap_or_default();
            sentences.push(format!(
                "resumed after {} with {}: trials before and after may differ by that",
                plural(after, "trial"),
                changed.join(", ")
            ));
        }
        before = resumed;
    }
    sentences
}

fn word(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_run_that_was_resumed_on_another_kernel_says_so() {
        let part = |kernel: Option<&str>, trials: u64| json!({ "delaylab": "0.1.0", "trials": trials, "host": { "kernel": kernel, "cpus": 2 } });
        let run = |world: &str| {
            let mut run = part(Some("6.1"), 0);
            run["run"] = json!({ "world": world });
            run["resumed"] = json!([part(Some("6.1"), 1), part(Some("6.12"), 20), part(None, 30)]);
            run
        };
        let said = "resumed after 20 trials with kernel 6.12 in place of 6.1: trials before and after may differ by that";
        assert_eq!(differences(&run("live")), [said]);
        assert!(differences(&run("sim")).is_empty());
        assert!(differences(&json!({})).is_empty());
    }
}
