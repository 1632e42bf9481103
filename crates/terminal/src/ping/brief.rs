//! A run in one line, for scripts and for those who look often.

use super::head;
use crate::style::Style;
use crate::text::FIRM_SPACE;
use delaylab_model::units::format_duration;
use delaylab_stats::summary::Distribution;
use delaylab_view::ping::Ping;
use delaylab_view::working::{Working, on_its_own};

/// `192.0.2.1: 100 sent in 9.90 s, 100 received, 0 % lost; response p50 98.1 µs, p99 210 µs, max 305 µs; …`
pub fn in_one_line(ping: &Ping<'_>, style: &Style) -> String {
    style.glyphs(line(ping, ping.target))
}

/// A line for each part: idle, and under each load.
pub fn in_lines(idle: &Ping<'_>, loaded: &[Working<'_>], style: &Style) -> String {
    let part = |name: &str, ping: &Ping<'_>, rpm: Option<f64>| {
        let rpm = rpm.map_or_else(String::new, |rpm| format!("; {rpm:.0} RPM"));
        line(ping, &format!("{} {name}", ping.target)) + &rpm
    };
    let first = part("idle", idle, on_its_own(idle.summary));
    let others = loaded.iter().map(|working| {
        let name = format!("under {}", working.load);
        part(&name, &working.loaded, working.responsiveness())
    });
    let lines: Vec<_> = std::iter::once(first).chain(others).collect();
    style.glyphs(lines.join("\n"))
}

fn line(ping: &Ping<'_>, name: &str) -> String {
    let measures = [
        ("response", &ping.summary.response),
        ("network", &ping.summary.network),
    ];
    let known = measures.into_iter().filter_map(|(name, d)| {
        let d = d.as_ref()?;
        let part = match (name, ping.summary.untold()) {
            ("network", Some((told, of, others))) => untold(told, of, others),
            _ => String::new(),
        };
        Some(format!("{name}{part} {}", quantiles(d)))
    });
    // It is never broken: programs find the spaces that they look for.
    let counts = head::counts(ping).replace(FIRM_SPACE, " ");
    let said: Vec<_> = std::iter::once(counts).chain(known).collect();
    format!("{name}: {}", said.join("; "))
}

/// ` (of 315 of 400; the others' response p50 212 ms)`.
fn untold(told: u64, of: u64, others: &Distribution) -> String {
    let p50 = format_duration(others.p50);
    format!(" (of {told} of {of}; the others' response p50 {p50})")
}

fn quantiles(d: &Distribution) -> String {
    let carried = [("p99", d.carried_p99())];
    let between = carried
        .into_iter()
        .filter_map(|(name, ns)| Some(format!("{name} {}, ", format_duration(ns?))));
    let between: String = between.collect();
    format!(
        "p50 {}, {between}max {}",
        format_duration(d.p50),
        format_duration(d.max)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::samples::samples;

    /// Whatever the locale: `grep '1 late'` is to find it.
    #[test]
    fn its_spaces_are_plain() {
        for unicode in [false, true] {
            let style = Style {
                unicode,
                ..Style::PLAIN
            };
            for (name, sample) in samples() {
                let line = in_one_line(&sample.ping(), &style);
                assert!(!line.contains([FIRM_SPACE, '?']), "{name}: {line}");
            }
        }
    }

    #[test]
    fn looks_as_agreed() {
        let lines: String = samples()
            .into_iter()
            .map(|(name, sample)| {
                format!("{name}\n{}\n", in_one_line(&sample.ping(), &Style::PLAIN))
            })
            .collect();
        insta::assert_snapshot!(lines);
    }
}
