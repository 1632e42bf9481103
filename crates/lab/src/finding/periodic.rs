//! Which excursions a periodic process caused (source 000, finding 4).
//!
//! An excursion ([`delaylab_stats::excursion`]) is attributed to the process that had the CPU
//! ([`delaylab_stats::attribution`]). Its cause is periodic if that process runs at regular intervals. If no noise
//! source watched the CPU, the cause is periodic if the stream's excursions come at regular intervals and this
//! excursion is on time.

use super::values::{MeasureUnavailable, Values};
use delaylab_model::Nanos;
use delaylab_model::noise::NoiseEvent;
use delaylab_model::record::Record;
use delaylab_model::trial::RecordFacts;
use delaylab_stats::attribution::{HostView, LateCause, whose};
use delaylab_stats::excursion::{Excursion, Excursions, Spread};
use delaylab_stats::noise_join::Join;
use delaylab_stats::periodicity::{self, Settings};
use delaylab_stats::trains::{Owner, Trains};
use std::collections::BTreeMap;

/// What noise sources saw on the host during a trial.
pub struct HostActivity<'a> {
    /// Whether any source watched which process had the CPU.
    pub any: bool,
    /// The noise events of the trial.
    pub noise: &'a [NoiseEvent],
    /// The processes that ran in any trial of the run, and which of them are periodic.
    pub trains: &'a Trains,
}

/// One value for each record of a stream in order of sequence: 1 for an excursion with a periodic cause, 0 for
/// any other excursion, NaN for a packet that is not an excursion.
///
/// # Errors
/// No source watched the CPU, and the excursions are not enough to look for a period.
pub fn values(
    records: &[Record],
    facts: &RecordFacts,
    watched: &HostActivity<'_>,
) -> Result<Values, MeasureUnavailable> {
    let mut values = vec![f64::NAN; records.len()];
    let excursions = excursions(records, facts);
    if excursions.is_empty() {
        return Ok(Values::Packets(values));
    }
    let places: BTreeMap<u64, usize> = records.iter().map(|r| r.seq).zip(0..).collect();
    let late: Vec<Excursion> = excursions.iter().collect();
    let causes = match watched.any {
        true => by_name(&late, facts, watched),
        false => by_time(&late, records)?,
    };
    for (late, periodic) in late.iter().zip(causes) {
        if let Some(&place) = places.get(&late.seq) {
            values[place] = f64::from(u8::from(periodic));
        }
    }
    Ok(Values::Packets(values))
}

fn excursions(records: &[Record], facts: &RecordFacts) -> Excursions {
    let answered = records.iter().filter(|record| record.answered());
    let mut responses: Vec<f64> = answered
        .filter_map(|record| Some(record.response()? as f64))
        .collect();
    let bound = Spread::from_responses(&mut responses).map(Spread::bound);
    let mut excursions = Excursions::new(*facts, bound.unwrap_or(Nanos::MAX));
    for record in records {
        excursions.push(record);
    }
    excursions
}

/// For each excursion, whether the process that had the CPU runs at regular intervals.
fn by_name(late: &[Excursion], facts: &RecordFacts, watched: &HostActivity<'_>) -> Vec<bool> {
    let join = Join::new(watched.noise);
    let mut known = BTreeMap::<Owner, bool>::new();
    let mut is_regular = |who: Owner| {
        let regular = || watched.trains.regular(&who).is_some();
        *known.entry(who.clone()).or_insert_with(regular)
    };
    let host = HostView::new(*facts, &join, watched.trains, late.iter().cloned());
    late.iter()
        .map(|late| match whose(late, &host, None).0 {
            LateCause::Ran { who, .. } => is_regular(who),
            _ => false,
        })
        .collect()
}

