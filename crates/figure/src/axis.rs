//! Axes of delays: logarithmic where they span much, with few ticks, and their unit once; where no unit fits all of it, each tick
//! has its own.

use delaylab_model::units::{duration_unit, rate_unit};
use delaylab_model::{MICROSECOND, Nanos};
use serde_json::{Value, json};

/// Ticks of a logarithmic axis at most.
pub(super) const TICKS: usize = 4;
/// From this ratio of its ends on, an axis is logarithmic.
const LOGARITHMIC: f64 = 4.0;

/// Powers of ten and, where there is room, what is between them.
pub(super) fn ticks(least: Nanos, most: Nanos) -> Vec<Nanos> {
    let within = |steps: &[Nanos]| -> Vec<Nanos> {
        let decades = (0..=18).map(|power| 10_i64.pow(power));
        let ticks = decades.flat_map(|ten| steps.iter().map(move |step| ten.saturating_mul(*step)));
        ticks.filter(|tick| (least..=most).contains(tick)).collect()
    };
    let finer: [&[Nanos]; 4] = [&[1, 2, 3, 5, 7], &[1, 2, 5], &[1, 3], &[1]];
    let fits = finer.into_iter().map(within);
    let mut ticks = fits.skip_while(|ticks| ticks.len() > TICKS);
    let ticks = ticks.next().unwrap_or_else(|| {
        let decades = within(&[1]);
        let step = decades.len().div_ceil(TICKS);
        decades.into_iter().step_by(step).collect()
    });
    match ticks.len() {
        0 | 1 => even_ticks(least, most),
        _ => ticks,
    }
}

/// Round values at equal distances between these.
fn even_ticks(least: Nanos, most: Nanos) -> Vec<Nanos> {
    let steps = (0..=18).flat_map(|power| [1, 2, 5].map(|by| 10_i64.pow(power).saturating_mul(by)));
    let within = |step: Nanos| {
        let first = least.saturating_add(step - 1).div_euclid(step);
        let last = most.div_euclid(step);
        (first..=last)
            .take(TICKS + 1)
            .map(|at| at * step)
            .collect::<Vec<_>>()
    };
    let mut fits = steps.map(within);
    fits.find(|ticks| ticks.len() <= TICKS).unwrap_or_default()
}

/// Ticks of panels of which each has a scale of its own, by their names.
pub(super) fn ticks_by_panel(ticks: impl Iterator<Item = (String, Vec<Nanos>)>) -> Value {
    let ticks = ticks.map(|(panel, ticks)| (panel, json!(ticks)));
    let ticks = Value::Object(ticks.collect());
    json!({ "expr": format!("{ticks}[parent.panel]") })
}

/// Ticks at these while all is shown; close up, where `zoom` holds what is shown, where Vega would have them.
pub(super) fn ticks_of_all(zoom: &str, ticks: &str) -> Value {
    json!({ "expr": format!("{zoom} ? null : {ticks}") })
}

/// Pixels at both ends of an axis: marks there are not cut.
const ROOM: u32 = 8;

/// From this ratio of its ends on, no unit fits all of a logarithmic axis.
const UNITS: f64 = 1e3;

/// What a tick with its own unit says: `800 ms`.
const WITH_UNIT: &str =
    "datum.value ? replace(format(datum.value / 1e9, '.6~s') + 's', /([^0-9.]+)$/, ' $1') : '0'";

/// Gives an axis of nanoseconds the unit of what it shows, once. Where each panel has a scale of its own, `largest` are
/// those of all of them: where their units differ, each tick has its own.
pub(super) fn unit(axis: &mut Value, largest: impl IntoIterator<Item = Nanos>) {
    let sizes = largest.into_iter().map(Nanos::saturating_abs);
    let sizes: Vec<f64> = sizes
        .filter(|size| *size > 0)
        .map(|size| size as f64)
        .collect();
    let smallest = sizes.iter().copied().reduce(f64::min).unwrap_or(1.0);
    let is_alike = |size: &f64| duration_unit(*size).1 == duration_unit(smallest).1;
    match sizes.iter().all(is_alike) {
        true => unit_of(axis, smallest, (1.0, "ns")),
        false => unit_of_each(axis),
    }
}

