//! What may leave for a host that is not this one.

use crate::error::RunnerError;
use crate::target;
use delaylab_model::load::Load;
use delaylab_model::probe::Pacing;
use delaylab_model::trial::{LoadTarget, ProbeRun};
use delaylab_model::{MILLISECOND, PICOS_PER_NANO, SECOND};

/// How many packets may leave for another host in a second unasked. Chosen by hand: a probe each millisecond, and no more.
const MAX_PACKETS_PER_SECOND: u64 = 1000;
/// How many bits. Chosen by hand: 1 % of a gigabit, so that a path which others use keeps its room.
const MAX_BITS_PER_SECOND: u64 = 10_000_000;
/// Three probes of 333.3 packets a second are no more than 1000.
const ROUNDING: f64 = 1e-9;

/// Refuses what other hosts would take for an attack, unless the user says that it is wanted: all that the probes of one trial
/// send at once.
///
/// # Errors
/// It is refused.
pub fn check_probes(
    probes: impl IntoIterator<Item = ProbeRun>,
    allowed: bool,
) -> Result<(), RunnerError> {
    if allowed {
        return Ok(());
    }
    let (mut rate, mut bits) = (0.0, 0.0);
    let probes = probes.into_iter();
    for run in probes.filter(|run| !target::is_this_host(run.target.ip())) {
        let packets = packets_a_second(run.probe.pacing);
        let method = run.probe.method;
        let size = method.ip_size(run.target.is_ipv6(), run.probe.payload);
        let size = f64::from(size.unwrap_or(run.probe.payload));
        rate += packets;
        bits += packets * size * 8.0;
    }
    let is_within = |sum: f64, most: u64| sum <= most as f64 * (1.0 + ROUNDING);
    if is_within(rate, MAX_PACKETS_PER_SECOND) && is_within(bits, MAX_BITS_PER_SECOND) {
        return Ok(());
    }
    let sends = if rate.is_infinite() {
        "without a rate limit".to_owned()
    } else {
        format!(
            "{:.0} packets a second ({:.0} bit/s)",
            rate.ceil(),
            bits.ceil()
        )
    };
    Err(RunnerError::usage(format!(
        "these settings send {sends} to another host. Without --allow-load, at most {MAX_PACKETS_PER_SECOND} packets and \
         10 Mbit a second are sent to other hosts. Send less, or add --allow-load if you may load that host and the \
         network on the way"
    )))
}

/// Refuses load on other hosts, unless the user says that it is wanted.
///
/// # Errors
/// It is refused.
pub fn check_loads(loads: &[Load], target: LoadTarget, allowed: bool) -> Result<(), RunnerError> {
    let load = loads.iter().find(|load| load.streams > 0);
    let Some(load) = load.filter(|_| !allowed && !target::is_this_host(target.address.ip())) else {
        return Ok(());
    };
    Err(RunnerError::usage(format!(
        "load `{}` would be sent to another host, {}. Add --allow-load if you may load that host and the network on \
         the way",
        load.name,
        target.address.ip()
    )))
}

/// How many packets leave in a second, at most.
fn packets_a_second(pacing: Pacing) -> f64 {
    let per_second = |gap: i64| match gap {
        ..=0 => f64::INFINITY,
        gap => SECOND as f64 / gap as f64,
    };
    match pacing {
        Pacing::Every { interval_ns } => per_second(interval_ns),
        Pacing::Poisson { mean_ns } => per_second(mean_ns),
        // A burst leaves at once, however long the pause behind it.
        Pacing::Burst { burst, interval_ns } => per_second(interval_ns).max(1.0) * f64::from(burst),
        // A reply takes time too, but its least time is unknown.
        Pacing::Wait { wait_ns } if wait_ns < MILLISECOND => f64::INFINITY,
        Pacing::Wait { wait_ns } => per_second(wait_ns),
        Pacing::Frames { interval_ps } => {
            SECOND as f64 * PICOS_PER_NANO as f64 / interval_ps.max(1) as f64
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::method::Method;
    use delaylab_model::probe::{HostCondition, Probe};

    fn run(target: &str, pacing: Pacing, payload: u32) -> ProbeRun {
        let mut probe = Probe::new("echo", Method::Icmp);
        (probe.pacing, probe.payload) = (pacing, payload);
        ProbeRun {
            trial: 0,
            index: 0,
            target: format!("{target}:0").parse().unwrap(),
            probe,
            host: HostCondition::Normal,
            seed: 0,
        }
    }

    #[test]
    fn probes_of_a_trial_share_what_may_be_sent() {
        let probes = |count: usize, target: &str, interval_ns: i64, payload: u32| {
            let one = run(target, Pacing::Every { interval_ns }, payload);
            check_probes(vec![one; count], false).map_err(|error| error.message)
        };
        assert!(probes(5, "192.0.2.1", 5 * MILLISECOND, 56).is_ok());
        let refused = probes(5, "192.0.2.1", MILLISECOND, 56).unwrap_err();
        assert!(refused.contains("send 5000 packets a second"), "{refused}");
        assert!(probes(10, "192.0.2.1", 10 * MILLISECOND, 1200).is_ok());
        assert!(probes(10, "192.0.2.1", 10 * MILLISECOND, 1400).is_err());
        assert!(probes(5, "127.0.0.1", MILLISECOND, 56).is_ok());
        assert!(probes(2, "192.0.2.1", 0, 56).is_err());
        // 1000 packets a second, and no more.
        assert!(probes(3, "192.0.2.1", 3 * MILLISECOND, 56).is_ok());
        assert!(probes(7, "192.0.2.1", 7 * MILLISECOND, 56).is_ok());
    }

    #[test]
    fn load_on_others_needs_a_word() {
        let allows = |target: &str, pacing: Pacing, payload: u32, allowed: bool| {
            check_probes([run(target, pacing, payload)], allowed).is_ok()
        };
        let every = |interval_ns| Pacing::Every { interval_ns };
        let (wait, burst) = (
            Pacing::Wait { wait_ns: 0 },
            Pacing::Burst {
                burst: 2000,
                interval_ns: SECOND,
            },
        );
        assert!(!allows("192.0.2.1", every(MILLISECOND / 2), 56, false));
        assert!(!allows("192.0.2.1", wait, 56, false));
        assert!(!allows("192.0.2.1", every(MILLISECOND), 2000, false));
        assert!(!allows("192.0.2.1", burst, 56, false));
        // What leaves at once is not spread over the pause behind it.
        let seldom = |burst| Pacing::Burst {
            burst,
            interval_ns: 10 * SECOND,
        };
        assert!(!allows("192.0.2.1", seldom(2000), 56, false));
        assert!(allows("192.0.2.1", seldom(500), 56, false));
        assert!(allows("192.0.2.1", every(MILLISECOND), 56, false));
        assert!(allows("192.0.2.1", wait, 56, true));
        assert!(allows("127.0.0.1", wait, 56, false));
    }
}
