//! What servers answered, and segments that were sent again for it.

use delaylab_model::record::{Answer, Record};
use schemars::JsonSchema;
use serde::Serialize;

/// Answers that are told apart, so that memory stays flat whatever a server answers.
const MOST: usize = 32;

/// `60 × closed (RST)`, `20 × 404`: answers that are not what was asked for, each with its count.
pub fn bad(answers: &[(Answer, u64)]) -> Vec<String> {
    let bad = answers.iter().filter(|(answer, _)| !answer.is_good());
    let each = bad.map(|(answer, count)| match answer {
        Answer::Closed => format!("{count} × closed (RST)"),
        Answer::Truncated(_) => format!("{count} × {answer} (truncated)"),
        answer => format!("{count} × {answer}"),
    });
    each.collect()
}

/// TCP segments that this host sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Retransmitted {
    /// How many; SYNs among them where the connection was made for the request.
    pub segments: u64,
    /// For how many requests.
    pub requests: u64,
}

/// Counts both.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    counts: Vec<(Answer, u64)>,
    again: Option<Retransmitted>,
}

impl Answers {
    /// Takes a record.
    pub fn push(&mut self, record: &Record) {
        if let Some(segments) = record.retransmits {
            let again = self.again.get_or_insert_default();
            again.segments += u64::from(segments);
            again.requests += u64::from(segments > 0);
        }
        let Some(answer) = record.answer else { return };
        match self.counts.iter().position(|(known, _)| *known == answer) {
            Some(at) => self.counts[at].1 += 1,
            None if self.counts.len() < MOST => self.counts.push((answer, 1)),
            None => {}
        }
    }

    /// The most frequent first.
    pub fn listed(&self) -> Vec<(Answer, u64)> {
        let mut listed = self.counts.clone();
        listed.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        listed
    }

    /// `None` where no record tells.
    pub(super) const fn retransmitted(&self) -> Option<Retransmitted> {
        self.again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_are_not_what_was_asked_for_are_counted_each() {
        let answers = [
            (Answer::Status(200), 120),
            (Answer::Closed, 60),
            (Answer::Status(404), 20),
            (Answer::Truncated(0), 7),
            (Answer::Code(3), 1),
            (Answer::Open, 1),
        ];
        assert_eq!(
            bad(&answers),
            [
                "60 × closed (RST)",
                "20 × 404",
                "7 × NOERROR+TC (truncated)",
                "1 × NXDOMAIN"
            ]
        );
    }
}
