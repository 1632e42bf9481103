//! What reading the clock itself costs (source 002, finding 5).

use super::{Figure, Table, axis, parse};
use delaylab_model::units::format_duration;
use delaylab_model::{MILLISECOND, Nanos, noise};
use delaylab_view::run::RunData;
use delaylab_view::words::plural;
use serde_json::{Value, json};

pub(super) struct ClockReads;

const COLUMNS: &str = "from_ns to_ns reads";

impl Figure for ClockReads {
    fn about(&self, run: &RunData) -> String {
        let bins = &run.clock_reads;
        let count = |filter: fn(&noise::ClockReads) -> bool| {
            let these = bins.iter().filter(|bin| filter(bin));
            these.map(|bin| bin.count).sum::<u64>()
        };
        let all = plural(count(|_| true), "clock read");
        let slow = count(|bin| bin.from_ns >= MILLISECOND);
        let back = match count(|bin| bin.from_ns < 0) {
            0 => String::new(),
            n => format!(" {} ran backwards and cannot be shown.", plural(n, "read")),
        };
        let longest = bins
            .iter()
            .filter(|bin| bin.count > 0)
            .map(|bin| bin.to_ns)
            .max();
        let longest = format_duration(longest.unwrap_or_default());
        format!("{all}; {slow} took 1 ms or more, none more than {longest}.{back}")
    }

    fn table(&self, run: &RunData) -> Table {
        let mut table = Table::new(COLUMNS);
        for (from, to, count) in drawn(run) {
            table.row([json!(from), json!(to), json!(count)]);
        }
        if table.rows.len() < 2 {
            // What always takes as long is a number.
            table.rows.clear();
        }
        table
    }

    fn spec(&self, run: &RunData, _: &Table) -> Value {
        let mut spec = parse(include_str!("specs/clock_reads.json"));
        let least = drawn(run).map(|(from, ..)| from).min().unwrap_or(1);
        let most = drawn(run).map(|(_, to, _)| to).max().unwrap_or(1);
        let x = &mut spec["encoding"]["x"];
        axis::of_delays(x, "Cost of one clock read", least, most);
        spec
    }
}

/// From where to where bins reach, and how many reads are in each. A logarithmic axis has neither zero nor what is below.
fn drawn(run: &RunData) -> impl Iterator<Item = (Nanos, Nanos, u64)> + '_ {
    let bins = run.clock_reads.iter();
    let bins = bins.filter(|bin| bin.count > 0 && bin.from_ns >= 0 && bin.to_ns > 1);
    bins.map(|bin| (bin.from_ns.max(1), bin.to_ns, bin.count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_reaches_to_what_is_drawn() {
        let bin = |from_ns, to_ns| noise::ClockReads {
            trial: 0,
            from_ns,
            to_ns,
            count: 1,
        };
        let run = RunData {
            clock_reads: vec![bin(-32, -16), bin(16, 32), bin(32, 64)],
            ..RunData::default()
        };
        let spec = ClockReads.spec(&run, &ClockReads.table(&run));
        assert_eq!(spec["encoding"]["x"]["scale"]["domain"], json!([16, 64]));
    }
}
