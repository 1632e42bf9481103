//! Working latency: what load does to the response, stage by stage.

use crate::ping::Ping;
use delaylab_live::load::StreamReport;
use delaylab_model::Nanos;
use delaylab_model::load::Direction;
use delaylab_model::units::{format_duration, format_duration_f64, format_part, format_share};
use delaylab_stats::anatomy::{Part, Stage, StageSet, in_common};
use delaylab_stats::interval::{CONFIDENCE, Estimate, Z, of_difference, of_share};
use delaylab_stats::quantile::trimmed_mean;
use delaylab_stats::student::two_sided;
use delaylab_stats::summary::{AnatomyAt, Distribution, Interval, Summary};

/// A ping without load and one under it.
#[derive(Debug, Clone, Copy)]
pub struct Working<'a> {
    /// Before the load began.
    pub idle: Ping<'a>,
    /// While it was sent.
    pub loaded: Ping<'a>,
    /// The load as the user wrote it.
    pub load: &'a str,
    /// What each of its streams did.
    pub streams: &'a [StreamReport],
}

/// The stage that grew most at the median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// Which.
    pub stages: StageSet,
    /// Idle, around the median response.
    pub idle_ns: f64,
    /// The same under load.
    pub loaded_ns: f64,
}

impl Growth {
    fn ns(&self) -> f64 {
        self.loaded_ns - self.idle_ns
    }
}

/// What became of the median response under load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianGrowth {
    /// The median under load less the median idle, in nanoseconds.
    pub ns: Nanos,
    /// Its interval at 95 %; `None` where a median has none.
    pub interval: Option<[f64; 2]>,
    /// Is it longer by more than chance?
    pub is_longer: bool,
}

/// Round trips a minute: 60 s / mean round trip.
pub fn round_trips_a_minute(summary: &Summary) -> Option<f64> {
    a_minute(summary.round_trip.as_ref()?.mean)
}

/// Responsiveness as draft-ietf-ippm-responsiveness-08 has it ("Aggregating the Measurements"), in round trips a
/// minute, of what a probe has: 60 s / trimmed mean, of probes on a connection of their own.
pub fn on_its_own(summary: &Summary) -> Option<f64> {
    a_minute(summary.trimmed_round_trip?)
}

fn a_minute(mean_ns: f64) -> Option<f64> {
    (mean_ns > 0.0).then(|| 60e9 / mean_ns)
}

/// Share of round trips in a trimmed mean (TMP of the draft).
const TRIMMED: f64 = 0.95;

