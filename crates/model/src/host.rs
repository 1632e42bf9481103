//! A simulated host: what packets cost it, and what delays them there.
//!
//! Without `noise` a host does only what is listed, and what is not listed costs nothing. `noise = "linux"` is
//! the record of one real host: a virtual machine of 2 CPUs with Linux 6.18 (`CONFIG_HZ=250`, no periodic tick when
//! idle, idle driver haltpoll), measured in November 2026. Each default says how it was measured:
//!
//! - *timers*: 2119 absolute timers of 20 µs to 60 ms in random order, in a thread with SCHED_FIFO that was alone on its
//!   CPU; how late it ran;
//! - *clock*: a thread with SCHED_FIFO that read CLOCK_MONOTONIC for 8 s, 381 million times;
//! - *processes*: the scheduler's switches of `wait-time-jitter --quick`, live: 26 s, of which 10 s in condition
//!   `stressed`, where no process was followed by idling, so that the lengths are those of the processes.

use crate::probe::HostCondition;
use crate::quantity::{Duration, Share};
use crate::{MICROSECOND, MILLISECOND, Nanos};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// What delays packets in a simulated host in addition to what is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostNoise {
    /// Nothing.
    None,
    /// What was measured on a host with Linux: wake-up costs, ticks, clock reads, and processes in condition `normal`
    /// and more in `stressed`.
    Linux,
}

/// A process that a simulated host runs again and again. Where it is in its interval when a trial starts is drawn.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Daemon {
    /// Its name in the noise table.
    pub name: String,
    /// Start to start, on average.
    pub every: Duration,
    /// How long it keeps the CPU, on average.
    pub busy: Duration,
    /// Standard deviation of its intervals, as a share of `every`; they are log-normal. 13 % by default, as of a
    /// process that sleeps between its turns (the measured host's agent: 50.9 ms ± 12.7 %). 0 % is a strict period.
    pub every_sd: Option<Share>,
    /// Standard deviation of how long it keeps the CPU, as a share of `busy`; log-normal too. 70 % by default (the
    /// measured host's agent: 22.1 µs ± 71 %; its kernel threads: 57 to 68 %).
    pub busy_sd: Option<Share>,
    /// In which conditions of the host it runs. `normal` and `stressed` by default.
    pub conditions: Option<Vec<HostCondition>>,
}

impl Daemon {
    /// Standard deviation of its intervals, as a share of their mean.
    pub fn interval_spread(&self) -> f64 {
        self.every_sd.unwrap_or(Share::of_percent(13)).as_f64()
    }

    /// Standard deviation of how long it runs, as a share of the mean.
    pub fn length_spread(&self) -> f64 {
        self.busy_sd.unwrap_or(Share::of_percent(70)).as_f64()
    }

    /// Does it run in this condition?
    pub fn runs_in(&self, condition: HostCondition) -> bool {
        match &self.conditions {
            Some(conditions) => conditions.contains(&condition),
            None => condition != HostCondition::Quiet,
        }
    }
}

/// What waking up costs a simulated host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WakeUp {
    /// Idle for this long or longer.
    pub after: Duration,
    /// The first thing it does then begins this much later, on average.
    pub cost: Duration,
    /// Standard deviation, as a share of `cost`; log-normal. 24 % by default (timers of 5 to 6 ms: 65.4 µs ± 16.1 µs).
    pub sd: Option<Share>,
}

impl WakeUp {
    /// Standard deviation as a share of the mean.
    pub fn spread(&self) -> f64 {
        self.sd.unwrap_or(Share::of_percent(24)).as_f64()
    }
}

/// Idle states, the deeper the longer the CPU has been idle: the last one counts whose `after` is over. One table or
/// a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WakeUps(pub Vec<WakeUp>);

/// The scheduler's tick, while the CPU is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tick {
    /// From one to the next; when the first comes is drawn.
    pub every: Duration,
    /// How much longer what is under way takes, on average.
    pub busy: Duration,
    /// Standard deviation, as a share of `busy`; log-normal. 53 % by default (gaps of the clock's reader: 26.1 µs ±
    /// 14.0 µs).
    pub sd: Option<Share>,
}

impl Tick {
    /// Standard deviation as a share of the mean.
    pub fn spread(&self) -> f64 {
        self.sd.unwrap_or(Share::of_percent(53)).as_f64()
    }
}

