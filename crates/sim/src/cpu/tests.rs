#![allow(clippy::unwrap_used)]
use super::*;

const MICROS: Picos = 1_000_000;

fn cpu(section: &str, condition: HostCondition, seed: u64) -> Cpu {
    Cpu::new(&toml::from_str(section).unwrap(), condition, seed)
}

#[test]
fn the_deepest_idle_state_that_was_reached_counts() {
    let mut cpu = cpu(
        r#"
        wake_up = [{ after = "1ms", cost = "50us", sd = "0%" }, { after = "0ms", cost = "5us", sd = "0%" }]"#,
        HostCondition::Quiet,
        1,
    );
    let mut wakes = |rest| {
        cpu.idle_since = 0;
        let cost = cpu.wakes_up(rest, Job::Due(0));
        cpu.waiting.clear();
        cost
    };
    assert_eq!(wakes(0), None);
    assert_eq!(wakes(1), Some(5 * MICROS));
    assert_eq!(wakes(999 * MICROS), Some(5 * MICROS));
    assert_eq!(wakes(1000 * MICROS), Some(50 * MICROS));
}

#[test]
fn ticks_lengthen_what_they_meet() {
    let mut cpu = cpu(
        r#"tick = { every = "4ms", busy = "3us", sd = "0%" }"#,
        HostCondition::Quiet,
        1,
    );
    let mut ticks = |from, length| cpu.lengthened(from, length, false).ticks / (3 * MICROS);
    assert_eq!(ticks(0, 4000 * MICROS), 1);
    assert_eq!(ticks(0, 40_000 * MICROS), 10);
    let halves = ticks(0, 2000 * MICROS) + ticks(2000 * MICROS, 2000 * MICROS);
    assert_eq!(halves, 1);
    assert_eq!(ticks(123, 0), 0);
}

#[test]
fn some_clock_reads_are_slow() {
    let mut cpu = cpu(
        r#"clock_read = { cost = "20ns", slow_share = "1%", slow = "10ms" }"#,
        HostCondition::Quiet,
        1,
    );
    let reads: Vec<_> = (0..10_000).map(|at| cpu.lengthened(at, 0, true)).collect();
    let slow = reads.iter().filter(|read| read.slow).count();
    assert!((60..150).contains(&slow), "{slow}");
    let usual = reads.iter().filter(|read| !read.slow);
    assert!(
        usual
            .map(|read| read.clock)
            .all(|cost| cost == Some(20_000))
    );
    assert_eq!(cpu.lengthened(0, 0, false).clock, None);
}

/// When daemons ask and how long they run.
fn times(condition: HostCondition, seed: u64) -> Vec<(String, Picos, Picos)> {
    let mut cpu = cpu("noise = \"linux\"", condition, seed);
    let each = cpu.daemons.iter_mut().flat_map(|daemon| {
        let name = daemon.name.clone();
        let turns = (0..5).map(|_| {
            let turn = (name.clone(), daemon.next, daemon.runs());
            daemon.asks();
            turn
        });
        turns.collect::<Vec<_>>()
    });
    each.collect()
}

#[test]
fn a_seed_means_the_same_daemons_and_another_seed_others() {
    let first = times(HostCondition::Normal, 1);
    assert_eq!(first, times(HostCondition::Normal, 1));
    let other = times(HostCondition::Normal, 2);
    assert!(
        first
            .iter()
            .zip(&other)
            .all(|(a, b)| a.1 != b.1 && a.2 != b.2)
    );
    // Those of a normal host do the same on a stressed one.
    let stressed = times(HostCondition::Stressed, 1);
    assert_eq!(first[..], stressed[..first.len()]);
    assert!(stressed.len() > first.len());
    assert!(times(HostCondition::Quiet, 1).is_empty());
}

#[test]
fn intervals_and_lengths_of_a_daemon_vary_unless_told_not_to() {
    let section =
        |sd: &str| format!("[[daemon]]\nname = \"d\"\nevery = \"10ms\"\nbusy = \"1ms\"\n{sd}");
    let turns = |text: &str| {
        let mut cpu = cpu(text, HostCondition::Normal, 3);
        let daemon = &mut cpu.daemons[0];
        let turn = |_| {
            let before = daemon.next;
            daemon.asks();
            (daemon.next - before, daemon.runs())
        };
        (0..50).map(turn).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(
        turns(&section("every_sd = \"0%\"\nbusy_sd = \"0%\"")).len(),
        1
    );
    assert_eq!(turns(&section("")).len(), 50);
}