impl Working<'_> {
    /// The same on the connections that make the load. What cannot ask on them takes TCP's own estimate of the round
    /// trip, as the draft allows. `None` without a TCP load.
    pub fn on_the_loads(&self) -> Option<f64> {
        let estimates = self.streams.iter().flat_map(|stream| &stream.round_trips);
        let mut estimates: Vec<f64> = estimates.map(|&ns| ns as f64).collect();
        a_minute(trimmed_mean(&mut estimates, TRIMMED)?)
    }

    /// Responsiveness under working conditions: the mean of the two; without a TCP load the probes' alone.
    pub fn responsiveness(&self) -> Option<f64> {
        let own = on_its_own(self.loaded.summary)?;
        Some(self.on_the_loads().map_or(own, |loads| (own + loads) / 2.0))
    }

    /// By how much the median response grew.
    pub fn median_growth(&self) -> Option<MedianGrowth> {
        let idle = self.idle.summary.response.as_ref()?;
        let loaded = self.loaded.summary.response.as_ref()?;
        let is_known = |of: &Distribution| matches!(of.p50_interval, Interval::Known { .. });
        let are_known = is_known(idle) && is_known(loaded);
        Some(MedianGrowth {
            ns: loaded.p50 - idle.p50,
            interval: are_known.then(|| of_difference(median_of(idle), median_of(loaded))),
            is_longer: is_longer(idle, loaded),
        })
    }

    /// Bits of payload a second that arrived, of all streams that go this way; `None` where none began, or where it is
    /// not known of one.
    pub fn goodput(&self, direction: Direction) -> Option<f64> {
        let these = self.streams.iter();
        let these = these.filter(|stream| stream.direction == direction && stream.lasted.is_some());
        let goodput: Option<Vec<f64>> = these.map(StreamReport::goodput).collect();
        goodput
            .filter(|all| !all.is_empty())
            .map(|all| all.iter().sum())
    }

    /// The stage that grew most at the median, where the median response grew.
    pub fn growth(&self) -> Option<Growth> {
        let all = self.grown()?;
        all.into_iter().max_by(|a, b| a.ns().total_cmp(&b.ns()))
    }

    /// Each stage at the median, idle and under load, where the median response grew by more than chance.
    fn grown(&self) -> Option<Vec<Growth>> {
        let idle = self.idle.summary.response.as_ref()?;
        let loaded = self.loaded.summary.response.as_ref()?;
        if !is_longer(idle, loaded) {
            return None;
        }
        let (idle, loaded) = (median(self.idle.summary)?, median(self.loaded.summary)?);
        // Stamps may be there in one of the two only.
        let both = in_common(&idle.parts, &loaded.parts).into_iter();
        let growth = |[idle, loaded]: [Part; 2]| Growth {
            stages: idle.stages,
            idle_ns: idle.ns,
            loaded_ns: loaded.ns,
        };
        Some(both.map(growth).collect())
    }

    /// By how much the median response grew, and where: in the hosts or in which queue; and what is lost more.
    pub fn verdict(&self) -> String {
        let medians = |ping: &Ping<'_>| ping.summary.response.as_ref().map(|response| response.p50);
        match (medians(&self.idle), medians(&self.loaded)) {
            (Some(idle), Some(loaded)) => self.of_medians(idle, loaded),
            (Some(_), None) => format!(
                "Nothing was answered under load: {} of the packets are lost ({} idle).",
                lost(self.loaded.summary),
                lost(self.idle.summary)
            ),
            (None, _) => "Nothing was answered idle: what load does is not known.".to_owned(),
        }
    }

    /// The verdict on these medians, which both parts have.
    fn of_medians(&self, idle: Nanos, loaded: Nanos) -> String {
        let [before, after] = [idle, loaded].map(format_duration);
        let Some(growth) = self.growth() else {
            let longer = match loaded > idle {
                true => ", longer by no more than chance",
                false => "",
            };
            return format!(
                "No queue grew: the median response is {before} idle and {after} under load{longer}.{}{}",
                self.tail(),
                self.losses(" But")
            );
        };
        let ratio = loaded as f64 / (idle as f64).max(1.0);
        let grown = (loaded - idle) as f64;
        let grows = match before == after {
            // Three digits do not tell the two apart.
            true => format!(
                ", {before} idle, grows by {} ({})",
                format_duration(loaded - idle),
                format_share(ratio - 1.0)
            ),
            false => format!(" {}, from {before} to {after}", grows(ratio)),
        };
        let share = growth.ns() / grown;
        let where_ = match self.hosts_share() {
            Some(hosts) if hosts >= ALL && !is_on_path(growth.stages) => format!(
                "all of that is in the hosts ({}): no queue on the path grew",
                self.largest()
            ),
            Some(hosts) if hosts >= 0.5 && !is_on_path(growth.stages) => format!(
                "{} of that is in the hosts ({})",
                crate::words::short_percent(hosts),
                self.largest()
            ),
            _ => format!(
                "{} of that is in {}{}",
                crate::words::short_percent(share.min(1.0)),
                self.place(growth.stages),
                self.second(growth.stages, grown)
            ),
        };
        format!(
            "Under load the median response{grows}; {where_}.{}",
            self.losses("")
        )
    }

    /// ` 30 % of the packets are lost under load (0 % idle).`, where that is more by more than chance: a short queue that
    /// is full delays little.
    fn losses(&self, begin: &str) -> String {
        let [idle, loaded] = [self.idle, self.loaded].map(|ping| {
            let counts = &ping.summary.counts;
            of_share(counts.lost, counts.ended())
        });
        let more = idle.zip(loaded);
        match more.is_some_and(|(idle, loaded)| of_difference(idle, loaded)[0] > 0.0) {
            true => format!(
                "{begin} {} of the packets are lost under load ({} idle).",
                lost(self.loaded.summary),
                lost(self.idle.summary)
            ),
            false => String::new(),
        }
    }

    /// How much of what the median response grew by is in the hosts at both ends, without the queue of this host's own
    /// interface: that is on the path of everything that leaves. The reflector's is in the stage of that name, which is
    /// left out, too, where load leaves there. `None` without the stamps.
    fn hosts_share(&self) -> Option<f64> {
        let (idle, loaded) = (median(self.idle.summary)?, median(self.loaded.summary)?);
        let grown = loaded.response_ns - idle.response_ns;
        let is_queue = |stages: StageSet| {
            let is_reflector = self.comes_down() && stages.contains(Stage::Reflector);
            !is_between(stages) && (stages.contains(Stage::LocalQueue) || is_reflector)
        };
        let all = self.grown()?.into_iter();
        let queues = all.filter(|growth| is_queue(growth.stages));
        let queues: f64 = queues.map(|growth| growth.ns()).sum();
        (grown > 0.0).then_some((loaded.host_ns? - idle.host_ns? - queues) / grown)
    }

    /// Is there load that the reflector's host sends?
    fn comes_down(&self) -> bool {
        let mut streams = self.streams.iter();
        streams.any(|stream| stream.direction == Direction::Down)
    }

    /// What a stage that grew says of where.
    fn place(&self, stages: StageSet) -> String {
        if self.comes_down() && stages == StageSet::only(Stage::Reflector) {
            return "the reflector: the queue of its own interface, which the load that comes down passes, or its \
                    host, which is busy with it"
                .to_owned();
        }
        place(stages)
    }

    /// `; 32 % is the forward path`: another stage that has much of what the median grew by. Load both ways fills two
    /// queues.
    fn second(&self, first: StageSet, grown: f64) -> String {
        let all = self.grown().unwrap_or_default().into_iter();
        let others = all.filter(|growth| growth.stages != first);
        let shares = others.map(|growth| (growth.stages, growth.ns() / grown));
        let largest = shares.max_by(|a, b| a.1.total_cmp(&b.1));
        let much = largest.filter(|&(_, share)| share >= MUCH);
        much.map_or_else(String::new, |(stages, share)| {
            let share = crate::words::short_percent(share.min(1.0));
            format!("; {share} is in the {stages}")
        })
    }

    /// `reflector +32.1 µs, receive wake-up +20.0 µs`: the stages that grew most, to four fifths of all.
    fn largest(&self) -> String {
        let mut grown: Vec<_> = (self.grown().unwrap_or_default().into_iter())
            .map(|growth| (growth.stages, growth.ns()))
            .filter(|(_, by)| *by > 0.0)
            .collect();
        grown.sort_by(|a, b| b.1.total_cmp(&a.1));
        let all: f64 = grown.iter().map(|(_, by)| by).sum();
        let mut so_far = 0.0;
        let enough = grown.iter().take_while(|(_, by)| {
            let before = so_far;
            so_far += by;
            before < 0.8 * all
        });
        let words: Vec<_> = enough
            .map(|(stages, by)| format!("{stages} +{}", format_duration_f64(*by)))
            .collect();
        words.join(", ")
    }

    /// The tail may grow where the median does not.
    fn tail(&self) -> String {
        let p99 = |summary: &Summary| summary.response.as_ref()?.carried_p99();
        match (p99(self.idle.summary), p99(self.loaded.summary)) {
            (Some(idle), Some(loaded)) if loaded as f64 >= TAIL_GROWS * idle as f64 => format!(
                " The slowest 1 % do: p99 {}, from {} to {}.",
                grows(loaded as f64 / (idle as f64).max(1.0)),
                format_duration(idle),
                format_duration(loaded)
            ),
            _ => String::new(),
        }
    }
}

