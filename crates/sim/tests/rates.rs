//! Switches that tell ABR sources their rate: the queue stays short and the line busy, whatever its rate and however many channels
//! share it.

use crate::common::{every, probe, run, trial};
use delaylab_model::SECOND;
use delaylab_model::quantity::Rate;
use delaylab_model::trial::Trial;
use delaylab_sim::refusals;

/// Sources that always have something to send through one trunk with ERICA, for `seconds`.
fn greedy(abr: &str, megabits: f64, channels: u32, seconds: u64, erica: &str) -> Trial {
    let sections = format!(
        r#"
[[load]]
name = "greedy"
kind = "cbr"
streams = {channels}
rate = "{megabits}Mbit/s"
payload = "4000B"
[path]
topology = "pairs-on-a-trunk"
framing = "aal5"
rate = "{megabits}Mbit/s"
propagation = "5us"
mtu = "9188B"
abr = "{abr}"
[path.switch]
latency = "12us"
discipline = "explicit-rate"
explicit_rate = "erica"
{erica}
"#
    );
    trial(
        &sections,
        vec![probe("echo", 12, every(SECOND / 10), 10 * seconds)],
    )
}

const PRESETS: [&str; 2] = ["eprca-1995", "tm-4.0"];
/// In Mbit/s, and for how many seconds.
const LINES: [(f64, i64); 3] = [(2.0, 40), (10.0, 8), (155.52, 1)];
const CHANNELS: [u32; 4] = [1, 2, 10, 50];

fn the_queue_is_bounded_and_the_line_busy(
    abr: &str,
    (megabits, seconds): (f64, i64),
    channels: u32,
) {
    let taken = run(&greedy(abr, megabits, channels, seconds as u64, ""));
    let series = |name, from| taken.series_of(name, "s1→s2", from);
    let (later, last) = (seconds * SECOND / 2, seconds * SECOND * 3 / 4);
    let ((_, _, most), (_, _, end)) = (series("backlog", 0), series("backlog", last));
    let (used, ..) = series("utilisation", later);
    let what = format!(
        "{abr}, {megabits} Mbit/s, {channels} channels: {most} cells at most, {end} in the end, {used:.3} used"
    );
    println!("{what}");
    assert!(used > 0.94, "{what}");
    assert!(most < 128.0 * f64::from(channels), "{what}");
    // What piled up before the first rates were told goes.
    assert!(end < 0.9 * most || end < 60.0, "{what}");
}

/// Each preset with each number of channels, and each number of channels on two lines of the three.
#[test]
fn erica_keeps_the_queue_bounded_and_the_line_busy() {
    for (preset, abr) in PRESETS.into_iter().enumerate() {
        for (number, channels) in CHANNELS.into_iter().enumerate() {
            let line = LINES[(preset + number) % LINES.len()];
            the_queue_is_bounded_and_the_line_busy(abr, line, channels);
        }
    }
}

/// Each with each, in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn erica_keeps_the_queue_of_every_line_bounded_and_the_line_busy() {
        for abr in PRESETS {
            for line in LINES {
                for channels in CHANNELS {
                    the_queue_is_bounded_and_the_line_busy(abr, line, channels);
                }
            }
        }
    }
}

#[test]
fn an_interval_that_misses_channels_is_refused() {
    let with = |interval: &str| {
        let erica = format!("erica = {{ interval = \"{interval}\" }}");
        let trial = greedy("tm-4.0", 2.0, 10, 1, &erica);
        refusals(&trial).into_iter().next()
    };
    // Two cells of each of eleven channels, the echo's among them: 22·424 bits at 2 Mbit/s.
    assert_eq!(with("4.664ms"), None);
    let refusal = with("1ms").unwrap();
    assert_eq!(refusal.field, "path.switch.erica.interval");
    for part in ["4.7 cell times at s1→s2", "11 channels", "4664us"] {
        assert!(refusal.reason.contains(part), "{}", refusal.reason);
    }
}

#[test]
fn least_rates_that_no_line_has_are_refused_and_those_of_a_preset_give_way() {
    let mut trial = greedy("eprca-1995", 2.0, 10, 1, "");
    assert_eq!(refusals(&trial), []);
    let abr = trial.path.abr.as_mut().unwrap();
    abr.0.mcr = Some(Rate(500_000));
    let refusal = refusals(&trial).remove(0);
    assert_eq!(refusal.field, "path.abr.mcr");
    assert!(refusal.reason.contains("s1→s2"), "{}", refusal.reason);
}
