//! What queues drop and mark, counted over time.

use crate::aqm::{Line, tcp};
use crate::common::Taken;
use delaylab_model::plan::Unit;
use delaylab_model::series::SeriesPoint;

/// Two connections at a line of 10 Mbit/s.
fn at_a_line(congestion: &str, switch: &str) -> Taken {
    Line {
        rate: "10Mbit/s",
        propagation: "5ms",
        apart: "0us",
        loads: &tcp(2, congestion, 2),
        switch,
        seconds: 5,
    }
    .run()
}

fn series<'a>(taken: &'a Taken, series: &str, of: &str) -> Vec<&'a SeriesPoint> {
    let is_meant = |point: &&SeriesPoint| &*point.series == series && &*point.of == of;
    taken.series.iter().filter(is_meant).collect()
}

/// The count at the end. It never goes down.
fn counted(taken: &Taken, name: &str, of: &str) -> f64 {
    let points = series(taken, name, of);
    assert!(!points.is_empty(), "no {name} of {of}");
    assert!(points.iter().all(|point| point.unit == Unit::Packets));
    assert!(
        points
            .iter()
            .all(|point| point.min <= point.mean && point.mean <= point.max)
    );
    assert!(
        points
            .windows(2)
            .all(|two| two[0].max <= two[1].min.max(two[1].max))
    );
    assert!(
        points
            .windows(2)
            .all(|two| two[0].t + two[0].length == two[1].t)
    );
    assert_eq!(points[0].min, 0.0);
    points[points.len() - 1].max
}

#[test]
fn drops_are_counted_at_the_queue_that_dropped() {
    let taken = at_a_line("cubic", "discipline = \"fifo\"\nbuffer = \"20packets\"");
    let dropped: u64 = taken.counts.dropped.values().sum();
    assert!(dropped > 10, "{dropped}");
    assert_eq!(counted(&taken, "drops", "s1→s2"), dropped as f64);
    assert_eq!(counted(&taken, "drops", "s2→b2"), 0.0);
    assert!(
        series(&taken, "drops", "a2→s1").is_empty(),
        "hosts drop nothing"
    );
    // A FIFO marks nothing.
    assert!(series(&taken, "marks", "s1→s2").is_empty());
}

/// Also where a discipline drops as it serves, which is simulated after the fact.
#[test]
fn drops_of_codel_come_as_it_serves() {
    let taken = at_a_line("reno", "discipline = \"codel\"");
    let dropped: u64 = taken.counts.dropped.values().sum();
    assert!(dropped > 10, "{dropped}");
    assert_eq!(counted(&taken, "drops", "s1→s2"), dropped as f64);
    assert_eq!(counted(&taken, "marks", "s1→s2"), 0.0);
}

#[test]
fn marks_are_counted_at_the_queue_that_set_them() {
    // Both switches mark; only the first has a queue.
    let taken = at_a_line(
        "dctcp",
        "discipline = \"red\"\nbuffer = \"1MB\"\nred = { min = \"30kB\", max = \"30kB\", probability = \"100%\" }",
    );
    let marks = counted(&taken, "marks", "s1→s2");
    assert!(marks > 50.0, "{marks}");
    assert_eq!(counted(&taken, "marks", "s2→b2"), 0.0);
    // Echoes that cannot be marked are dropped.
    let dropped: u64 = taken.counts.dropped.values().sum();
    assert_eq!(counted(&taken, "drops", "s1→s2"), dropped as f64);
}
