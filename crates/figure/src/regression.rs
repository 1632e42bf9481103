//! What the model of every factor with their interactions leaves of the delay of frames (source 001):
//! residuals against what it says. A line that fits leaves no shape.

use super::{Figure, Table, axis, parse};
use delaylab_view::run::RunData;
use delaylab_view::run::regression::regressions;
use serde_json::{Value, json};

pub(super) struct Residuals;

const COLUMNS: &str = "statistic group fitted_ns residual_ns";
const STATISTIC: usize = 0;
const GROUP: usize = 1;
const FITTED: usize = 2;
const RESIDUAL: usize = 3;

impl Figure for Residuals {
    fn about(&self, run: &RunData) -> String {
        let models = regressions(run);
        let model = models.last().map_or("", |fitted| fitted.model.as_str());
        format!(
            "What the model {model} leaves of the least, mean and largest delay of each trial. Where it fits, no \
             shape is left."
        )
    }

    fn table(&self, run: &RunData) -> Table {
        let mut table = Table::new(COLUMNS);
        let models = regressions(run);
        let Some(last) = models.last().map(|fitted| fitted.model.clone()) else {
            return table;
        };
        for fitted in models.iter().filter(|fitted| fitted.model == last) {
            for (value, residual) in &fitted.residuals {
                table.row([
                    json!(fitted.statistic),
                    json!(fitted.group),
                    json!(value),
                    json!(residual),
                ]);
            }
        }
        table
    }

    fn spec(&self, _: &RunData, table: &Table) -> Value {
        let mut spec = parse(include_str!("specs/regression.json"));
        let encoding = &mut spec["spec"]["encoding"];
        if table
            .rows
            .windows(2)
            .all(|two| two[0][GROUP] == two[1][GROUP])
        {
            encoding["color"]["legend"] = Value::Null;
        }
        for (channel, column) in [("x", FITTED), ("y", RESIDUAL)] {
            axis::unit(&mut encoding[channel], table.largest_by(STATISTIC, column));
        }
        spec
    }
}
