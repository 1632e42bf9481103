//! From what was typed to a probe and where it goes.

use crate::args::ping::PingArgs;
use crate::exit::Failed;
use delaylab_live::prober::ip_size;
use delaylab_live::reflect::DEFAULT_PORT;
use delaylab_model::dscp::Dscp;
use delaylab_model::probe::{Fill, Pacing, Probe};
use delaylab_model::record::Method;
use delaylab_model::trial::ProbeRun;
use delaylab_model::{Nanos, SECOND};
use delaylab_runner::target;
use std::hash::{BuildHasher, RandomState};

/// STAMP's port (RFC 8762 §4.1).
const STAMP_PORT: u16 = delaylab_wire::stamp::PORT;
/// ping's default.
const PAYLOAD: u32 = 56;
/// A STAMP base packet with every extension that tells more of the delay, and with its seals.
const STAMP_PAYLOAD: u32 = 84;
const STAMP_PAYLOAD_WITH_KEY: u32 = 172;
/// Idle and under load, where nobody says how long.
const PART: Nanos = 10 * SECOND;
/// Enough packets in that to compare.
const INTERVAL_WITH_LOAD: Nanos = SECOND / 10;

/// The probe that was asked for.
pub fn probe_run(args: &PingArgs, with_key: bool) -> Result<ProbeRun, Failed> {
    let port = args.port.unwrap_or(if args.method == Method::Stamp {
        STAMP_PORT
    } else {
        DEFAULT_PORT
    });
    let target = target::resolve(&args.target, port, args.v4, args.v6)?;
    let mut probe = Probe::new("ping", args.method);
    probe.payload = payload(args, with_key, target.is_ipv6())?;
    probe.reply_payload = args.reply_size;
    (probe.dscp, probe.ecn) = marks(args);
    probe.ttl = args.ttl;
    probe.dont_fragment = args.dont_fragment;
    probe.fill = args
        .pattern
        .clone()
        .map_or(Fill::Random, |pattern| Fill::Pattern(pattern.0));
    probe.pacing = pacing(args);
    probe.count = args.count;
    let unbounded = args.count.is_none() && args.duration.is_none();
    let part = Some(PART).filter(|_| unbounded && !args.loads.is_empty());
    probe.duration = args.duration.or(part);
    probe.timeout = args.timeout;
    probe.wait_mode = args.wait_mode;
    probe.stamps = args.stamps;
    probe.interface.clone_from(&args.interface);
    let seed = args
        .seed
        .unwrap_or_else(|| RandomState::new().hash_one(std::process::id()));
    Ok(ProbeRun {
        trial: 0,
        index: 0,
        target,
        probe,
        host: args.condition,
        seed,
    })
}

/// A key in the environment is for methods that know keys; one on the command line is meant.
pub fn uses_key(run: &ProbeRun, args: &PingArgs) -> bool {
    run.probe.method != Method::Icmp || args.key_file.is_some()
}

fn payload(args: &PingArgs, with_key: bool, v6: bool) -> Result<u32, Failed> {
    if let Some(ip) = args.ip_size {
        let Some(headers) = ip_size(args.method, v6, 0) else {
            return Err(Failed::usage(
                "--ip-size: the kernel cuts tcp into packets as it likes. Use -s",
            ));
        };
        return ip.checked_sub(headers).ok_or_else(|| {
            Failed::usage(format!(
                "--ip-size {ip}B: the headers alone take {headers} B"
            ))
        });
    }
    let default = match (args.method, with_key) {
        (Method::Stamp, true) => STAMP_PAYLOAD_WITH_KEY,
        (Method::Stamp, false) => STAMP_PAYLOAD,
        // A tag of 16 bytes and all stamps.
        (Method::Udp | Method::Tcp, true) => PAYLOAD + 16,
        _ => PAYLOAD,
    };
    Ok(args.size.unwrap_or(default))
}

fn marks(args: &PingArgs) -> (Dscp, u8) {
    let class = args.class.unwrap_or_default();
    args.tos.unwrap_or((class, args.ecn.unwrap_or(0)))
}

fn pacing(args: &PingArgs) -> Pacing {
    let usual = if args.loads.is_empty() {
        SECOND
    } else {
        INTERVAL_WITH_LOAD
    };
    let interval_ns = args.interval.unwrap_or(usual);
    match (args.wait, args.poisson, args.burst) {
        (Some(wait_ns), ..) => Pacing::Wait { wait_ns },
        (_, Some(mean_ns), _) => Pacing::Poisson { mean_ns },
        (_, _, Some(burst)) => Pacing::Burst { burst, interval_ns },
        _ => Pacing::Every { interval_ns },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;
    use delaylab_model::MILLISECOND;
    use delaylab_runner::load_limit;

    fn args(words: &str) -> Box<PingArgs> {
        let words = ["delaylab", "ping"].into_iter().chain(words.split(' '));
        match Cli::try_parse_from(words).unwrap().command {
            Command::Ping(args) => args,
            other => panic!("{other:?}"),
        }
    }

    fn planned(words: &str) -> ProbeRun {
        probe_run(&args(words), false).unwrap()
    }

    #[test]
    fn what_is_typed_is_what_is_sent() {
        let run = planned(
            "127.0.0.1 --method udp -s 1KiB -Q 0xb9 -i 0.2s -c 5 -t 3 -W 2s -p ff --seed 7",
        );
        let probe = &run.probe;
        assert_eq!(
            (probe.payload, probe.dscp.to_string().as_str(), probe.ecn),
            (1024, "ef", 1)
        );
        assert_eq!(
            probe.pacing,
            Pacing::Every {
                interval_ns: 200 * MILLISECOND
            }
        );
        assert_eq!(
            (probe.count, probe.ttl, probe.timeout),
            (Some(5), Some(3), 2 * SECOND)
        );
        assert_eq!((run.target.port(), run.seed), (DEFAULT_PORT, 7));
        assert_eq!(planned("127.0.0.1 --method stamp").target.port(), 862);
    }

    #[test]
    fn sizes_of_ip_packets() {
        assert_eq!(planned("127.0.0.1 --ip-size 40B").probe.payload, 12);
        assert_eq!(planned("::1 --ip-size 9188B").probe.payload, 9140);
        assert!(probe_run(&args("127.0.0.1 --ip-size 20B"), false).is_err());
        assert!(probe_run(&args("127.0.0.1 --method tcp --ip-size 90B"), false).is_err());
    }

    #[test]
    fn load_on_others_needs_a_word() {
        let refused = |words: &str| {
            let args = args(words);
            load_limit::check(&probe_run(&args, false).unwrap(), args.allow_load).is_err()
        };
        assert!(refused("192.0.2.1 -i 0.5ms"));
        assert!(refused("192.0.2.1 --wait 0s"));
        assert!(refused("192.0.2.1 -i 1ms -s 2kB"));
        assert!(refused("192.0.2.1 --burst 2000"));
        assert!(!refused("192.0.2.1 -i 1ms"));
        assert!(!refused("192.0.2.1 --wait 0s --allow-load"));
        assert!(!refused("127.0.0.1 --wait 0s"));
    }
}
