//! TCP loads through switches that drop and mark.

use crate::common::{Taken, every, largest, probe, run, trial};
use delaylab_model::series::SeriesPoint;

/// One flow over a trunk of 100 Mbit/s, 20 ms there and back, and an echo every 10 ms for ten seconds.
fn flow(load: &str, switch: &str) -> Taken {
    let sections = format!(
        r#"
[[load]]
name = "bulk"
kind = "tcp"
from = "a2"
to = "b2"
{load}
[path]
rate = "1Gbit/s"
node = [
    {{ name = "a1", kind = "host" }},
    {{ name = "a2", kind = "host" }},
    {{ name = "s1", kind = "switch" }},
    {{ name = "s2", kind = "switch" }},
    {{ name = "b1", kind = "host" }},
    {{ name = "b2", kind = "host" }},
]
link = [
    {{ name = "in1", from = "a1", to = "s1" }},
    {{ name = "in2", from = "a2", to = "s1" }},
    {{ name = "trunk", from = "s1", to = "s2", rate = "100Mbit/s", propagation = "10ms" }},
    {{ name = "out1", from = "s2", to = "b1" }},
    {{ name = "out2", from = "s2", to = "b2" }},
]
[path.switch]
{switch}
"#
    );
    let mut echo = probe("echo", 100, every(10_000_000), 1000);
    (echo.from, echo.to) = (Some("a1".to_owned()), Some("b1".to_owned()));
    run(&trial(&sections, vec![echo]))
}

fn drops(taken: &Taken) -> u64 {
    taken.counts.dropped.values().sum()
}

/// Of the trunk, after the first second.
fn utilisation(taken: &Taken) -> f64 {
    taken.series_of("utilisation", "s1→s2", 1_000_000_000).0
}

#[test]
fn one_flow_fills_the_line_behind_any_buffer_of_a_bandwidth_delay_product_or_more() {
    for congestion in ["cubic", "reno", "bbr"] {
        for buffer in ["250kB", "500kB", "1MB"] {
            let load = format!("congestion_control = \"{congestion}\"");
            let taken = flow(
                &load,
                &format!("discipline = \"fifo\"\nbuffer = \"{buffer}\""),
            );
            let (busy, lost) = (utilisation(&taken), drops(&taken));
            println!("{congestion}, {buffer}: {busy:.3}, {lost} lost");
            assert!(busy > 0.95, "{congestion} {buffer}: {busy}");
            assert!(lost < 1500, "{congestion} {buffer}: {lost}");
        }
    }
}

#[test]
fn a_flow_keeps_the_round_trip_that_it_smooths() {
    // 64 KiB in 20 ms are a quarter of the line: nothing waits but for the segments of one burst.
    let alone = flow("window = \"64KiB\"", "discipline = \"fifo\"");
    let (mean, least, _) = alone.series_of("srtt", "bulk", 1_000_000_000);
    assert!(
        (20e6..24e6).contains(&mean) && least >= 20e6,
        "{mean} from {least}"
    );
    // 1 MB wait where the buffer is filled: 80 ms at 100 Mbit/s.
    let full = flow(
        "congestion_control = \"cubic\"",
        "discipline = \"fifo\"\nbuffer = \"1MB\"",
    );
    let waits = full.series_of("backlog", "s1→s2", 2_000_000_000).0 * 8e9 / 100e6;
    let (mean, ..) = full.series_of("srtt", "bulk", 2_000_000_000);
    assert!(
        (mean - 20e6 - waits).abs() < 3e6,
        "{mean} with {waits} in the queue"
    );
}

#[test]
fn what_a_connection_keeps_over_time_begins_with_it() {
    let late = flow("start = \"3s\"", "discipline = \"fifo\"");
    let begins = |series: &str| {
        let of = |point: &&SeriesPoint| &*point.series == series && &*point.of == "bulk";
        late.series.iter().find(of).map(|point| point.t)
    };
    let start = 3_000_000_000;
    assert_eq!(begins("cwnd"), Some(start));
    // The handshake is the first that is measured. Nothing had arrived before: that is known.
    let first = begins("srtt").unwrap();
    assert!(
        (start + 20_000_000..start + 21_000_000).contains(&first),
        "{first}"
    );
    assert_eq!(begins("goodput"), Some(0));
}

#[test]
fn a_flow_that_is_held_to_a_rate_sends_no_faster() {
    for congestion in ["cubic", "reno-1995", "bbr"] {
        let load =
            format!("congestion_control = \"{congestion}\"\nrate = \"30Mbit/s\"\nwindow = \"1MB\"");
        let taken = flow(&load, "discipline = \"fifo\"\nbuffer = \"250kB\"");
        let busy = taken.series_of("utilisation", "s1→s2", 5_000_000_000).0;
        // Headers and framing come on top.
        assert!((0.27..0.33).contains(&busy), "{congestion}: {busy}");
        assert_eq!(drops(&taken), 0, "{congestion}");
    }
}

#[test]
fn marks_take_the_place_of_drops() {
    let red = "discipline = \"red\"\nbuffer = \"1MB\"\nred = { min = \"100packets\", max = \"300packets\", probability = \"10%\" }";
    for congestion in ["cubic", "reno"] {
        let with = |options: &str| {
            flow(
                &format!("congestion_control = \"{congestion}\"\ntcp = {{ {options} }}"),
                red,
            )
        };
        let (plain, marked) = (with("ecn = false"), with("ecn = true"));
        // Above `max` RED drops whatever comes, as it does where slow start overshoots.
        println!(
            "{congestion}: {} drops, with marks {}",
            drops(&plain),
            drops(&marked)
        );
        assert!(5 * drops(&marked) < drops(&plain), "{congestion}");
        // A mark that cuts by less leaves more in the queue.
        let backlog = |taken: &Taken| taken.series_of("backlog", "s1→s2", 2_000_000_000).0;
        let less = with("ecn = true, abe = true");
        println!("{congestion}: {} and {}", backlog(&marked), backlog(&less));
        assert!(backlog(&less) > backlog(&marked), "{congestion}");
    }
}

/// The echo leaves the host of the load, and the line is the host's own.
fn beside_its_host(options: &str) -> f64 {
    let sections = format!(
        r#"
[[load]]
name = "bulk"
kind = "tcp"
streams = 2
from = "a1"
to = "b1"
tcp = {{ {options} }}
[path]
topology = "pairs-on-a-trunk"
rate = "100Mbit/s"
propagation = "100us"
[path.switch]
discipline = "fifo"
buffer = "unlimited"
"#
    );
    let mut echo = probe("echo", 100, every(10_000_000), 300);
    (echo.from, echo.to) = (Some("a1".to_owned()), Some("b1".to_owned()));
    let taken = run(&trial(&sections, vec![echo]));
    let waits = taken.records.iter().skip(100);
    let waits: Vec<f64> = waits
        .filter_map(|record| Some((record.t_tx? - record.t_sched?) as f64))
        .collect();
    largest(&waits) / 1e6
}

#[test]
fn a_connection_leaves_no_more_than_a_few_milliseconds_at_its_host() {
    // Windows of 4 MiB are 335 ms of the line each. What each connection believes that it can send in a
    // millisecond, from its window and round trip, is up to four times the line's.
    let (few, all) = (
        beside_its_host(""),
        beside_its_host("host_queue = \"unlimited\""),
    );
    println!("at the host: {few:.2} ms, without a limit {all:.0} ms");
    assert!(few < 8.0, "{few}");
    assert!(all > 50.0, "{all}");
}
