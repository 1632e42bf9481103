//! Finite transfers, and what many of them at once do.

use crate::common::{Taken, every, probe, run, trial};
use delaylab_model::transfer::Transfer;

/// So many senders behind one switch of 1 Gbit/s, each with these transfers, for two seconds.
fn many_to_one(streams: u32, load: &str, switch: &str) -> Taken {
    many_to_one_for(200, streams, load, switch)
}

/// The same for another time.
fn many_to_one_for(hundredths: u64, streams: u32, load: &str, switch: &str) -> Taken {
    let senders = streams + 1;
    let sections = format!(
        r#"
[[load]]
name = "senders"
kind = "transfers"
streams = {streams}
{load}
[path]
topology = "many-to-one"
senders = {senders}
rate = "1Gbit/s"
propagation = "10us"
[path.switch]
{switch}
"#
    );
    let mut query = probe("query", 100, every(10_000_000), hundredths);
    // Where one is lost, senders go on for as long.
    query.timeout = 100_000_000;
    run(&trial(&sections, vec![query]))
}

fn goodput(taken: &Taken) -> f64 {
    taken.series_of("load_goodput", "senders", 0).0
}

#[test]
fn a_transfer_takes_its_time_on_the_line() {
    let taken = many_to_one(
        1,
        "bytes = \"1MB\"\nrounds = 3\ngap = \"100ms\"",
        "buffer = \"1MB\"",
    );
    let times: Vec<_> = (taken.transfers.iter())
        .filter_map(Transfer::completion_time)
        .collect();
    assert_eq!(times.len(), 3);
    // 691 segments of 1448 bytes, each 1538 on the line, after slow start: 8.5 ms and a few round trips of 60 µs.
    for ns in &times {
        assert!((8_500_000..10_500_000).contains(ns), "{times:?}");
    }
    let [first, second, _] = &taken.transfers[..] else {
        panic!("{:?}", taken.transfers);
    };
    assert_eq!(second.start, first.end.unwrap() + 100_000_000);
    assert_eq!(
        (second.number, second.bytes, &*second.of),
        (1, 1_000_000, "senders")
    );
    let carried = goodput(&taken) * 2.0 / 8.0;
    assert!((carried - 3e6).abs() < 0.01 * 3e6, "{carried}");
}

#[test]
fn a_barrier_waits_for_the_slowest() {
    let taken = many_to_one(4, "bytes = \"64KiB\"\nrounds = 5", "buffer = \"1MB\"");
    let of_round = |round: u64| {
        taken
            .transfers
            .iter()
            .filter(move |one| one.number == round)
    };
    for round in 0..5 {
        assert_eq!(of_round(round).count(), 4);
        let start = of_round(round).next().unwrap().start;
        assert!(of_round(round).all(|one| one.start == start));
        let slowest = of_round(round).filter_map(|one| one.end).max();
        if let Some(next) = of_round(round + 1).next() {
            assert_eq!(Some(next.start), slowest);
        }
    }
    let alone = many_to_one(
        4,
        "bytes = \"64KiB\"\nrounds = 5\nbarrier = false",
        "buffer = \"1MB\"",
    );
    let second = alone.transfers.iter().filter(|one| one.number == 1);
    let mut starts: Vec<_> = second.map(|one| one.start).collect();
    starts.dedup();
    assert_eq!(starts.len(), 4);
}

/// Vasudevan et al. 2009: with 200 ms at least before what is lost is sent again the line stands still for most of
/// the time; with a fine timer, or with marks, it does not.
#[test]
fn many_at_once_collapse_with_a_coarse_time_out() {
    let small = "buffer = \"64KiB\"";
    let bytes = "bytes = \"64KiB\"";
    let fine = "bytes = \"64KiB\"\ntcp = { min_rto = \"1ms\" }";
    // Several time-outs of what stands still; a line that does not shows it in less, and takes longer to simulate.
    let runs = [(50, 2, bytes), (200, 32, bytes), (50, 32, fine)];
    let [few, many, recovered] = runs.map(|(hundredths, streams, load)| {
        let taken = many_to_one_for(hundredths, streams, load, small);
        goodput(&taken) / 1e6
    });
    println!("{few} {many} {recovered}");
    assert!(few > 700.0, "{few}");
    assert!(many < 0.3 * few, "{many} of {few}");
    assert!(recovered > 3.0 * many, "{recovered} of {many}");
}
