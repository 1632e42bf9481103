//! Fields of a `[[probe]]` section that mean the same for every method, and how a field is refused.

use delaylab_model::experiment::{ProbeSection, Warmup};
use delaylab_model::probe::Pacing;
use delaylab_model::refusal::Refusal;
use delaylab_model::{Nanos, PICOS_PER_NANO};

/// A field, by its dotted path below the probe such as `pacing.every`, cannot be honoured; `remedy`: write this instead.
pub(super) fn refuse<T>(
    field: &str,
    reason: impl Into<String>,
    remedy: &str,
) -> Result<T, Refusal> {
    Err(Refusal::new(field, reason).remedy(remedy))
}

/// The ECN field of each packet.
pub(super) fn ecn(section: &ProbeSection) -> Result<u8, Refusal> {
    match section.ecn.unwrap_or(0) {
        ecn @ 0..=3 => Ok(ecn),
        ecn => refuse(
            "ecn",
            format!("`{ecn}` is not two bits"),
            "ECN is 0, 1, 2 or 3 (RFC 3168)",
        ),
    }
}

/// Number of warm-up packets; a warm-up given as a duration counts the packets due in it.
pub(super) fn warmup(section: &ProbeSection, pacing: Pacing) -> Result<u64, Refusal> {
    let packets = match (section.warmup, pacing) {
        (None, _) => 0,
        (Some(Warmup::Packets(packets)), _) => packets,
        (Some(Warmup::Time(_)), Pacing::Wait { .. }) => {
            let what = "in closed loop it is not known how many packets are due in a time";
            return refuse("warmup", what, "write a count of packets");
        }
        (Some(Warmup::Time(time)), pacing) => due_in(time.0, pacing),
    };
    // With both, whichever comes first.
    match section.count.into_iter().chain(due(section, pacing)).min() {
        Some(count) if packets > 0 && packets >= count => {
            let what = format!("{packets} of {count} packets are left out");
            refuse("warmup", what, "nothing would be left")
        }
        _ => Ok(packets),
    }
}

/// How many packets are due in the probe's duration, where that is known: in a closed loop round trips add to the waits.
fn due(section: &ProbeSection, pacing: Pacing) -> Option<u64> {
    let open_loop = section
        .duration
        .filter(|_| !matches!(pacing, Pacing::Wait { .. }));
    open_loop.map(|duration| due_in(duration.0, pacing))
}

/// How many packets are due in `time` nanoseconds, on average, rounded up.
fn due_in(time: Nanos, pacing: Pacing) -> u64 {
    let (gap, burst) = match pacing {
        Pacing::Every { interval_ns } => (interval_ns, 1),
        Pacing::Poisson { mean_ns } => (mean_ns, 1),
        Pacing::Burst { burst, interval_ns } => (interval_ns, burst),
        Pacing::Wait { wait_ns } => (wait_ns, 1),
        Pacing::Frames { interval_ps } => {
            let picos = time.unsigned_abs().saturating_mul(PICOS_PER_NANO);
            return picos.div_ceil(interval_ps.max(1));
        }
    };
    let gaps = time.unsigned_abs().div_ceil(gap.unsigned_abs().max(1));
    gaps.saturating_mul(u64::from(burst))
}
