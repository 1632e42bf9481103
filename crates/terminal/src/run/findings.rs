//! The tally first, then each finding: verdict, claim, and the number that decided it. With `-v` the reason in full
//! and the numbers to judge it by.

use crate::style::{Paint, Style};
use crate::table::{Cell, Table};
use crate::text::{width, wrap};
use delaylab_view::run::words::{glyph, interval, quantity, tally};
use delaylab_view::run::{Evidence, FindingShown, RunData, Verdict};
use delaylab_view::words::or_unknown;

/// Columns before the numbers.
const INDENT: usize = 2;
/// Columns that the name of a number has at least.
const LABEL: usize = 20;

pub(super) fn section(run: &RunData, style: &Style) -> String {
    let Some(tally) = tally(run) else {
        return String::new();
    };
    let tally = style.paint(Paint::Bold, &format!("Findings: {tally}"));
    let findings = run.findings.iter().map(|finding| one(finding, style));
    let between = if style.verbose { "\n" } else { "" };
    format!(
        "{tally}\n{between}{}",
        findings.collect::<Vec<_>>().join(between)
    )
}

fn one(finding: &FindingShown, style: &Style) -> String {
    let paint = paint(finding.verdict);
    let mark = format!("{} {}", glyph(finding.verdict), finding.id);
    let hang = width(&mark) + 2;
    let room = style.columns().saturating_sub(hang);
    let mut text = String::new();
    for (at, line) in wrap(&finding.says, room).into_iter().enumerate() {
        let lead = if at == 0 {
            style.paint(paint, &mark)
        } else {
            " ".repeat(hang - 2)
        };
        text += &format!("{lead}  {}\n", style.paint(Paint::Bold, &line));
    }
    let mut paragraph = |words: &str, paint| {
        for line in wrap(words, room) {
            text += &format!("{}{}\n", " ".repeat(hang), style.paint(paint, &line));
        }
    };
    if !style.verbose {
        paragraph(&finding.line, Paint::Plain);
        return text;
    }
    if !finding.printed.is_empty() {
        paragraph(&format!("in the source: {}", finding.printed), Paint::Dim);
    }
    let reason = format!("{}: {}", finding.verdict.name(), finding.reason);
    paragraph(&reason, Paint::Plain);
    text + &table(&finding.evidence, style)
}

const fn paint(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::True => Paint::Good,
        Verdict::False => Paint::Warning,
        Verdict::Undecided => Paint::Bold,
        Verdict::NotApplicable => Paint::Dim,
    }
}

/// A line a number, with its note below it where that says more than the number.
fn table(evidence: &[Evidence], style: &Style) -> String {
    let values: Vec<_> = evidence.iter().map(value).collect();
    let besides: Vec<_> = evidence.iter().map(beside).collect();
    let columns = |cells: &[String]| cells.iter().map(|cell| width(cell)).max().unwrap_or(0);
    let taken = INDENT + columns(&values) + columns(&besides) + 4;
    let room = style.columns().saturating_sub(taken).max(LABEL);
    let mut table = Table::default();
    let mut ends = Vec::new();
    for ((number, value), beside) in evidence.iter().zip(values).zip(besides) {
        let mut lines = wrap(&label(number), room);
        let last = lines.pop().unwrap_or_default();
        let indented = |line: &str| Cell::new(format!("{:INDENT$}{line}", ""));
        lines.iter().for_each(|line| table.row([indented(line)]));
        table.row([indented(&last), Cell::new(value), Cell::left(beside).dim()]);
        ends.push(lines.len() + 1);
    }
    let drawn = table.render(style);
    let mut lines = drawn.lines();
    let mut text = String::new();
    for (number, rows) in evidence.iter().zip(ends) {
        lines
            .by_ref()
            .take(rows)
            .for_each(|line| text += &format!("{line}\n"));
        text += &note(number, style);
    }
    text
}

/// Why there is no value or interval, or no verdict. Where there is, the number speaks for itself.
fn note(number: &Evidence, style: &Style) -> String {
    let known = number.value.is_some() && interval(number).is_some();
    if known && number.verdict != Some(Verdict::Undecided) {
        return String::new();
    }
    let lines = wrap(&number.note, style.columns().saturating_sub(2 * INDENT)).into_iter();
    let line = |line: String| format!("{:1$}{2}\n", "", 2 * INDENT, style.paint(Paint::Dim, &line));
    lines.map(line).collect()
}

fn label(number: &Evidence) -> String {
    if number.level.is_empty() {
        return number.what.clone();
    }
    format!("{}: {}", number.level, number.what)
}

fn value(number: &Evidence) -> String {
    or_unknown(number.value, |value| quantity(value, &number.unit))
}

/// The interval, and the verdict of a comparison.
fn beside(number: &Evidence) -> String {
    let verdict = number.verdict.map(|verdict| verdict.name().to_owned());
    let words: Vec<_> = [interval(number), verdict].into_iter().flatten().collect();
    words.join(", ")
}
