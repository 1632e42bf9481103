//! Findings as a table for programs: a row for each number behind a verdict.

use super::{Evidence, FindingShown, RunData};
use delaylab_store::frame::{Frame, Values};

impl RunData {
    /// A row for each statistic and comparison, and one for a finding that has none. Values are in their `unit`: `ns`, `B`,
    /// `1` for plain numbers and shares.
    pub fn findings_frame(&self) -> Frame {
        let none = Evidence::default();
        let rows: Vec<(&FindingShown, &Evidence)> = (self.findings.iter())
            .flat_map(|finding| {
                let behind: Vec<&Evidence> = match finding.evidence.is_empty() {
                    true => vec![&none],
                    false => finding.evidence.iter().collect(),
                };
                behind.into_iter().map(move |evidence| (finding, evidence))
            })
            .collect();
        let text = |name: &str, of: fn(&FindingShown, &Evidence) -> String| {
            let values = rows.iter().map(|(finding, evidence)| of(finding, evidence));
            (name.to_owned(), Values::Text(values.collect()))
        };
        let number = |name: &str, of: fn(&Evidence) -> Option<f64>| {
            let values = rows.iter().map(|(_, evidence)| of(evidence));
            (name.to_owned(), Values::Number(values.collect()))
        };
        let counts = rows
            .iter()
            .map(|(_, evidence)| i64::try_from(evidence.count).ok());
        Frame {
            columns: vec![
                text("id", |finding, _| finding.id.clone()),
                text("says", |finding, _| finding.says.clone()),
                text("verdict", |finding, _| finding.verdict.to_string()),
                text("level", |_, evidence| evidence.level.clone()),
                text("number", |_, evidence| evidence.what.clone()),
                number("value", |evidence| evidence.value),
                number("low", |evidence| evidence.low),
                number("high", |evidence| evidence.high),
                text("unit", |_, evidence| evidence.unit.clone()),
                ("count".to_owned(), Values::Whole(counts.collect())),
                text("holds", |_, evidence| {
                    evidence
                        .verdict
                        .map_or_else(String::new, |verdict| verdict.to_string())
                }),
                text("note", |_, evidence| evidence.note.clone()),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::run::samples::runs;

    #[test]
    fn every_number_behind_a_verdict_has_a_row() {
        for (name, run) in runs() {
            let mut csv = Vec::new();
            run.findings_frame().write_csv(&mut csv).unwrap();
            let csv = String::from_utf8(csv).unwrap();
            assert!(
                csv.starts_with(
                    "id,says,verdict,level,number,value,low,high,unit,count,holds,note"
                )
            );
            let rows: usize = run
                .findings
                .iter()
                .map(|one| one.evidence.len().max(1))
                .sum();
            let ids = |line: &str| run.findings.iter().any(|one| line.starts_with(&one.id));
            assert_eq!(
                csv.lines().filter(|line| ids(line)).count(),
                rows,
                "{name}: {csv}"
            );
        }
    }
}