/// For each excursion, whether it fits a period found in the times of the excursions alone.
fn by_time(late: &[Excursion], records: &[Record]) -> Result<Vec<bool>, MeasureUnavailable> {
    let events: Vec<Nanos> = late.iter().map(|late| late.due).collect();
    let probes: Vec<Nanos> = records.iter().map(|record| record.t_intended).collect();
    let found = periodicity::find(&events, &probes, &Settings::default());
    let found = found.map_err(|why| {
        MeasureUnavailable(format!(
            "nothing watched who had the CPU, and when packets were late does not tell: {why}"
        ))
    })?;
    let due = |time: &Nanos| found.is_some_and(|period| period.explains(*time));
    Ok(events.iter().map(due).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::method::Method;
    use delaylab_model::noise::NoiseKind;
    use delaylab_model::record::Outcome;
    use delaylab_stats::random::SplitMix;
    use delaylab_stats::trains::TrainsBuilder;

    const MS: Nanos = 1_000_000;

    /// A packet each 5 to 15 ms, at random, for a minute; those that `late` says are 3 ms longer under way.
    fn records(late: impl Fn(Nanos) -> bool) -> Vec<Record> {
        let mut random = SplitMix::new(5);
        let mut due = 0;
        let record = |seq| {
            due += 5 * MS + (random.uniform() * 10e6) as Nanos;
            let mut record = Record::due(0, 0, seq, Method::Udp, due);
            record.t_send = Some(due);
            record.t_sched = Some(due + 1_000);
            record.t_tx = Some(due + 2_000);
            record.t_rx = Some(due + 50_000);
            let jitter = (random.uniform() * 2_000.0) as Nanos;
            let more = if late(due) { 3 * MS } else { 0 };
            record.t_recv = Some(due + 60_000 + jitter + more);
            record.outcome = Outcome::Ok;
            record.cpu = Some(0);
            record
        };
        (0..6_000).map(record).collect()
    }

    fn periodic(due: Nanos) -> bool {
        due % (100 * MS) < 10 * MS
    }

    fn share(values: Values) -> (usize, f64) {
        let Values::Packets(values) = values else {
            panic!("{values:?}")
        };
        let late: Vec<f64> = values.into_iter().filter(|value| !value.is_nan()).collect();
        (late.len(), late.iter().sum::<f64>() / late.len() as f64)
    }

    fn run_of(who: &str, start: Nanos) -> NoiseEvent {
        NoiseEvent {
            trial: 0,
            start,
            length: 4 * MS,
            cpu: Some(0),
            kind: NoiseKind::Scheduled,
            who: Some(who.to_owned()),
            pid: None,
            preempted: None,
        }
    }

    fn watched(records: &[Record], noise: &[NoiseEvent]) -> (usize, f64) {
        let mut trains = TrainsBuilder::default();
        noise.iter().for_each(|event| trains.push(event));
        let trains = trains.finish();
        let watched = HostActivity {
            any: true,
            noise,
            trains: &trains,
        };
        share(values(records, &RecordFacts::default(), &watched).unwrap())
    }

    #[test]
    fn a_process_that_was_seen_is_periodic_if_its_runs_are() {
        let records = records(periodic);
        let late = records.iter().filter(|record| periodic(record.t_intended));
        // Runs begin on a grid of 100 ms, and last until the reply is read.
        let grid = late.map(|record| record.t_intended / (100 * MS) * (100 * MS));
        let mut on_time: Vec<NoiseEvent> = grid.map(|start| run_of("timer", start)).collect();
        on_time.dedup();
        on_time.iter_mut().for_each(|event| event.length = 14 * MS);
        let (count, all) = watched(&records, &on_time);
        assert!(count > 500 && all == 1.0, "{count} {all}");
        // And delayed by nobody who was seen.
        assert_eq!(watched(&records, &[]).1, 0.0);
    }

    #[test]
    fn a_process_that_runs_at_random_is_not_periodic() {
        let at_random = by_chance();
        let records = records(&at_random);
        let late = records.iter().filter(|record| at_random(record.t_intended));
        let runs = late.map(|record| run_of("shadow", record.t_intended + 60_000));
        let (count, none) = watched(&records, &runs.collect::<Vec<_>>());
        assert!(count > 200 && none == 0.0, "{count} {none}");
    }

    /// One packet in twenty, at random.
    fn by_chance() -> impl Fn(Nanos) -> bool {
        let mut random = SplitMix::new(8);
        let chance: Vec<bool> = (0..7_000).map(|_| random.uniform() < 0.05).collect();
        move |due: Nanos| chance[(due / (10 * MS)) as usize % 7_000]
    }

    #[test]
    fn where_nobody_watched_the_times_tell() {
        let blind = |records: &[Record]| {
            let watched = HostActivity {
                any: false,
                noise: &[],
                trains: &Trains::default(),
            };
            values(records, &RecordFacts::default(), &watched)
        };
        let (_, most) = share(blind(&records(periodic)).unwrap());
        assert!(most > 0.9, "{most}");
        assert_eq!(share(blind(&records(by_chance())).unwrap()).1, 0.0);
        let few = blind(&records(|due| due < 100 * MS)[..300]).unwrap_err();
        assert!(
            few.0.starts_with("nothing watched who had the CPU"),
            "{few:?}"
        );
    }
}
