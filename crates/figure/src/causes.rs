//! The excess delay of late packets by cause: one bar each, the worst first.

use super::{Figure, Table, parse};
use delaylab_explain::causes::{Cause, Explanation};
use delaylab_model::units::format_share;
use delaylab_stats::anatomy::Place;
use delaylab_view::run::RunData;
use delaylab_view::words::plural;
use serde_json::{Value, json};

pub(super) struct Causes;

const COLUMNS: &str = "cause place excess_ns share packets worst_ns share_text";
/// Causes at most: what is left took next to nothing.
const SHOWN: usize = 12;

impl Figure for Causes {
    fn about(&self, run: &RunData) -> String {
        let causes = run.explanation.iter().flat_map(Explanation::found);
        let late = causes.map(|cause| cause.packets).sum();
        format!(
            "{} that took far longer than the others of their stream: how much longer than usual they took, by \
             its cause.",
            plural(late, "packet")
        )
    }

    fn table(&self, run: &RunData) -> Table {
        let mut table = Table::new(COLUMNS);
        for (found, cause) in shown(run) {
            table.row([
                json!(cause.headline()),
                json!(place(cause)),
                json!(cause.excess_ns.round()),
                json!(found.share_of_excess(cause)),
                json!(cause.packets),
                json!(cause.worst.excess_ns.round()),
                json!(format_share(found.share_of_excess(cause))),
            ]);
        }
        if table.rows.len() < 2 {
            // A cause that has it all is a sentence, which the page has.
            table.rows.clear();
        }
        table
    }

    fn spec(&self, run: &RunData, _: &Table) -> Value {
        let mut spec = parse(include_str!("specs/causes.json"));
        let order: Vec<_> = shown(run).map(|(_, cause)| cause.headline()).collect();
        spec["encoding"]["y"]["sort"] = json!(order);
        // Only runs that ask a server have one in the legend.
        for (named, colour) in OF_SERVERS {
            if shown(run).any(|(_, cause)| place(cause) == named) {
                let scale = &mut spec["encoding"]["color"]["scale"];
                for (list, value) in [("domain", named), ("range", colour)] {
                    if let Some(list) = scale[list].as_array_mut() {
                        list.push(json!(value));
                    }
                }
            }
        }
        spec
    }
}

/// Places that only a run has that asks a server, and their colours.
const OF_SERVERS: [(&str, &str); 2] = [("server", "#1b7837"), ("resolver", "#c7e9c0")];

fn shown(run: &RunData) -> impl Iterator<Item = (&Explanation, &Cause)> {
    let found = run.explanation.iter();
    found.flat_map(|found| found.found().take(SHOWN).map(move |cause| (found, cause)))
}

const fn place(cause: &Cause) -> &'static str {
    match cause.what.place() {
        Place::Prober => "host that measured",
        Place::Reflector => "host that answers",
        Place::Network => "network",
        Place::Server => "server",
        Place::Resolver => "resolver",
        Place::Unclear => "undecided",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::run::samples::{sizes, waits};

    #[test]
    fn a_bar_a_cause_the_worst_first() {
        let table = Causes.table(&waits());
        let lost: Vec<_> = table
            .rows
            .iter()
            .filter_map(|row| row[2].as_f64())
            .collect();
        assert_eq!(lost.len(), 4);
        assert!(lost.is_sorted_by(|a, b| a >= b));
        assert!(Causes.table(&sizes()).rows.is_empty());
        let mut run = waits();
        if let Some(found) = &mut run.explanation {
            found.causes.truncate(1);
        }
        assert!(Causes.table(&run).rows.is_empty(), "one bar is no chart");
    }
}
