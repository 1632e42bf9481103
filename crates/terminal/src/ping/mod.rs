//! The summary that `delaylab ping` prints at its end.
//!
//! | file | prints |
//! |---|---|
//! | `head.rs` | what was probed, and what became of the packets |
//! | `distributions.rs` | a row a measure, a column a quantile; intervals |
//! | `anatomy.rs` | a row a stage, a column a quantile, and the bar of host against network |
//! | `worst.rs` | the worst few responses |
//! | `brief.rs` | all of it in one line |
//! | `working.rs` | idle and under load, side by side |
//! | `across.rs` | idle and under several loads |
//! | `notes.rs` | the sender's lateness, delay variation, stamps, clock events, warnings |
//!
//! Everything is written in Unicode and put into ASCII at the very end where that is asked for.

mod across;
mod anatomy;
mod brief;
mod distributions;
pub(crate) mod head;
mod notes;
mod working;
mod worst;

pub use brief::{in_lines, in_one_line};
pub use head::{asked, rare};
pub use working::working_latency;

use crate::style::{Paint, Style};
use crate::text::{joined, paragraph};
use delaylab_view::ping::Ping;

/// The whole summary, in lines that end in a line feed.
pub fn summary(ping: &Ping<'_>, style: &Style) -> String {
    let sections = [
        head::section(ping, style),
        distributions::section(ping, style),
        anatomy::section(ping, style),
        worst::section(ping, style),
        notes::section(ping, style),
        verdict(ping, style),
    ];
    style.glyphs(joined(sections))
}

fn verdict(ping: &Ping<'_>, style: &Style) -> String {
    let verdict = ping.verdict().unwrap_or_else(|| match ping.silence() {
        Some(why) => format!("No reply came in time: {why}."),
        None => "Nothing was answered.".to_owned(),
    });
    paragraph(&verdict, Paint::Bold, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::samples::{full, samples};

    const RICH: Style = Style {
        color: true,
        unicode: true,
        width: 100,
        verbose: false,
    };

    #[test]
    fn looks_as_agreed() {
        for (name, sample) in samples() {
            let ping = sample.ping();
            insta::assert_snapshot!(format!("{name}_plain"), summary(&ping, &Style::PLAIN));
            insta::assert_snapshot!(format!("{name}_rich"), summary(&ping, &RICH));
        }
        let verbose = Style {
            color: false,
            verbose: true,
            ..RICH
        };
        insta::assert_snapshot!("full_verbose", summary(&full().ping(), &verbose));
    }

    #[test]
    fn plain_is_ascii_and_keeps_to_its_width() {
        for (name, sample) in samples() {
            let text = summary(&sample.ping(), &Style::PLAIN);
            crate::text::assert_plain(name, &text);
        }
    }
}
