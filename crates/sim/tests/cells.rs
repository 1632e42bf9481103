//! What is lost of packets in cells.

use crate::common::{every, probe, run, trial};

/// Which of four packets of three cells, 20 ms apart, come back where a switch is down for 100 µs from then on. At 1 Mbit/s a
/// cell takes 424 µs; the next line is faster, so that a cell has left when the next one comes.
fn answered(reset_at: &str) -> Vec<u64> {
    let path = format!(
        r#"
[path]
topology = "many-to-one"
framing = "aal5"
rate = "100Mbit/s"
[path.line]
a1 = {{ rate = "1Mbit/s" }}
[path.switch]
reset = {{ at = "{reset_at}", lasts = "100us" }}
"#
    );
    let taken = run(&trial(
        &path,
        vec![probe("echo", 100, every(20_000_000), 4)],
    ));
    let answered = taken
        .records
        .iter()
        .filter(|record| record.response().is_some());
    answered.map(|record| record.seq).collect()
}

/// A receiver knows where a packet ends by its last cell alone.
#[test]
fn without_its_last_cell_a_packet_takes_the_next_with_it() {
    assert_eq!(answered("19ms"), [0, 1, 2, 3]);
    assert_eq!(answered("20.4ms"), [0, 2, 3], "its first cell");
    assert_eq!(answered("20.8ms"), [0, 2, 3], "its second");
    assert_eq!(answered("21.25ms"), [0, 3], "its last");
}

/// A switch that forwards cells sees no IP header.
#[test]
fn a_packet_with_ecn_is_dropped_as_one_without() {
    let path = r#"
[path]
topology = "many-to-one"
framing = "aal5"
rate = "10Mbit/s"
[path.line]
b1 = { rate = "1Mbit/s" }
[path.switch]
discipline = "red"
buffer = "2000cells"
red = { min = "20cells", max = "60cells", probability = "10%" }
"#;
    let without = probe("without", 400, every(4_000_000), 500);
    let mut with = probe("with", 400, every(4_000_000), 500);
    with.ecn = 1;
    let taken = run(&trial(path, vec![without, with]));
    let lost = |probe| {
        let of = taken.records.iter().filter(|record| record.probe == probe);
        of.filter(|record| record.response().is_none()).count()
    };
    assert!(
        lost(0) > 50 && lost(1) > lost(0) / 2,
        "{} and {}",
        lost(0),
        lost(1)
    );
}
