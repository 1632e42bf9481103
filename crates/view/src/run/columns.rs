//! The columns of a table of trials: packets, delays, and what the median response is made of.
//!
//! Delays are responses, from when a packet was due, as `delaylab ping` prints: what was late before it was sent is in no round
//! trip. Where that differs by more than a little, the round trip stands next to it. Where nothing tells the two apart they are called round
//! trips. Each is named above its first column.

use super::groups::Apart;
use super::shown_delay::ShownDelay;
use super::{Group, RunData, Ways};
use crate::words::{UNKNOWN, or_unknown, short_percent};
use delaylab_model::Nanos;
use delaylab_model::units::{format_duration, format_duration_f64, format_part};
use delaylab_stats::anatomy::{Stage, StageSet};
use delaylab_stats::summary::{Counts, Distribution, Summary};

/// A median or p99 that is further from that of the other measure than this share of it is another one.
const SAME: f64 = 0.05;

/// What a table of trials shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    main: ShownDelay,
    /// The other measure, too.
    beside: bool,
    /// What a server took, too.
    of_servers: bool,
    ways: Ways,
}

impl RunData {
    /// Responses where they are anything else than round trips, or where its findings judge them; a part of a run shows what the
    /// whole shows. Frames have one delay, which is the same by either name.
    pub fn shown_delay(&self) -> ShownDelay {
        if let Some(delay) = self.shown {
            return delay;
        }
        // The measure, and not a name that has it.
        let names_it = |check: &str| {
            let is_of_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            let mut words = check.split(|c: char| !is_of_word(c));
            words.any(|word| word == "response")
        };
        let judged = || self.findings.iter().any(|it| names_it(&it.check));
        let is_another = |it: &Group| {
            let Summary {
                response,
                round_trip,
                ..
            } = &it.summary;
            response.is_some() && response != round_trip
        };
        match ShownDelay::of(self.ways()) {
            // The same by the name that more know.
            ShownDelay::Response if !judged() && !self.groups.iter().any(is_another) => {
                ShownDelay::RoundTrip
            }
            delay => delay,
        }
    }
}

impl Columns {
    /// Of these rows of a run.
    pub fn new(run: &RunData, apart: &Apart<'_>) -> Self {
        let ways = run.ways();
        let main = run.shown_delay();
        let differs = |summary: &&Summary| {
            differs(
                main.distribution(summary),
                main.other().distribution(summary),
            )
        };
        let beside = ways == Ways::RoundTrip
            && main == ShownDelay::Response
            && apart.rows.iter().any(|(.., summary)| differs(summary));
        let of_servers = apart
            .rows
            .iter()
            .any(|(.., summary)| summary.server.is_some());
        Self {
            main,
            beside,
            of_servers,
            ways,
        }
    }

    /// What its delays are called.
    pub fn delays(&self) -> &'static str {
        match self.main {
            ShownDelay::Response => "responses",
            ShownDelay::RoundTrip => self.ways.delays(),
        }
    }

    /// A head for each of [`Columns::cells`].
    pub fn heads(&self) -> Vec<String> {
        let first = format!("{} p50", self.main.name(self.ways));
        // Where another delay stands beside it, this says of which it is.
        let sd = match self.beside {
            true => format!("{} sd", self.main.name(self.ways)),
            false => "sd".to_owned(),
        };
        let heads = ["sent", "lost", &first, "p99", &sd, "max"].map(str::to_owned);
        let other = format!("{} p50", self.main.other().name(self.ways));
        // Of two columns of one name programs would read one.
        let other_p99 = format!("{} p99", self.main.other().name(self.ways));
        let other = self.beside.then_some([other, other_p99]);
        let shares = self.shares().iter().map(|head| (*head).to_owned());
        let other = other.into_iter().flatten();
        heads.into_iter().chain(other).chain(shares).collect()
    }

    /// Heads of those that are shares of the median response.
    pub const fn shares(&self) -> &'static [&'static str] {
        match self.of_servers {
            true => &["host", "network", "server"],
            false => &["host", "network"],
        }
    }

    /// The figures of a stream or panel.
    pub fn cells(&self, summary: &Summary) -> Vec<String> {
        let counts = &summary.counts;
        let delays = self.main.distribution(summary);
        let sd = delays.and_then(|d| d.sd);
        let other = self.main.other().distribution(summary);
        let other = [
            other.map(|d| d.p50),
            other.and_then(Distribution::carried_p99),
        ]
        .map(time);
        let other = self.beside.then_some(other).into_iter().flatten();
        let [host, network] = shares(summary).map(|share| or_unknown(share, short_percent));
        let first = [
            sent(counts),
            format_part(counts.lost, counts.ended()),
            time(delays.map(|d| d.p50)),
            time(delays.and_then(Distribution::carried_p99)),
            or_unknown(sd, format_duration_f64),
            time(delays.map(|d| d.max)),
        ];
        let server = self.of_servers.then(|| server(summary));
        let shares = [host, network].into_iter().chain(server);
        first.into_iter().chain(other).chain(shares).collect()
    }
}

/// What the server took of the median response, of which host and network are shares, too: that of the packets around the
/// median where it is told, else two shares between which it is.
fn server(summary: &Summary) -> String {
    let median = summary.anatomy_at("p50");
    let told =
        median.and_then(|at| Some(at.ns_of(StageSet::only(Stage::Server))? / at.response_ns));
    let bounds = summary.server.as_ref().zip(summary.response.as_ref());
    let bounds = bounds.map(|(server, all)| {
        [&server.least, &server.most].map(|bound| (bound.p50 as f64 / all.p50 as f64).min(1.0))
    });
    let shares = told.map(|share| [share; 2]).or(bounds);
    match shares.map(|shares| shares.map(short_percent)) {
        None => UNKNOWN.to_owned(),
        Some([least, most]) if least == most => least,
        Some([least, most]) => format!("{}–{most}", least.trim_end_matches('%')),
    }
}