/// So much of the growth is "all of it".
const ALL: f64 = 0.95;
/// A second stage with so much of the growth is worth a word.
const MUCH: f64 = 0.2;
/// Tails differ by themselves: from here on they are worth a word.
const TAIL_GROWS: f64 = 1.5;

/// `doubles`, `grows 12-fold`, `grows by 14 %`.
fn grows(ratio: f64) -> String {
    match ratio {
        r if (1.85..2.25).contains(&r) => "doubles".to_owned(),
        r if r < 1.85 => format!("grows by {}", format_share(r - 1.0)),
        r if r < 9.5 => format!("grows {r:.1}-fold"),
        r => format!("grows {r:.0}-fold"),
    }
}

/// Is the median under load longer, by more than both medians are uncertain? That half of all take longer than every idle
/// one is no chance, however much they resemble each other.
fn is_longer(idle: &Distribution, loaded: &Distribution) -> bool {
    loaded.p50 > idle.max || of_difference(median_of(idle), median_of(loaded))[0] > 0.0
}

/// A median and its interval at 95 %. Where none is known its packets are too few, too many, or resemble each other; it is
/// then as wide as that of as many independent ones as the interval of their mean tells, or as that of [`UNKNOWN`] ones.
/// The error of a median is 0.93 IQR/√n.
fn median_of(of: &Distribution) -> Estimate {
    let p50 = of.p50 as f64;
    if let Interval::Known { low, high } = of.p50_interval {
        return (p50, [low, high]);
    }
    let told = match (&of.mean_interval, of.sd) {
        (Interval::Known { low, high }, Some(sd)) if high > low => {
            (2.0 * Z * sd / (high - low)).powi(2)
        }
        _ => UNKNOWN,
    };
    let independent = told.min(of.count as f64).max(2.0);
    let half =
        two_sided(CONFIDENCE, independent as u32 - 1) * 0.93 * of.iqr as f64 / independent.sqrt();
    (p50, [p50 - half, p50 + half])
}

