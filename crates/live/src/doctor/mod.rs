//! What this host can measure, what it lacks, and what that costs: `delaylab doctor`.
//!
//! | module | holds |
//! |---|---|
//! | [`clock`] | cost of a clock read |
//! | [`wakeup`] | how late sleeps end, by setting |
//! | [`noise`] | how often a CPU is taken away |
//! | [`access`] | what this user may do |
//! | [`findings`] | what all of that means: decides, measures nothing |
//! | [`spread`] | a distribution in five numbers |

pub mod access;
pub mod clock;
pub mod findings;
pub mod noise;
pub mod spread;
pub mod wakeup;

pub use access::Access;
pub use clock::ClockCheck;
pub use findings::{Area, Finding, FindingState};
pub use noise::{NoiseFloor, NoiseOptions};
pub use spread::Spread;
pub use wakeup::{Setting, WakeUp, WakeUpOptions};

use delaylab_kernel::host_info::HostInfo;
use delaylab_model::method::Method;
use delaylab_model::trial::{Delivery, StampPoint};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// How long to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Clock reads.
    pub clock_reads: usize,
    /// Sleeps.
    pub wakeup: WakeUpOptions,
    /// The spin that looks for gaps.
    pub noise: NoiseOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock_reads: 1_000_000,
            wakeup: WakeUpOptions::default(),
            noise: NoiseOptions::default(),
        }
    }
}

impl Options {
    /// Less time: rougher figures.
    pub fn quick() -> Self {
        let mut options = Self::default();
        options.clock_reads /= 10;
        options.wakeup.sleeps = (options.wakeup.sleeps / 10).max(1);
        options.noise.length /= 10;
        options
    }
}

/// Which stamps one method delivered when it probed this host itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MethodStamps {
    /// The method.
    pub method: Method,
    /// `IPv4` or `IPv6`.
    pub family: String,
    /// Each stamp as delivered, or why this method cannot probe here: as `stamps` by the record's column, or `error`; the
    /// other one is null.
    #[serde(flatten, serialize_with = "stamps_or_error")]
    #[schemars(with = "StampsOrError")]
    pub result: Result<Vec<(StampPoint, Delivery)>, String>,
}

/// How [`MethodStamps::result`] is written.
#[derive(Serialize, JsonSchema)]
struct StampsOrError<'a> {
    /// Each stamp, by its name in records: did it come? Null where `error` says why not.
    stamps: Option<BTreeMap<&'static str, Delivery>>,
    /// Why this method cannot probe this host; null where it can.
    error: Option<&'a str>,
}

fn stamps_or_error<S: Serializer>(
    result: &Result<Vec<(StampPoint, Delivery)>, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let stamps = result.as_ref().ok().map(|stamps| {
        let stamps = stamps.iter();
        stamps
            .map(|(point, delivery)| (point.name(), *delivery))
            .collect()
    });
    let error = result.as_ref().err().map(String::as_str);
    StampsOrError { stamps, error }.serialize(serializer)
}

/// Everything that the doctor found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Checkup {
    /// What this host is.
    pub host: HostInfo,
    /// Stamps as delivered, a row a method and IP version.
    pub stamps: Vec<MethodStamps>,
    /// The clock.
    pub clock: ClockCheck,
    /// Wake-up lateness, a row a setting.
    pub wakeups: Vec<WakeUp>,
    /// The setting that measured best here; the least invasive where none is better.
    pub best_setting: Setting,
    /// Gaps, a row a CPU.
    pub noise: Vec<NoiseFloor>,
    /// What this user may do.
    pub access: Access,
    /// What all of that means.
    pub findings: Vec<Finding>,
}

/// Looks at this host. Takes about a second for sleeps in each setting and a second a CPU.
///
/// `stamps` comes from probing this host itself, and `program` is what would be given privileges that are missing.
///
/// # Errors
/// A thread to measure in could not be started.
pub fn examine(
    options: &Options,
    stamps: Vec<MethodStamps>,
    program: Option<&Path>,
) -> io::Result<Checkup> {
    let wakeups = wakeup::measure(options.wakeup)?;
    let mut checkup = Checkup {
        host: HostInfo::read(),
        stamps,
        clock: clock::measure(options.clock_reads)?,
        best_setting: wakeup::best(&wakeups),
        wakeups,
        noise: noise::measure(options.noise)?,
        access: Access::read(program),
        findings: Vec::new(),
    };
    checkup.findings = findings::find(&checkup);
    Ok(checkup)
}

/// Measures in a thread of its own, whose priority, CPU and timer slack end with it.
fn in_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("dlab-doctor".into())
            .spawn_scoped(scope, work)?;
        thread
            .join()
            .map_err(|_| io::Error::other("the measuring thread panicked"))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::MILLISECOND;
    use serde_json::json;

    #[test]
    fn a_short_checkup_is_whole() {
        let options = Options {
            clock_reads: 1_000,
            wakeup: WakeUpOptions {
                rounds: 2,
                sleeps: 3,
                interval: MILLISECOND,
            },
            noise: NoiseOptions {
                length: 5 * MILLISECOND,
                ..NoiseOptions::default()
            },
        };
        let checkup = examine(&options, Vec::new(), None).unwrap();
        assert_eq!(checkup.clock.read.count, 1_000);
        assert_eq!(checkup.wakeups[0].lateness.unwrap().count, 6);
        assert!(!checkup.noise.is_empty());
        let json = serde_json::to_value(&checkup).unwrap();
        assert!(json["clock"]["read"]["p50_ns"].is_u64());
    }

    #[test]
    fn stamps_or_an_error() {
        let mut row = MethodStamps {
            method: Method::Udp,
            family: "IPv4".into(),
            result: Ok(vec![(StampPoint::TTx, Delivery::Delivered)]),
        };
        let expected = json!({"method": "udp", "family": "IPv4", "stamps": {"t_tx": "delivered"}, "error": null});
        assert_eq!(serde_json::to_value(&row).unwrap(), expected);
        row.result = Err("no".into());
        let expected = json!({"method": "udp", "family": "IPv4", "stamps": null, "error": "no"});
        assert_eq!(serde_json::to_value(&row).unwrap(), expected);
    }
}