/// What reading the clock costs a prober over datagrams, once before it sends and once after it received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockRead {
    /// Nearly always.
    pub cost: Duration,
    /// How many reads are slow. None by default.
    pub slow_share: Option<Share>,
    /// What a slow one costs, on average. As `cost` by default.
    pub slow: Option<Duration>,
    /// Standard deviation of slow ones, as a share of `slow`; log-normal. 53 % by default, as of ticks.
    pub slow_sd: Option<Share>,
}

impl ClockRead {
    /// Standard deviation of slow reads as a share of their mean.
    pub fn spread(&self) -> f64 {
        self.slow_sd.unwrap_or(Share::of_percent(53)).as_f64()
    }
}

/// What a simulated host costs each packet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostCosts {
    /// For each packet, on send and on receive.
    pub per_packet: Option<Duration>,
    /// For each byte of it, on send and on receive.
    pub per_byte: Option<Duration>,
    /// What `wake_up`, `tick` and `clock_read` are where they are not given, and which processes run in addition to those of
    /// `daemon`. `none` by default.
    pub noise: Option<HostNoise>,
    /// After idle.
    #[serde(default)]
    pub wake_up: WakeUps,
    /// Of the scheduler.
    pub tick: Option<Tick>,
    /// Of the prober.
    pub clock_read: Option<ClockRead>,
    /// Processes on the prober's host, in addition to those of `noise`.
    #[serde(default)]
    pub daemon: Vec<Daemon>,
}

impl HostCosts {
    /// What it says itself, and for the rest what `base` says.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        let daemon = if self.daemon.is_empty() {
            base.daemon.clone()
        } else {
            self.daemon.clone()
        };
        let wake_up = if self.wake_up.0.is_empty() {
            base.wake_up.clone()
        } else {
            self.wake_up.clone()
        };
        Self {
            per_packet: self.per_packet.or(base.per_packet),
            per_byte: self.per_byte.or(base.per_byte),
            noise: self.noise.or(base.noise),
            wake_up,
            tick: self.tick.or(base.tick),
            clock_read: self.clock_read.or(base.clock_read),
            daemon,
        }
    }

    /// With what its `noise` stands for where it says nothing itself.
    #[must_use]
    pub fn with_noise(&self) -> Self {
        match self.noise {
            Some(HostNoise::Linux) => {
                let linux = Self::linux();
                let daemon = [&linux.daemon[..], &self.daemon].concat();
                Self {
                    daemon,
                    ..self.over(&linux)
                }
            }
            Some(HostNoise::None) | None => self.clone(),
        }
    }

    /// The measured host.
    fn linux() -> Self {
        // Timers of 20 to 60 µs were 20.7 µs late in the median, ± 2 to 5 µs; of 200 µs 25.7 ± 6; of 0.5 ms 39.6 ± 12.9; of
        // 1 ms 54.0 ± 13.8; of 2 ms 58.4 ± 15.0; of 5 ms 65.4 ± 16.1; of 20 to 60 ms 71.2 ± 15.2.
        let wake_ups = [
            (0, 21, 12),
            (150, 26, 23),
            (400, 40, 32),
            (800, 55, 26),
            (4000, 66, 24),
            (15_000, 71, 21),
        ];
        Self {
            per_packet: None,
            per_byte: None,
            noise: None,
            wake_up: WakeUps(
                wake_ups
                    .map(|(after, cost, percent)| WakeUp {
                        after: micros(after),
                        cost: micros(cost),
                        sd: Some(Share::of_percent(percent)),
                    })
                    .to_vec(),
            ),
            // `CONFIG_HZ=250`. Of the gaps that the clock's reader saw those of 10 to 200 µs, 347 a second, lasted
            // 26.1 µs ± 14.0 µs.
            tick: Some(Tick {
                every: Duration(4 * MILLISECOND),
                busy: Duration(26_100),
                sd: None,
            }),
            // Mean of all reads, and those above 2 µs: 8.25 of a million.
            clock_read: Some(ClockRead {
                cost: Duration(20),
                slow_share: Some(Share(8250)),
                slow: Some(Duration(26_100)),
                slow_sd: None,
            }),
            daemon: Self::linux_daemons(),
        }
    }

    /// Processes of the measured host. The first four run on a host that is left alone; their figures are the
    /// scheduler's. The others are what its condition `stressed` adds: two processes that never pause, timers, memory and
    /// a process of 1 ms each 10 ms. How these share a CPU with one that wakes up is not seen one by one; `turns` and
    /// `slices` are fitted to how late the prober sent and received and the reflector received there, with waits of 0,
    /// 1 and 20 ms (p90, p99 and p99.9 are off by a factor of 1.7 on average).
    fn linux_daemons() -> Vec<Daemon> {
        let daemon = |name: &str, every: Nanos, every_sd, busy: Nanos, busy_sd| Daemon {
            name: name.to_owned(),
            every: micros(every),
            busy: micros(busy),
            every_sd: Some(Share::of_percent(every_sd)),
            busy_sd: Some(Share::of_percent(busy_sd)),
            conditions: None,
        };
        let stressed = |daemon: Daemon| Daemon {
            conditions: Some(vec![HostCondition::Stressed]),
            ..daemon
        };
        vec![
            daemon("agent", 50_900, 13, 22, 71),
            daemon("rcu_preempt", 102_000, 71, 41, 500),
            daemon("kworker", 286_000, 71, 23, 150),
            daemon("kdamond", 514_000, 1, 1429, 57),
            stressed(daemon("turns", 1000, 70, 300, 150)),
            stressed(daemon("slices", 35_000, 70, 4600, 50)),
        ]
    }
}