/// The same of a logarithmic axis between these.
pub(super) fn unit_between(axis: &mut Value, least: Nanos, most: Nanos) {
    unit_of_ranges(axis, &[(least, most)]);
}

/// The same where each of several panels is between others.
pub(super) fn unit_of_ranges(axis: &mut Value, ranges: &[(Nanos, Nanos)]) {
    let is_wide = |(least, most): &(Nanos, Nanos)| *most as f64 >= UNITS * *least as f64;
    match ranges.iter().any(is_wide) {
        true => unit_of_each(axis),
        false => unit(axis, ranges.iter().map(|(_, most)| *most)),
    }
}

/// Each tick says its unit. Those of a mark are of the data.
fn unit_of_each(axis: &mut Value) {
    let title = axis["title"].as_str().unwrap_or_default().to_owned();
    axis["title"] = json!(format!("{title} (ns)"));
    axis["axis"]["title"] = json!(title);
    axis["axis"]["labelExpr"] = json!(WITH_UNIT);
}

/// The same of an axis of seconds.
pub(super) fn unit_of_seconds(axis: &mut Value, largest: f64) {
    unit_of(axis, largest * 1e9, (1e9, "s"));
}

/// Gives an axis of bits a second the unit that fits its largest value.
pub(super) fn unit_of_rate(axis: &mut Value, name: &str, largest: f64) {
    let (size, unit) = rate_unit(largest);
    axis["axis"]["title"] = json!(format!("{name} ({unit})"));
    axis["axis"]["labelExpr"] = json!(number(&format!("datum.value / {size}")));
}

/// Shows an axis in the unit that fits `nanoseconds`, its largest value. `one`: nanoseconds in 1 of its data, and its unit,
/// which is said with each mark.
fn unit_of(axis: &mut Value, nanoseconds: f64, one: (f64, &str)) {
    let (size, unit) = duration_unit(nanoseconds);
    let title = axis["title"].as_str().unwrap_or_default().to_owned();
    axis["title"] = json!(format!("{title} ({})", one.1));
    axis["axis"]["title"] = json!(format!("{title} ({unit})"));
    let size = size / one.0;
    axis["axis"]["labelExpr"] = json!(number(&format!("datum.value / {size}")));
}

/// Has axes described by their titles, where Vega would say the ends of the data in the title's unit.
pub(super) fn describe(spec: &mut Value) {
    let inner: Vec<(&str, &mut Value)> = match spec {
        Value::Object(fields) => fields
            .iter_mut()
            .map(|(name, of)| (name.as_str(), of))
            .collect(),
        Value::Array(items) => items.iter_mut().map(|item| ("", item)).collect(),
        _ => return,
    };
    for (name, of) in inner {
        let title = of.pointer("/axis/title").and_then(Value::as_str);
        if let ("x" | "y", Some(title)) = (name, title) {
            let axis = name.to_uppercase();
            of["axis"]["description"] = json!(format!("{axis}-axis titled '{title}'"));
        }
        describe(of);
    }
}

/// An expression of a number as a tick says it, with every digit that tells it from the next; on its own Vega has six.
pub(super) fn number(value: &str) -> String {
    format!("format({value}, ',.12~r')")
}

/// Do delays span so much? Where the clock is coarse, or two clocks are compared, there are some that have no logarithm.
pub(super) fn is_logarithmic(least: Nanos, most: Nanos) -> bool {
    least > 0 && most as f64 >= LOGARITHMIC * least as f64
}

/// Makes `x` an axis of delays between these; `title` gets their unit.
pub(super) fn of_delays(x: &mut Value, title: &str, least: Nanos, most: Nanos) {
    x["title"] = json!(title);
    if is_logarithmic(least, most) {
        unit_between(x, least, most);
        x["scale"] =
            json!({ "type": "log", "nice": false, "domain": [least, most], "padding": ROOM });
        x["axis"]["values"] = json!(ticks(least, most));
    } else {
        unit(x, [most]);
        x["scale"] = json!({ "zero": false, "nice": false, "padding": ROOM });
        x["axis"]["tickCount"] = json!(TICKS);
    }
}

