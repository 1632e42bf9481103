//! In which direction packets were lost, by what the reflector counted.

use super::totals::total;
use delaylab_model::words::were;
use delaylab_store::trial_row::TrialRow;
use std::cmp::Reverse;

/// The reflector counts what comes to it. Of what was lost behind its last count that arrived, or where nothing counts, the
/// direction is not known. Where these are `some` of what the sentence is about, all have their count.
pub(super) fn which_way(rows: &[&TrialRow], some: bool) -> Option<String> {
    let (mut there, mut back, mut in_host, mut later, mut unknown) = (0, 0, 0, 0, 0);
    for row in rows {
        match row.facts.loss {
            Some(loss) => {
                later += loss.answered_later;
                there += loss.forward;
                back += loss.back;
                in_host += loss.in_host.total();
                unknown += loss.unknown;
            }
            None => unknown += total(&[row], "lost"),
        }
    }
    let mut known = in_words(there, back, in_host, later);
    known.sort_by_key(|(count, _)| Reverse(*count));
    let all = there + back + in_host + later + unknown;
    let known = known.into_iter().filter(|(count, _)| *count > 0);
    let mut parts: Vec<String> = known
        .map(|(count, what)| match count {
            1 if all == 1 && !some => format!("it {what}"),
            count if count == all && !some => format!("they {what}"),
            count => format!("{count} {what}"),
        })
        .collect();
    if parts.is_empty() {
        return None;
    }
    if unknown > 0 {
        parts.push(format!("of {unknown} it is not known"));
    }
    Some(parts.join("; "))
}

/// What is known of packets that were lost, with how many these are: they did not come to the reflector, did not come back, were dropped
/// in a host, or were answered later.
fn in_words(there: u64, back: u64, in_host: u64, later: u64) -> [(u64, String); 4] {
    let one_or_more = |count: u64, one: &str, more: &str| match count {
        1 => one.to_owned(),
        _ => more.to_owned(),
    };
    [
        (there, "did not come to the reflector".to_owned()),
        (
            back,
            format!(
                "came to the reflector, and its {} did not come back",
                one_or_more(back, "reply", "replies")
            ),
        ),
        (
            in_host,
            format!(
                "{} dropped in a host, whose buffer was full or whose limit was reached",
                were(in_host)
            ),
        ),
        (
            later,
            format!(
                "{} answered long after {} time-out",
                were(later),
                one_or_more(later, "its", "their")
            ),
        ),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::causes::testing::row;
    use delaylab_model::trial::{LossDirection, LostInHost};

    #[test]
    fn the_direction_of_some_is_not_said_of_all() {
        let words = |losses: &[LossDirection]| {
            let rows: Vec<TrialRow> = losses.iter().map(|&loss| row(&[], Some(loss))).collect();
            which_way(&rows.iter().collect::<Vec<_>>(), false)
        };
        let lost = |forward, back, unknown, own_buffer| LossDirection {
            forward,
            back,
            unknown,
            answered_later: 0,
            in_host: LostInHost {
                own_buffer,
                ..LostInHost::default()
            },
        };
        assert_eq!(words(&[lost(0, 0, 7, 0)]), None);
        for (losses, expected) in [
            (lost(12, 0, 0, 0), "they did not come to the reflector"),
            (
                lost(12, 0, 177, 0),
                "12 did not come to the reflector; of 177 it is not known",
            ),
            (
                lost(0, 3, 0, 0),
                "they came to the reflector, and its replies did not come back",
            ),
            (
                lost(0, 3, 9, 0),
                "3 came to the reflector, and its replies did not come back; of 9 it is not known",
            ),
            (
                lost(5, 3, 9, 0),
                "5 did not come to the reflector; 3 came to the reflector, and its replies did not come back; of 9 it is not known",
            ),
            (
                lost(95, 5, 0, 0),
                "95 did not come to the reflector; 5 came to the reflector, and its replies did not come back",
            ),
            (
                lost(5, 0, 0, 9),
                "9 were dropped in a host, whose buffer was full or whose limit was reached; 5 did not come to the reflector",
            ),
            (
                lost(12, 0, 0, 12),
                "12 did not come to the reflector; 12 were dropped in a host, whose buffer was full or whose limit was reached",
            ),
            (
                lost(0, 0, 500, 1),
                "1 was dropped in a host, whose buffer was full or whose limit was reached; of 500 it is not known",
            ),
            (
                lost(0, 1, 0, 0),
                "it came to the reflector, and its reply did not come back",
            ),
        ] {
            assert_eq!(words(&[losses]).unwrap(), expected);
        }
        let late = LossDirection {
            answered_later: 91,
            ..lost(0, 0, 0, 0)
        };
        let said = "they were answered long after their time-out";
        assert_eq!(words(&[late]).unwrap(), said);
        let both = words(&[late, lost(2, 0, 5, 0)]).unwrap();
        assert_eq!(
            both,
            "91 were answered long after their time-out; 2 did not come to the reflector; of 5 it is not known"
        );
        // What several trials lost is added up.
        let both = words(&[lost(12, 0, 0, 0), lost(0, 0, 5, 0)]).unwrap();
        assert_eq!(
            both,
            "12 did not come to the reflector; of 5 it is not known"
        );
    }
}