/// Packets of which nothing tells how much they resemble each other say as much as this many independent ones: their median
/// is longer where the difference is larger than they vary.
const UNKNOWN: f64 = 4.0;

/// Has it a stage between the hosts, or the queue of this host's own interface?
fn is_on_path(stages: StageSet) -> bool {
    stages.contains(Stage::LocalQueue) || is_between(stages)
}

/// Has it a stage between the hosts?
fn is_between(stages: StageSet) -> bool {
    stages.contains(Stage::ForwardPath) || stages.contains(Stage::ReturnPath)
}

/// What share of the packets was lost.
fn lost(summary: &Summary) -> String {
    format_part(summary.counts.lost, summary.counts.ended())
}

fn median(summary: &Summary) -> Option<&AnatomyAt> {
    summary.anatomy_at("p50")
}

/// What a stage that grew says of where.
fn place(stages: StageSet) -> String {
    let only = |stage| stages.len() == 1 && stages.contains(stage);
    let path = stages.contains(Stage::ForwardPath) && stages.contains(Stage::ReturnPath);
    let words = if only(Stage::LocalQueue) {
        "the local queue: that of this host's own interface"
    } else if only(Stage::ForwardPath) {
        "the forward path: a queue on the way there"
    } else if only(Stage::ReturnPath) {
        "the return path: a queue on the way back"
    } else if only(Stage::Reflector) {
        "the reflector: its host is busy"
    } else if path && !stages.contains(Stage::LocalQueue) {
        "the path: a queue there or back (with --method udp and a reflector whose clock is known the two \
         are separate)"
    } else if path {
        "somewhere between the two processes: without stamps the place is unknown"
    } else if is_on_path(stages) {
        return format!("the {stages}: one of these, which the stamps do not separate");
    } else {
        return format!("this host, which is busy: {stages}");
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::samples::{Sample, changed, delayed, full, lose, one, put_off, streams};

    #[test]
    fn the_queue_that_grew_is_named() {
        let (idle, streams) = (full(), streams());
        let loaded = delayed(&idle, 20_000_000);
        let working = Working {
            idle: idle.ping(),
            loaded: loaded.ping(),
            load: "tcp",
            streams: &streams,
        };
        let growth = working.growth().unwrap();
        assert!(growth.stages.contains(Stage::ForwardPath));
        assert!(
            (growth.loaded_ns - growth.idle_ns - 2e7).abs() < 1e6,
            "{growth:?}"
        );
        assert!(
            working.verdict().contains("forward path"),
            "{}",
            working.verdict()
        );
        let still = Working {
            loaded: idle.ping(),
            ..working
        };
        assert_eq!(still.growth(), None);
        assert!(still.verdict().contains("No queue grew"));
    }

    /// A long path: what is more than chance may be little.
    #[test]
    fn a_small_growth_is_not_said_to_be_none() {
        let (idle, streams) = (delayed(&full(), 100_000_000), streams());
        for (by, says) in [
            (300_000, ", 100 ms idle, grows by 300 µs (0.30 %); "),
            (700_000, " grows by 0.70 %, from 100 ms to 101 ms; "),
            (20_000_000, " grows by 20 %, from 100 ms to 120 ms; "),
        ] {
            let loaded = delayed(&idle, by);
            let working = Working {
                idle: idle.ping(),
                loaded: loaded.ping(),
                load: "tcp",
                streams: &streams,
            };
            let verdict = working.verdict();
            let says = format!("Under load the median response{says}");
            assert!(verdict.starts_with(&says), "{verdict}");
        }
    }

    /// The error queue overflows under load, and takes the stamps of some packets with it.
    #[test]
    fn stages_that_only_the_idle_part_tells_apart_grow_together() {
        let (idle, streams) = (full(), streams());
        let loaded = changed(&delayed(&idle, 20_000_000), |record| {
            record.t_tx = record.t_tx.filter(|_| record.seq % 5 > 2);
        });
        let working = Working {
            idle: idle.ping(),
            loaded: loaded.ping(),
            load: "tcp",
            streams: &streams,
        };
        let growth = working.growth().unwrap();
        assert_eq!(growth.stages.name(), "local queue + forward path");
        assert!((growth.ns() - 2e7).abs() < 1e6, "{growth:?}");
        let verdict = working.verdict();
        let place = "% of that is in the local queue + forward path: one of these";
        assert!(verdict.contains(place), "{verdict}");
    }

    /// A buffer of a few packets delays little and loses much.
    #[test]
    fn what_load_loses_is_said_whether_or_not_a_queue_grew() {
        let (idle, streams) = (full(), streams());
        let verdict = |loaded: &Sample| {
            let working = Working {
                idle: idle.ping(),
                loaded: loaded.ping(),
                load: "tcp",
                streams: &streams,
            };
            working.verdict()
        };
        let lossy = |sample: &Sample, every: u64| {
            changed(sample, |record| {
                if record.seq % every == 0 {
                    lose(record);
                }
            })
        };
        let short = verdict(&lossy(&full(), 3));
        assert!(short.starts_with("No queue grew"), "{short}");
        let lost = " But 34 % of the packets are lost under load (0.40 % idle).";
        assert!(short.ends_with(lost), "{short}");
        let long = verdict(&lossy(&delayed(&full(), 20_000_000), 3));
        let lost = ". 34 % of the packets are lost under load (0.40 % idle).";
        assert!(long.ends_with(lost), "{long}");
        let few = verdict(&lossy(&full(), 200));
        assert!(!few.contains("lost"), "{few}");
        let none = verdict(&lossy(&full(), 1));
        assert_eq!(
            none,
            "Nothing was answered under load: 100 % of the packets are lost (0.40 % idle)."
        );
    }

    /// A machine that wakes up under load answers faster: that is no growth within chance.
    #[test]
    fn a_shorter_response_is_not_called_longer() {
        let (loaded, streams) = (full(), streams());
        let idle = delayed(&loaded, 20_000_000);
        let working = Working {
            idle: idle.ping(),
            loaded: loaded.ping(),
            load: "tcp",
            streams: &streams,
        };
        let verdict = working.verdict();
        assert!(verdict.starts_with("No queue grew"), "{verdict}");
        assert!(!verdict.contains("longer"), "{verdict}");
    }

    /// Load both ways at once fills two queues, and both are said.
    #[test]
    fn two_queues_that_grew_are_both_named() {
        let (idle, streams) = (full(), streams());
        let loaded = changed(&delayed(&idle, 20_000_000), |record| {
            put_off(40_000_000, [&mut record.t_rx, &mut record.t_recv]);
        });
        let working = Working {
            idle: idle.ping(),
            loaded: loaded.ping(),
            load: "both",
            streams: &streams,
        };
        let verdict = working.verdict();
        for part in [
            "67% of that is in the return path",
            "; 33% is in the forward path.",
        ] {
            assert!(verdict.contains(part), "{verdict}");
        }
    }

    /// What the hosts take longer is no queue: that the response doubled is said all the same.
    #[test]
    fn hosts_that_are_busy_are_no_queue() {
        let (idle, streams) = (full(), streams());
        let response = idle.summary.response.as_ref().unwrap().p50;
        let loaded = changed(&full(), |record| {
            record.t_recv = record.t_recv.map(|t| t + response);
        });
        let working = Working {
            idle: idle.ping(),
            loaded: loaded.ping(),
            load: "tcp",
            streams: &streams,
        };
        let verdict = working.verdict();
        for part in [
            "doubles",
            "all of that is in the hosts",
            "receive wake-up +",
            "no queue on the path",
        ] {
            assert!(verdict.contains(part), "{part}: {verdict}");
        }
    }

    /// This host's own interface is a queue, though not one between the hosts.
    #[test]
    fn the_local_queue_is_a_queue() {
        let (idle, streams) = (full(), streams());
        let loaded = changed(&full(), |record| {
            put_off(
                50_000_000,
                [
                    &mut record.t_tx,
                    &mut record.r_rx,
                    &mut record.r_user,
                    &mut record.r_tx,
                    &mut record.t_rx,
                    &mut record.t_recv,
                ],
            );
        });
        let working = Working {
            idle: idle.ping(),
            loaded: loaded.ping(),
            load: "tcp",
            streams: &streams,
        };
        let verdict = working.verdict();
        assert!(verdict.contains("the local queue"), "{verdict}");
        assert!(!verdict.contains("in the hosts"), "{verdict}");
    }

    /// What waits in the reflector's host for load to leave there is not called a busy host alone.
    #[test]
    fn the_queue_of_the_reflectors_interface_may_be_one() {
        let (idle, mut streams) = (full(), streams());
        let loaded = changed(&full(), |record| {
            put_off(
                50_000_000,
                [&mut record.r_tx, &mut record.t_rx, &mut record.t_recv],
            );
        });
        for (direction, expected) in [
            (Direction::Up, "in the hosts (reflector"),
            (Direction::Down, "the queue of its own interface"),
        ] {
            streams[0].direction = direction;
            let working = Working {
                idle: idle.ping(),
                loaded: loaded.ping(),
                load: "tcp",
                streams: &streams,
            };
            let verdict = working.verdict();
            assert!(verdict.contains(expected), "{verdict}");
        }
    }

    #[test]
    fn the_growth_of_a_median_has_an_interval() {
        let (mut idle, streams) = (full(), streams());
        let mut loaded = delayed(&idle, 20_000_000);
        let known = |sample: &mut Sample, below: f64, above: f64| {
            let response = sample.summary.response.as_mut().unwrap();
            let p50 = response.p50 as f64;
            let (low, high) = (p50 - below, p50 + above);
            response.p50_interval = Interval::Known { low, high };
        };
        known(&mut idle, 4e3, 3e3);
        known(&mut loaded, 4e3, 3e3);
        let working = |loaded| Working {
            idle: idle.ping(),
            loaded,
            load: "tcp",
            streams: &streams,
        };
        let growth = working(loaded.ping()).median_growth().unwrap();
        let grown = loaded.summary.response.as_ref().unwrap().p50
            - idle.summary.response.as_ref().unwrap().p50;
        assert_eq!((growth.ns, growth.is_longer), (grown, true));
        // 4 and 3 below, 3 and 4 above: 5 each way.
        let [low, high] = growth.interval.unwrap().map(|ns| ns - grown as f64);
        assert!(
            (low + 5e3).abs() < 1.0 && (high - 5e3).abs() < 1.0,
            "{low} {high}"
        );
        let none = working(idle.ping()).median_growth().unwrap();
        assert_eq!((none.ns, none.is_longer), (0, false));
        assert_eq!(none.interval, Some([-5e3, 5e3]));
        assert_eq!(working(loaded.ping()).goodput(Direction::Up), Some(1e7));
        assert_eq!(working(loaded.ping()).goodput(Direction::Down), None);
    }

    /// Packets that resemble each other say as much as few, and an interval that is all above zero is no chance.
    #[test]
    fn a_median_is_longer_where_its_interval_says_so() {
        let known = |low: f64, high: f64| Interval::Known { low, high };
        let refused = || Interval::Refused {
            reason: String::new(),
        };
        let of = |count: u64, p50: Nanos, interval: Interval| Distribution {
            count,
            p50,
            iqr: 1_000_000,
            max: 20_000_000,
            mean_interval: refused(),
            p50_interval: interval,
            ..full().summary.response.unwrap()
        };
        let ms = 1_000_000;
        let longer = |by: Nanos| {
            let (idle, loaded) = (
                of(100, 10 * ms, refused()),
                of(100, 10 * ms + by, refused()),
            );
            is_longer(&idle, &loaded)
        };
        assert!(!longer(ms), "it wanders as far by itself");
        assert!(longer(3 * ms));
        // A queue that fills once varies as much as it is long.
        let filled = Distribution {
            iqr: 60 * ms,
            ..of(100, 58 * ms, refused())
        };
        assert!(is_longer(&of(100, 10 * ms, refused()), &filled));
        // 0.35 (0.03 to 0.67).
        let idle = of(100, 10 * ms, known(9.8e6, 10.2e6));
        let loaded = |p50| of(100, p50, known(10.1e6, 10.6e6));
        assert!(is_longer(&idle, &loaded(10 * ms + 350_000)));
        assert!(!is_longer(&idle, &loaded(10 * ms + 200_000)));
        // A million packets of which the mean is known to 4 %.
        let many = |p50| Distribution {
            sd: Some(1e6),
            mean_interval: known(9.96e6, 10.04e6),
            ..of(1_000_000, p50, refused())
        };
        assert!(!is_longer(&many(10 * ms), &many(10 * ms + 30_000)));
        assert!(is_longer(&many(10 * ms), &many(10 * ms + 90_000)));
    }

    #[test]
    fn goodput_of_all_streams_is_not_known_without_that_of_one() {
        let sample = full();
        let [mut two, mut never] = [[streams(), streams()].concat(), streams()];
        never[0].lasted = None;
        two.extend(never);
        let goodput = |streams: &[StreamReport]| {
            let working = Working {
                idle: sample.ping(),
                loaded: sample.ping(),
                load: "cbr",
                streams,
            };
            working.goodput(Direction::Up)
        };
        assert_eq!(goodput(&two), Some(2e7));
        assert_eq!(goodput(&two[2..]), None);
        (two[0].kind, two[0].received) = (delaylab_model::load::LoadKind::Cbr, None);
        assert_eq!(goodput(&two), None);
    }

    #[test]
    fn responsiveness_is_that_of_the_draft() {
        let (idle, streams) = (full(), streams());
        let loaded = delayed(&idle, 20_000_000);
        let working = Working {
            idle: idle.ping(),
            loaded: loaded.ping(),
            load: "tcp",
            streams: &streams,
        };
        // Round trips of 20 ms on the load's connections.
        assert_eq!(working.on_the_loads(), Some(3000.0));
        let own = 60e9 / loaded.summary.trimmed_round_trip.unwrap();
        assert_eq!(working.responsiveness(), Some((own + 3000.0) / 2.0));
        let without = Working {
            streams: &[],
            ..working
        };
        assert_eq!(without.responsiveness(), Some(own));
    }

    #[test]
    fn round_trips_a_minute_are_those_of_the_mean() {
        let sample = one();
        let mean = sample.summary.round_trip.as_ref().unwrap().mean;
        let expected = 60e9 / mean;
        assert_eq!(round_trips_a_minute(&sample.summary), Some(expected));
    }
}
