//! One JSON document. Times are whole nanoseconds; what is not known is null.

use super::{Calibrated, Prediction};
use crate::json::enveloped;
use delaylab_explain::calibrate::Calibration;
use delaylab_explain::calibrate::buffer::Counts;
use delaylab_explain::calibrate::limiter::Limiter;
use delaylab_explain::calibrate::line::{Estimate, Line};
use delaylab_explain::calibrate::overlay::{Distance, Lane, Measure, QUANTILES};
use delaylab_explain::calibrate::passage::Ways;
use delaylab_explain::calibrate::prediction::Predicted;
use serde_json::{Map, Value, json};

/// What `delaylab calibrate --json` prints.
pub fn calibration_document(shown: &Calibrated<'_>) -> Value {
    let overlay = shown.pairs.iter().map(|pair| {
        let measures = Measure::ALL.map(|measure| (measure, distance(pair.distance(measure))));
        let mut row = lane(&pair.measured);
        row.extend(measures.map(|(measure, value)| (measure.name().to_owned(), value)));
        row.insert(
            "lost".to_owned(),
            json!({"measured": pair.measured.lost(), "model": pair.model.lost()}),
        );
        Value::Object(row)
    });
    let body = json!({
        "run": shown.run,
        "model": shown.model,
        "found": found(shown.found),
        "overlay": overlay.collect::<Vec<_>>(),
    });
    enveloped("delaylab/calibration/1", body)
}

/// What `delaylab predict --json` prints.
pub fn prediction_document(shown: &Prediction<'_>) -> Value {
    let lanes = shown.lanes.iter().map(|one| {
        let mut row = lane(&one.before.measured);
        for measure in Measure::ALL {
            let value = predicted(one, measure, shown.lanes);
            row.insert(measure.name().to_owned(), value);
        }
        let lost = json!({
            "measured": one.before.measured.lost(),
            "model": one.before.model.lost(),
            "predicted": one.after.lost(),
        });
        row.insert("lost".to_owned(), lost);
        Value::Object(row)
    });
    let sets = shown
        .sets
        .iter()
        .map(|(path, value)| (path.clone(), json!(value)));
    let body = json!({
        "run": shown.run,
        "model": shown.model,
        "changed": sets.collect::<Map<_, _>>(),
        "found": found(shown.found),
        "lanes": lanes.collect::<Vec<_>>(),
    });
    enveloped("delaylab/prediction/1", body)
}

fn lane(lane: &Lane) -> Map<String, Value> {
    let levels = lane.factors.iter();
    let factors: Map<_, _> = levels
        .map(|(name, level)| (name.clone(), Value::from(level.label.as_str())))
        .collect();
    let row = json!({
        "factors": factors,
        "probe": lane.probe,
        "unloaded": lane.unloaded,
        "packets": lane.packets[0],
    });
    match row {
        Value::Object(row) => row,
        _ => Map::new(),
    }
}

/// The nearest whole number; null where there is none.
fn whole(value: f64) -> Value {
    if value.is_finite() {
        json!(value.round() as i64)
    } else {
        Value::Null
    }
}

/// Null where it is none.
fn number(value: f64) -> Value {
    if value.is_finite() {
        json!(value)
    } else {
        Value::Null
    }
}

fn quantile_name(q: f64) -> String {
    format!("p{:.0}", 100.0 * q)
}

fn distance(distance: Option<Distance>) -> Value {
    let Some(distance) = distance else {
        return Value::Null;
    };
    let mut value = Map::new();
    value.insert("wasserstein_ns".to_owned(), whole(distance.wasserstein));
    for (at, q) in QUANTILES.into_iter().enumerate() {
        let [measured, model] = distance.quantiles[at];
        let each = json!({
            "measured_ns": whole(measured),
            "model_ns": whole(model),
            "error": number(distance.errors()[at]),
        });
        value.insert(quantile_name(q), each);
    }
    Value::Object(value)
}

fn predicted(one: &Predicted, measure: Measure, all: &[Predicted]) -> Value {
    let before = one.before.distance(measure);
    let Some((before, expected)) = before.zip(one.expected(measure, all)) else {
        return Value::Null;
    };
    let each = QUANTILES.into_iter().enumerate().map(|(at, q)| {
        let [measured, model] = before.quantiles[at];
        let (low, high) = expected[at].between;
        let value = json!({
            "measured_ns": whole(measured),
            "model_ns": whole(model),
            "predicted_ns": whole(expected[at].value),
            "same_packets_ns": whole(expected[at].same_packets),
            "expected_from_ns": whole(low),
            "expected_to_ns": whole(high),
        });
        (quantile_name(q), value)
    });
    Value::Object(each.collect())
}

