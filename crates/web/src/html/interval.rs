//! A number with its interval, drawn against what is claimed of it: the claim is shaded, and dashed lines bound it.

use delaylab_view::run::Decided;
use maud::{Markup, html};

const WIDTH: f64 = 160.0;
const HEIGHT: f64 = 22.0;
/// Free at both ends: a line that goes on ends there.
const MARGIN: f64 = 12.0;

/// `label` says it to who does not see it.
pub(super) fn drawn(decided: &Decided, label: &str) -> Markup {
    let Some(axis) = Axis::new(decided) else {
        return html! {};
    };
    let claimed = match (decided.above, decided.below) {
        // It denies what lies between.
        (Some(above), Some(below)) if above > below => {
            vec![[0.0, axis.place(below)], [axis.place(above), WIDTH]]
        }
        (above, below) => vec![[
            above.map_or(0.0, |bound| axis.place(bound)),
            below.map_or(WIDTH, |bound| axis.place(bound)),
        ]],
    };
    let bounds = [decided.above, decided.below].into_iter().flatten();
    let has_interval = decided.low.is_some() || decided.high.is_some();
    let (low, high) = (
        decided.low.map_or(0.0, |low| axis.place(low)),
        decided.high.map_or(WIDTH, |high| axis.place(high)),
    );
    html! {
        svg class="interval" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(label) {
            @for [from, to] in claimed {
                rect class="claimed" x=(tenth(from)) y="2" height="18" width=(tenth((to - from).max(0.0))) {}
            }
            @for bound in bounds {
                @let x = tenth(axis.place(bound));
                line class="bound" x1=(x) x2=(x) y1="1" y2="21" {}
            }
            @if has_interval {
                // As wide as a point, where nothing varies.
                line class="range" x1=(tenth(low)) x2=(tenth(high.max(low + 1.0))) y1="11" y2="11" {}
            }
            circle cx=(tenth(axis.place(decided.value))) cy="11" r="4.5" {}
        }
    }
}

/// From values to pixels; of ratios by their logarithms.
struct Axis {
    is_ratio: bool,
    least: f64,
    length: f64,
}

impl Axis {
    /// `None` where there is nothing to draw: no number, or a ratio that is none.
    fn new(decided: &Decided) -> Option<Self> {
        let ends = [decided.low, decided.high, decided.above, decided.below];
        let shown = ends.into_iter().flatten().chain([decided.value]);
        let places: Vec<f64> = shown.map(|value| at(value, decided.is_ratio)).collect();
        if places.iter().any(|place| !place.is_finite()) {
            return None;
        }
        let least = places.iter().copied().fold(f64::INFINITY, f64::min);
        let most = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let length = most - least;
        Some(match length > 0.0 {
            true => Self {
                is_ratio: decided.is_ratio,
                least,
                length,
            },
            // One place for all: the middle.
            false => Self {
                is_ratio: decided.is_ratio,
                least: least - 0.5,
                length: 1.0,
            },
        })
    }

    fn place(&self, value: f64) -> f64 {
        let share = (at(value, self.is_ratio) - self.least) / self.length;
        MARGIN + share * (WIDTH - 2.0 * MARGIN)
    }
}

fn at(value: f64, is_ratio: bool) -> f64 {
    if is_ratio { value.ln() } else { value }
}

/// A tenth of a pixel is enough.
fn tenth(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn decided(value: f64, low: Option<f64>, high: Option<f64>) -> Decided {
        Decided {
            value,
            low,
            high,
            above: Some(1.0),
            below: None,
            is_ratio: true,
        }
    }

    #[test]
    fn ratios_are_placed_by_their_logarithms() {
        let axis = Axis::new(&decided(2.0, Some(0.5), Some(8.0))).unwrap();
        let [half, one, two] = [0.5, 1.0, 2.0].map(|value| axis.place(value));
        assert!((one - half - (two - one)).abs() < 1e-9);
        assert_eq!(half, MARGIN);
    }

    #[test]
    fn what_is_denied_between_two_bounds_is_claimed_on_either_side() {
        let denied = Decided {
            below: Some(0.95),
            above: Some(1.05),
            ..decided(1.01, Some(0.99), Some(1.03))
        };
        let drawing = drawn(&denied, "").into_string();
        let [left, right] = [
            r#"x="0" y="2" height="18" width="12""#,
            r#"x="148" y="2" height="18" width="12""#,
        ];
        assert!(
            drawing.contains(left) && drawing.contains(right),
            "{drawing}"
        );
        let between = Decided {
            below: denied.above,
            above: denied.below,
            ..denied
        };
        let drawing = drawn(&between, "").into_string();
        assert!(
            drawing.contains(r#"x="12" y="2" height="18" width="136""#),
            "{drawing}"
        );
    }

    #[test]
    fn what_goes_on_ends_at_the_edge_and_what_is_no_number_is_not_drawn() {
        let open = drawn(&decided(2.0, Some(1.5), None), "").into_string();
        assert!(open.contains(&format!("x2=\"{WIDTH}\"")), "{open}");
        let point = drawn(&decided(2.0, None, None), "").into_string();
        assert!(!point.contains("class=\"range\"") && point.contains("<circle"));
        for none in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(drawn(&decided(none, None, None), "").into_string(), "");
        }
        let alone = Decided {
            above: None,
            ..decided(1.0, None, None)
        };
        assert_eq!(Axis::new(&alone).unwrap().place(1.0), WIDTH / 2.0);
    }
}