const fn micros(micros: Nanos) -> Duration {
    Duration(micros * MICROSECOND)
}

impl<'de> Deserialize<'de> for WakeUps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WakeUpsVisitor)
    }
}

struct WakeUpsVisitor;

impl<'de> Visitor<'de> for WakeUpsVisitor {
    type Value = WakeUps;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table with `after` and `cost`, or a list of them")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WakeUps, A::Error> {
        let one = WakeUp::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(WakeUps(vec![one]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<WakeUps, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = seq.next_element()? {
            all.push(one);
        }
        Ok(WakeUps(all))
    }
}

impl JsonSchema for WakeUps {
    fn schema_name() -> Cow<'static, str> {
        "WakeUps".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Idle states, the deeper the longer the CPU has been idle: the last one counts whose `after` is over.",
            "anyOf": [
                generator.subschema_for::<WakeUp>(),
                generator.subschema_for::<Vec<WakeUp>>(),
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn host(text: &str) -> HostCosts {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn one_idle_state_or_several() {
        let one = host("wake_up = { after = \"1ms\", cost = \"50us\" }");
        assert_eq!(one.wake_up.0.len(), 1);
        let two = host(
            "[[wake_up]]\nafter = \"0ms\"\ncost = \"5us\"\n[[wake_up]]\nafter = \"1ms\"\ncost = \"50us\"\nsd = \"10%\"",
        );
        assert_eq!(two.wake_up.0.len(), 2);
        assert!(toml::from_str::<HostCosts>("wake_up = \"1ms\"").is_err());
    }

    #[test]
    fn what_is_given_counts_and_noise_is_the_rest() {
        let plain = host("per_packet = \"1us\"");
        assert_eq!(plain.with_noise(), plain);
        let given = host(
            "noise = \"linux\"\nper_packet = \"1us\"\nwake_up = { after = \"1ms\", cost = \"50us\" }\n\
             [[daemon]]\nname = \"cron\"\nevery = \"1s\"\nbusy = \"1ms\"",
        );
        let all = given.with_noise();
        assert!(all.daemon.len() > 1 && all.daemon.ends_with(&given.daemon));
        assert_eq!(all.wake_up, given.wake_up);
        assert!(all.tick.is_some() && all.clock_read.is_some());
        assert_eq!(all.per_packet, given.per_packet);
        // A node of its own may be without.
        let ideal = host("noise = \"none\"")
            .over(&host("noise = \"linux\""))
            .with_noise();
        assert!(ideal.daemon.is_empty() && ideal.tick.is_none());
    }

    #[test]
    fn conditions_differ() {
        let daemons = host("noise = \"linux\"").with_noise().daemon;
        let running = |condition| {
            daemons
                .iter()
                .filter(|daemon| daemon.runs_in(condition))
                .count()
        };
        assert_eq!(running(HostCondition::Quiet), 0);
        assert!(running(HostCondition::Normal) > 0);
        assert!(running(HostCondition::Stressed) > running(HostCondition::Normal));
    }
}
