//! Does delay rise with size in steps? A sentence for each combination of levels.

use crate::style::{Paint, Style};
use crate::text::paragraph;
use delaylab_view::run::RunData;
use delaylab_view::run::sweeps::{labels, shown};

/// Sentences that are shown unless all are asked for.
const MOST: usize = 6;

pub(super) fn section(run: &RunData, style: &Style) -> String {
    if run.sweeps.is_empty() {
        return String::new();
    }
    let labels = labels(run);
    let most = if style.verbose { usize::MAX } else { MOST };
    let mut out = paragraph("Delay against size", Paint::Dim, style);
    for one in shown(run).take(most) {
        let sentence = format!("{}: {}", one.name(&labels), one.way.sentence());
        out += &paragraph(&sentence, Paint::Plain, style);
    }
    match shown(run).count().saturating_sub(most) {
        0 => out,
        more => out + &format!("and {more} more in the report\n"),
    }
}