/// Of an axis of both signs that is logarithmic but for its middle: up to where it is linear, and where
/// it has a tick on either side.
pub(super) fn symmetric(linear: Nanos, largest: Nanos) -> (Nanos, Nanos) {
    let power = |value: Nanos| 10_i64.pow(value.max(1).ilog10());
    (power(linear.max(MICROSECOND)), power(largest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_the_unit_of_its_largest_value() {
        let mut axis = json!({ "title": "goodput (bit/s)" });
        unit_of_rate(&mut axis, "goodput", 9_368_393.0);
        assert_eq!(axis["axis"]["title"], "goodput (Mbit/s)");
        assert_eq!(
            axis["axis"]["labelExpr"],
            "format(datum.value / 1000000, ',.12~r')"
        );
    }

    #[test]
    fn ticks_are_few_and_within() {
        for (least, most, expected) in [
            (1_000_000, 3_500_000, vec![1_000_000, 2_000_000, 3_000_000]),
            (
                1_000_000,
                60_000_000,
                vec![1_000_000, 3_000_000, 10_000_000, 30_000_000],
            ),
            (
                200,
                40_000_000_000,
                vec![1_000, 100_000, 10_000_000, 1_000_000_000],
            ),
            (
                20_180_000,
                20_720_000,
                vec![20_200_000, 20_400_000, 20_600_000],
            ),
            (7, 7, vec![7]),
        ] {
            assert_eq!(ticks(least, most), expected);
        }
    }

    #[test]
    fn what_spans_little_is_linear_and_what_spans_much_is_not() {
        let axis = |least, most| {
            let mut x = json!({ "axis": {} });
            of_delays(&mut x, "Response", least, most);
            x
        };
        let narrow = axis(20_300_000, 21_800_000);
        assert_eq!(narrow["axis"]["title"], "Response (ms)");
        assert!(narrow["scale"]["type"].is_null());
        assert_eq!(axis(20_000, 562_000_000)["scale"]["type"], "log");
        assert!(axis(-5, 562_000_000)["scale"]["type"].is_null());
    }

    #[test]
    fn an_axis_is_described_by_its_title() {
        let mut spec = json!({ "encoding": { "x": { "axis": { "title": "Response (ms)" } } } });
        describe(&mut spec);
        let axis = &spec["encoding"]["x"]["axis"];
        assert_eq!(axis["description"], "X-axis titled 'Response (ms)'");
    }

    #[test]
    fn an_axis_of_both_signs_has_a_tick_on_either_side() {
        assert_eq!(symmetric(0, 200), (1_000, 100));
        assert_eq!(symmetric(30_000, 7_000_000), (10_000, 1_000_000));
    }

    /// A shift of 800 ms is not −800,000 µs, as there is another of 40 µs.
    #[test]
    fn panels_whose_units_differ_have_them_at_their_ticks() {
        let mut axis = json!({ "title": "Residual", "axis": {} });
        unit(&mut axis, [-40_000, 700_000_000, 0]);
        assert_eq!(axis["axis"]["title"], "Residual");
        assert_eq!(axis["title"], "Residual (ns)");
        assert_eq!(axis["axis"]["labelExpr"], WITH_UNIT);
        let mut axis = json!({ "axis": {} });
        of_delays(&mut axis, "Response", 90_000, 1_400_000_000);
        assert_eq!(axis["axis"]["title"], "Response");
    }

    #[test]
    fn panels_share_their_unit() {
        let mut axis = json!({ "title": "Residual", "axis": {} });
        unit(&mut axis, [-40_000, 700_000, 0]);
        assert_eq!(axis["axis"]["title"], "Residual (µs)");
        // What is said with each mark is of the data.
        assert_eq!(axis["title"], "Residual (ns)");
        assert_eq!(
            axis["axis"]["labelExpr"],
            "format(datum.value / 1000, ',.12~r')"
        );
    }
}
