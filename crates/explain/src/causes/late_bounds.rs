//! Beyond which response a packet is late: by what is usual in all repeats of its combination of levels.

use delaylab_model::Nanos;
use delaylab_model::plan::levels_in_words;
use delaylab_model::record::Record;
use delaylab_stats::excursion::Spread;
use delaylab_stats::functional::Functional;
use delaylab_stats::holds;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use std::collections::BTreeMap;

/// How long a packet took that was answered, where its times are known.
pub(super) fn response(record: &Record) -> Option<Nanos> {
    record.response().filter(|_| record.answered())
}

/// For each row the first one of its combination of levels and its probe.
pub(super) fn alike(rows: &[&TrialRow]) -> Vec<usize> {
    let mut first = BTreeMap::<(String, &str), usize>::new();
    let each = rows.iter().zip(0..).map(|(row, at)| {
        let key = (levels_in_words(&row.factors, None), &*row.probe_name);
        *first.entry(key).or_insert(at)
    });
    each.collect()
}

/// Beyond which response a packet of each stream is late: repeats of a combination of levels share
/// their usual median and spread, because one of few packets has no good one of its own.
pub(super) fn late_thresholds(run: &Run, rows: &[&TrialRow], alike: &[usize]) -> Vec<Nanos> {
    let spreads = spreads(run, rows);
    let of = |first: &usize| {
        let repeats = spreads.iter().zip(alike).filter(|(_, of)| *of == first);
        let repeats: Vec<Spread> = repeats.filter_map(|(spread, _)| *spread).collect();
        let usual = |of: fn(&Spread) -> Nanos| {
            let mut all: Vec<f64> = repeats.iter().map(|spread| of(spread) as f64).collect();
            Functional::Quantile(0.5).value(&mut all)
        };
        let spread = Spread {
            min: usual(|spread| spread.min)? as Nanos,
            median: usual(|spread| spread.median)? as Nanos,
            iqr: usual(|spread| spread.iqr)? as Nanos,
        };
        Some(spread.bound())
    };
    let mut known = BTreeMap::new();
    let each = alike.iter();
    each.map(|first| {
        let bound = known.entry(*first);
        // Of none that was answered, none is late.
        *bound.or_insert_with(|| of(first).unwrap_or(Nanos::MAX))
    })
    .collect()
}

/// What responses of a row usually are: without those of packets that were held and let go together, which may be most. Those are
/// looked for, in a reading of their own, only where the figures leave room for them.
fn spreads(run: &Run, rows: &[&TrialRow]) -> Vec<Option<Spread>> {
    let of_all = |row: &&TrialRow| {
        let figure = |name: &str| row.figure(name).map(|ns| ns as Nanos);
        Some(Spread {
            min: figure("response_min_ns")?,
            median: figure("response_p50_ns")?,
            iqr: figure("response_iqr_ns")?,
        })
    };
    let mut spreads: Vec<Option<Spread>> = rows.iter().map(of_all).collect();
    // A trial of many probes is read once for all of them.
    let mut held = BTreeMap::<u32, BTreeMap<u16, usize>>::new();
    for (at, row) in rows.iter().enumerate() {
        if spreads[at].is_some_and(holds::may_be_most) {
            held.entry(row.trial).or_default().insert(row.probe, at);
        }
    }
    for (trial, probes) in held {
        let mut packets = BTreeMap::<u16, Vec<(Nanos, Nanos)>>::new();
        run.scan(Some(trial), |of, record| {
            let response = response(record);
            if let Some(response) = response.filter(|_| probes.contains_key(&of.probe)) {
                let packets = packets.entry(of.probe).or_default();
                packets.push((record.t_intended, response));
            }
        });
        for (probe, at) in probes {
            let packets = packets.remove(&probe).unwrap_or_default();
            spreads[at] = holds::spread_without(packets).or(spreads[at]);
        }
    }
    spreads
}
