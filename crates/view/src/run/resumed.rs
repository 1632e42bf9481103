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
    let notes = environment["resumed"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let recorded = |note: Option<&Value>| note.and_then(|note| note["trials"].as_u64());
    // What is known so far of the host that recorded trials.
    let mut known = [const { None::<String> }; FACTS.len()];
    let mut sentences = Vec::new();
    for (part, from) in [environment].into_iter().chain(notes).zip(0_usize..) {
        let before = recorded(from.checked_sub(1).and_then(|note| notes.get(note)));
        let before = before.unwrap_or_default();
        if recorded(notes.get(from)) == Some(before) {
            continue; // no trial is of this part
        }
        let mut changed = Vec::new();
        for ((place, name), known) in FACTS.iter().zip(&mut known) {
            let Some(is) = part.pointer(place).filter(|is| !is.is_null()).map(word) else {
                continue;
            };
            if let Some(was) = known.as_ref().filter(|was| **was != is) {
                changed.push(format!("{name} {is} in place of {was}"));
            }
            *known = Some(is);
        }
        if !changed.is_empty() {
            sentences.push(format!(
                "resumed after {} with {}: trials before and after may differ by that",
                plural(before, "trial"),
                changed.join(", ")
            ));
        }
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
        let run = |world: &str, parts: Value| {
            let mut run = part(Some("6.1"), 0);
            run["run"] = json!({ "world": world });
            run["resumed"] = parts;
            run
        };
        let parts = json!([part(Some("6.1"), 1), part(None, 10), part(Some("6.12"), 20)]);
        let said = "resumed after 20 trials with kernel 6.12 in place of 6.1: trials before and after may differ by that";
        assert_eq!(differences(&run("live", parts.clone())), [said]);
        assert!(differences(&run("sim", parts)).is_empty());
        // Nothing was recorded before, or on the other kernel.
        for parts in [
            json!([part(Some("6.12"), 0)]),
            json!([part(Some("6.12"), 20), part(Some("6.1"), 20)]),
        ] {
            assert!(differences(&run("live", parts)).is_empty());
        }
        assert!(differences(&json!({})).is_empty());
    }
}