fn found(found: &Calibration) -> Value {
    let rate = found.rate.as_ref().map(|rate| {
        json!({
            "bits_per_second": estimate(rate.bits_per_second()),
            "bytes": whole(rate.bytes),
            "busy_ns": whole(rate.busy),
        })
    });
    let buffer = found.buffer.as_ref().map(|buffer| {
        let early = buffer.drops_early();
        json!({
            "counts": match buffer.counts { Counts::Bytes => "bytes", Counts::Packets => "packets" },
            "limit": if early { Value::Null } else { number(buffer.limit()) },
            "at_least": number(buffer.between.0),
            "below": if early { Value::Null } else { number(buffer.between.1) },
            "taken": buffer.packets[0],
            "dropped": buffer.packets[1],
            "contradict": number(buffer.contradict),
            "dropped_early": number(buffer.early),
        })
    });
    let queue = found.queue.as_ref().map(|queue| {
        json!({
            "name": found.discipline(),
            "waited_for": number(queue.waited_for),
            "packets": queue.packets,
        })
    });
    let hosts = found
        .hosts
        .lines()
        .map(|(name, of)| (name.replace(' ', "_"), line(of)));
    let unknown = found
        .unknown
        .iter()
        .map(|unknown| json!({"what": unknown.what, "why": unknown.why, "remedy": unknown.remedy, "assumed": unknown.assumed}));
    json!({
        "directions": match found.ways { Ways::Apart => "apart", Ways::Together => "together" },
        "trials": {
            "unloaded": found.trials[0], "overflowing": found.trials[1], "flawed": found.flawed,
        },
        "rate": rate,
        "limiter": limiter(found),
        "buffer": buffer,
        "discipline": queue,
        "least_delay": { "forward": line(found.forward.as_ref()), "back": line(found.back.as_ref()) },
        "hosts": hosts.into_iter().collect::<Map<_, _>>(),
        "unknown": unknown.collect::<Vec<_>>(),
    })
}

fn limiter(found: &Calibration) -> Value {
    let Some(limiter) = &found.limiter else {
        return Value::Null;
    };
    let kind = match limiter {
        Limiter::Link => "link",
        Limiter::Shaper(_) => "shaper",
        Limiter::Policer(_) => "policer",
    };
    let bucket = found.bucket();
    let ceiling = bucket.and_then(|bucket| bucket.ceiling).map(|ceiling| {
        json!({
            "bits_per_second": number(ceiling.bits_per_second()),
            "burst_bytes": number(ceiling.burst),
        })
    });
    json!({
        "kind": kind,
        "certain": found.verdict.is_none_or(|verdict| !verdict.is_open),
        "slope_share": found.verdict.map(|verdict| number(verdict.share)),
        "burst_bytes": bucket.and_then(|bucket| bucket.burst).map(estimate),
        "ceiling": ceiling,
    })
}

fn estimate(estimate: Estimate) -> Value {
    let interval = estimate
        .interval
        .map(|(low, high)| [number(low), number(high)]);
    json!({"value": number(estimate.value), "interval": interval})
}

fn line(line: Option<&Line>) -> Value {
    let Some(line) = line else {
        return Value::Null;
    };
    let points = line
        .points
        .iter()
        .map(|(size, ns)| json!({"size": size, "value_ns": whole(*ns)}));
    json!({
        "per_packet_ns": estimate(line.constant),
        "per_byte_ns": estimate(line.slope),
        "r2": number(line.r2),
        "farthest_ns": whole(line.farthest),
        "points": points.collect::<Vec<_>>(),
        "packets": line.packets,
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::Sample;
    use super::*;

    #[test]
    fn documents_are_as_agreed() {
        let sample = Sample::made();
        insta::assert_json_snapshot!(
            "calibration_json",
            calibration_document(&sample.calibrated())
        );
        insta::assert_json_snapshot!("prediction_json", prediction_document(&sample.prediction()));
    }

    #[test]
    fn what_is_no_number_is_null() {
        assert_eq!(
            [f64::NAN, f64::INFINITY].map(whole),
            [Value::Null, Value::Null]
        );
        assert_eq!(number(f64::NAN), Value::Null);
        assert_eq!(whole(1.5), json!(2));
    }
}
