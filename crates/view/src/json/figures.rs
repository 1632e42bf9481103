//! Figures of a measure under the names that a ping has for them: `p50_ns`, `p999_ns`, `mean_ns`.

use delaylab_lab::finding::dimension::Dimension;
use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What a side has of one measure, by figure; null where there are no values.
pub type Figures = BTreeMap<String, Option<Amount>>;

/// What there is of each measure, and of each of its figures: `response`, and in it `p50_ns`.
pub type ByFigure<T> = BTreeMap<String, BTreeMap<String, T>>;

/// A number, as an integer where it is whole, such as a count of packets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Amount {
    /// It is whole.
    Whole(i64),
    /// It has a fraction, or more digits than a number of 64 bits keeps.
    Other(f64),
}

impl From<f64> for Amount {
    fn from(value: f64) -> Self {
        let whole = value as i64;
        match whole as f64 == value && whole.unsigned_abs() < 1 << f64::MANTISSA_DIGITS {
            true => Self::Whole(whole),
            false => Self::Other(value),
        }
    }
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        f64::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        f64::json_schema(generator)
    }

    fn inline_schema() -> bool {
        true
    }
}

/// The name of a statistic in documents: `p999_ns` of `p99.9` and nanoseconds.
pub(crate) fn figure(statistic: &str, unit: Dimension) -> String {
    let unit = match unit {
        Dimension::TIME => "_ns",
        Dimension::SIZE => "_bytes",
        Dimension::RATE => "_bps",
        Dimension::CELLS => "_cells",
        Dimension::PACKETS => "_packets",
        _ => "",
    };
    statistic.replace('.', "") + unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_whole_is_an_integer() {
        let written = |value: f64| serde_json::to_string(&Amount::from(value)).ok();
        let values = [3.0, -1.0, 0.5, 1e300, f64::NAN, f64::INFINITY];
        let texts = ["3", "-1", "0.5", "1e+300", "null", "null"];
        assert_eq!(values.map(written), texts.map(|text| Some(text.to_owned())));
    }

    #[test]
    fn figures_have_the_names_of_a_ping_s() {
        assert_eq!(figure("p99.9", Dimension::TIME), "p999_ns");
        assert_eq!(figure("mean", Dimension::NUMBER), "mean");
    }
}
