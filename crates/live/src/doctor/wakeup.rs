//! How late sleeps end, in each setting that a prober can choose.
//!
//! A setting is recommended only where it measured better here: a blocking `SCHED_FIFO` thread, for
//! one, can be slower than an ordinary one.

use super::{Spread, in_own_thread};
use crate::touched::touched;
use delaylab_kernel::clock;
use delaylab_kernel::privilege::{self, Capability};
use delaylab_kernel::scheduling::{self, Scheduling};
use delaylab_model::{MILLISECOND, Nanos};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;

/// How a thread is scheduled while it sleeps; each is more invasive than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// As threads start.
    Default,
    /// With a timer slack of 1 ns.
    FineSlack,
    /// With a timer slack of 1 ns, `SCHED_FIFO`.
    Fifo,
}

impl Setting {
    /// Each, the least invasive first.
    pub const ALL: [Setting; 3] = [Setting::Default, Setting::FineSlack, Setting::Fifo];

    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Setting::Default => "default",
            Setting::FineSlack => "timer slack 1 ns",
            Setting::Fifo => "timer slack 1 ns, SCHED_FIFO",
        }
    }

    fn apply(self) -> io::Result<()> {
        if self >= Setting::FineSlack {
            scheduling::set_timer_slack(1)?;
        }
        if self == Setting::Fifo {
            privilege::with(Capability::CAP_SYS_NICE, || Scheduling::fifo(1).apply())?;
        }
        Ok(())
    }
}

/// How many sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WakeUpOptions {
    /// Settings take turns, so that a slow drift of the host is not mistaken for their effect.
    pub rounds: usize,
    /// Sleeps of one setting in one round.
    pub sleeps: usize,
    /// From one deadline to the next.
    pub interval: Nanos,
}

impl Default for WakeUpOptions {
    /// 500 sleeps of 1 ms in each setting.
    fn default() -> Self {
        Self {
            rounds: 5,
            sleeps: 100,
            interval: MILLISECOND,
        }
    }
}

/// Wake-up lateness in one setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WakeUp {
    /// The setting.
    pub setting: Setting,
    /// Time from the deadline to running again, over all rounds; null where `refused` says why.
    pub lateness: Option<Spread>,
    /// Median of each round.
    #[serde(rename = "round_p50_ns")]
    pub round_p50: Vec<Nanos>,
    /// p99 of each round.
    #[serde(rename = "round_p99_ns")]
    pub round_p99: Vec<Nanos>,
    /// Why this setting cannot be had; null where it can.
    pub refused: Option<String>,
}

/// Measures each setting.
pub(super) fn measure(options: WakeUpOptions) -> io::Result<Vec<WakeUp>> {
    let mut lateness: [Result<Vec<Vec<Nanos>>, String>; 3] = [const { Ok(Vec::new()) }; 3];
    for round in 0..options.rounds {
        for turn in 0..Setting::ALL.len() {
            let which = (round + turn) % Setting::ALL.len();
            if let Ok(rounds) = &mut lateness[which] {
                match in_own_thread(|| sleep_late(Setting::ALL[which], options))? {
                    Ok(values) => rounds.push(values),
                    Err(error) => lateness[which] = Err(error.to_string()),
                }
            }
        }
    }
    Ok(Setting::ALL
        .into_iter()
        .zip(lateness)
        .map(|(setting, rounds)| row(setting, rounds))
        .collect())
}

fn row(setting: Setting, rounds: Result<Vec<Vec<Nanos>>, String>) -> WakeUp {
    let refused = rounds.as_ref().err().cloned();
    let rounds = rounds.unwrap_or_default();
    let each = rounds.iter().filter_map(|round| Spread::new(round.clone()));
    let (round_p50, round_p99) = each.map(|spread| (spread.p50, spread.p99)).unzip();
    WakeUp {
        setting,
        round_p50,
        round_p99,
        lateness: Spread::new(rounds.concat()),
        refused,
    }
}

fn sleep_late(setting: Setting, options: WakeUpOptions) -> io::Result<Vec<Nanos>> {
    setting.apply()?;
    let mut deadline = clock::monotonic();
    let mut lateness = touched(options.sleeps, 1);
    for _ in 0..options.sleeps {
        // After a long delay the grid would be in the past: a sleep needs a deadline ahead.
        deadline = (deadline + options.interval).max(clock::monotonic() + options.interval / 2);
        clock::sleep_until(deadline)?;
        lateness.push(clock::monotonic() - deadline);
    }
    Ok(lateness)
}

/// The least invasive setting that none beats. One setting beats another where its median or its p99 is lower
/// in every round, and the other of the two is not higher in every round: by chance alone that happens not more
/// than twice in 2^rounds.
pub(super) fn best(wakeups: &[WakeUp]) -> Setting {
    let mut rows = wakeups.iter();
    let Some(mut best) = rows.next() else {
        return Setting::Default;
    };
    for row in rows {
        if beats(row, best) {
            best = row;
        }
    }
    best.setting
}

fn beats(row: &WakeUp, other: &WakeUp) -> bool {
    let lower = |a: &[Nanos], b: &[Nanos]| !a.is_empty() && a.iter().zip(b).all(|(a, b)| a < b);
    let pairs = [
        (&row.round_p50, &other.round_p50),
        (&row.round_p99, &other.round_p99),
    ];
    let wins = pairs.iter().any(|(here, there)| lower(here, there));
    wins && !pairs.iter().any(|(here, there)| lower(there, here))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(setting: Setting, medians: &[Nanos]) -> WakeUp {
        row(
            setting,
            Ok(medians.iter().map(|&median| vec![median]).collect()),
        )
    }

    #[test]
    fn a_setting_must_win_every_round() {
        let default = measured(Setting::Default, &[50, 50, 50]);
        let slack = measured(Setting::FineSlack, &[4, 4, 4]);
        let fifo = measured(Setting::Fifo, &[3, 5, 3]);
        assert_eq!(
            best(&[default.clone(), slack.clone(), fifo]),
            Setting::FineSlack
        );
        let fifo = measured(Setting::Fifo, &[3, 3, 3]);
        assert_eq!(best(&[default.clone(), slack, fifo]), Setting::Fifo);
        let slack = measured(Setting::FineSlack, &[4, 50, 4]);
        assert_eq!(best(&[default, slack]), Setting::Default);
    }

    #[test]
    fn a_shorter_tail_is_better_and_a_longer_one_is_not() {
        let with = |setting, p50: Nanos, p99: Nanos| {
            let round = [vec![p50; 98], vec![p99; 2]].concat();
            row(setting, Ok(vec![round; 3]))
        };
        let default = with(Setting::Default, 20, 300);
        let shorter = with(Setting::Fifo, 20, 30);
        assert_eq!(best(&[default.clone(), shorter]), Setting::Fifo);
        let longer = with(Setting::Fifo, 10, 400);
        assert_eq!(best(&[default, longer]), Setting::Default);
    }

    #[test]
    fn what_was_refused_is_never_best() {
        let default = measured(Setting::Default, &[50]);
        let fifo = row(Setting::Fifo, Err("no".into()));
        assert_eq!(fifo.lateness, None);
        assert_eq!(best(&[default, fifo]), Setting::Default);
    }
}