fn differs(one: Option<&Distribution>, other: Option<&Distribution>) -> bool {
    let apart = |a: Nanos, b: Nanos| (a - b).abs() as f64 > SAME * a.max(b) as f64;
    let both = one.zip(other);
    both.is_some_and(|(a, b)| {
        let p99 = a.carried_p99().zip(b.carried_p99());
        apart(a.p50, b.p50) || p99.is_some_and(|(a, b)| apart(a, b))
    })
}

/// Nothing is known of packets that were never recorded: some reports of other tools have figures alone.
fn sent(counts: &Counts) -> String {
    match *counts == Counts::default() {
        true => UNKNOWN.to_owned(),
        false => counts.sent.to_string(),
    }
}

fn time(ns: Option<Nanos>) -> String {
    or_unknown(ns, format_duration)
}

/// Host and network in the median response, 0 to 1, where stamps tell them apart.
pub fn shares(summary: &Summary) -> [Option<f64>; 2] {
    let median = summary.anatomy_at("p50");
    let share = |ns: Option<f64>| Some(ns? / median?.response_ns);
    [
        share(median.and_then(|at| at.host_ns)),
        share(median.and_then(|at| at.network_ns)),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::run::samples::{classes, waits};
    use delaylab_stats::summary::ServerTime;

    #[test]
    fn delays_are_responses_where_these_are_anything_else_than_round_trips() {
        let run = waits();
        let columns = Columns::new(&run, &run.apart(false));
        assert_eq!(columns.heads()[2], "response p50");
        let (.., summary) = run.apart(false).rows[0];
        let cells = columns.cells(summary);
        assert_eq!(cells.len(), columns.heads().len());
        let median = summary.response.as_ref().unwrap().p50;
        assert_eq!(cells[2], format_duration(median));

        // As an import of packets of which nothing tells when they were due.
        let mut run = run;
        run.findings.clear();
        assert_eq!(run.shown_delay(), ShownDelay::Response);
        for group in &mut run.groups {
            group.summary.response = group.summary.round_trip.clone();
        }
        let columns = Columns::new(&run, &run.apart(false));
        assert_eq!(columns.heads()[2], "round trip p50");
        let part = RunData {
            shown: Some(ShownDelay::Response),
            ..run
        };
        assert_eq!(part.shown_delay(), ShownDelay::Response);
    }

    #[test]
    fn what_a_server_took_has_a_column() {
        let mut run = waits();
        let before = Columns::new(&run, &run.apart(false)).heads();
        assert!(!before.contains(&"server".to_owned()));
        let answer = |summary: &mut Summary| {
            let most = summary.response.clone().unwrap();
            let half = most.p50 / 2;
            let least = Distribution {
                p50: half,
                ..most.clone()
            };
            summary.server = Some(ServerTime {
                told: 0,
                says: None,
                around: Vec::new(),
                least,
                most,
            });
        };
        run.groups
            .iter_mut()
            .for_each(|group| answer(&mut group.summary));
        run.panels
            .iter_mut()
            .for_each(|panel| answer(&mut panel.summary));
        run.trials
            .iter_mut()
            .for_each(|trial| answer(&mut trial.summary));
        let apart = run.apart(false);
        let columns = Columns::new(&run, &apart);
        assert_eq!(columns.heads().last().unwrap(), "server");
        let cells = columns.cells(apart.rows[0].2);
        assert_eq!(cells.last().unwrap(), "50–100%");
        // Of the response, as host and network are, and not of a round trip that is shorter.
        let mut summary = apart.rows[0].2.clone();
        run.shown = Some(ShownDelay::RoundTrip);
        if let Some(round_trip) = &mut summary.round_trip {
            round_trip.p50 /= 2;
        }
        let columns = Columns::new(&run, &run.apart(false));
        assert_eq!(columns.heads()[2], "round trip p50");
        assert_eq!(columns.cells(&summary).last().unwrap(), "50–100%");
        // What is told at the median is no longer between two medians.
        let median = summary
            .anatomy
            .iter_mut()
            .find(|at| at.label == "p50")
            .unwrap();
        let (all, part) = (median.response_ns, median.parts.first_mut().unwrap());
        (part.stages, part.ns) = (StageSet::only(Stage::Server), 0.4 * all);
        assert_eq!(columns.cells(&summary).last().unwrap(), "40%");
    }

    #[test]
    fn where_the_two_differ_both_are_there() {
        let mut run = waits();
        for group in &mut run.groups {
            group.summary.response = group.summary.round_trip.clone();
        }
        for panel in &mut run.panels {
            panel.summary.response = panel.summary.round_trip.clone();
        }
        let heads = |run: &RunData| Columns::new(run, &run.apart(false)).heads();
        assert!(!heads(&run).contains(&"round trip p50".to_owned()));
        let later = |summary: &mut Summary| {
            let response = summary.response.as_mut().unwrap();
            response.p99 *= 9;
        };
        run.groups
            .iter_mut()
            .for_each(|group| later(&mut group.summary));
        run.panels
            .iter_mut()
            .for_each(|panel| later(&mut panel.summary));
        let both = heads(&run);
        assert!(both.contains(&"round trip p50".to_owned()));
        let distinct: std::collections::BTreeSet<_> = both.iter().collect();
        assert_eq!(distinct.len(), both.len(), "{both:?}");
        let mut frames = classes();
        for trial in &mut frames.trials {
            trial.stream.frames = true;
        }
        assert_eq!(heads(&frames)[2], "delay p50");
    }
}
