//! The worst response of each moment of late, so that no extreme is averaged away.

use delaylab_model::Nanos;
use std::collections::VecDeque;

/// Columns that are kept: minutes, more than any terminal shows one by one.
const KEPT: usize = 2_048;

/// What came of the packets that were due in one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Column {
    /// The longest response.
    pub(super) worst: Option<Nanos>,
    /// The longest part of a response that was in the hosts, where stamps tell.
    pub(super) host: Option<Nanos>,
    /// And in the network.
    pub(super) network: Option<Nanos>,
    /// Packets without a response.
    pub(super) unanswered: u64,
}

/// How long a packet took, and how much of it was in the hosts and in the network.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResponseParts {
    pub(super) response: Nanos,
    pub(super) host: Option<Nanos>,
    pub(super) network: Option<Nanos>,
}

/// Columns of one length, the latest last.
#[derive(Debug, Clone)]
pub(super) struct Strip {
    /// How long a column is.
    pub(super) length: Nanos,
    /// Number of the first column, counted from time zero of the packets' clock.
    first: i64,
    columns: VecDeque<Column>,
}

impl Strip {
    pub(super) fn new(length: Nanos) -> Self {
        Self {
            length: length.max(1),
            first: 0,
            columns: VecDeque::new(),
        }
    }

    /// A packet was due then and took so long; `None`: it was not answered. One from before all that is kept
    /// is not taken.
    pub(super) fn push(&mut self, due: Nanos, took: Option<ResponseParts>) {
        let Some(column) = self.column(due.div_euclid(self.length)) else {
            return;
        };
        match took {
            Some(took) => {
                column.worst = column.worst.max(Some(took.response));
                column.host = column.host.max(took.host);
                column.network = column.network.max(took.network);
            }
            None => column.unanswered += 1,
        }
    }

    fn column(&mut self, number: i64) -> Option<&mut Column> {
        if self.columns.is_empty() {
            self.first = number;
        }
        let gap = number.saturating_sub(self.first + self.columns.len() as i64);
        if gap >= KEPT as i64 {
            self.columns.clear();
            self.first = number;
        }
        while number < self.first && self.columns.len() < KEPT {
            self.columns.push_front(Column::default());
            self.first -= 1;
        }
        while number >= self.first + self.columns.len() as i64 {
            self.columns.push_back(Column::default());
        }
        while self.columns.len() > KEPT {
            self.columns.pop_front();
            self.first += 1;
        }
        let index = usize::try_from(number - self.first).ok()?;
        self.columns.get_mut(index)
    }

    /// All that are kept, the latest last.
    pub(super) fn columns(&self) -> Vec<Column> {
        self.columns.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn took(response: Nanos) -> ResponseParts {
        ResponseParts {
            response,
            host: Some(response / 3),
            network: None,
        }
    }

    #[test]
    fn a_column_keeps_its_worst() {
        let mut strip = Strip::new(10);
        for (due, response) in [
            (25, Some(3)),
            (21, Some(9)),
            (42, None),
            (29, Some(1)),
            (18, Some(2)),
        ] {
            strip.push(due, response.map(took));
        }
        let worst: Vec<_> = strip.columns().iter().map(|c| c.worst).collect();
        assert_eq!(worst, [Some(2), Some(9), None, None]);
        assert_eq!(strip.columns()[3].unanswered, 1);
        let parts = (strip.columns()[1].host, strip.columns()[1].network);
        assert_eq!(parts, (Some(3), None));
    }

    proptest! {
        /// Whatever the order: the columns are those of the latest packets, and each keeps its worst.
        #[test]
        fn the_latest_extremes_are_never_lost(
            packets in prop::collection::vec((any::<i32>(), 1_i64..1_000_000), 1..200),
            shift in 0..24,
        ) {
            let mut strip = Strip::new(100);
            let dues = packets.iter().map(|&(due, response)| (i64::from(due >> shift), response));
            for (due, response) in dues.clone() {
                strip.push(due, Some(took(response)));
            }
            let columns = strip.columns();
            prop_assert!(columns.len() <= KEPT);
            let last = dues.clone().map(|(due, _)| due.div_euclid(100)).max();
            let in_last = dues.filter(|&(due, _)| Some(due.div_euclid(100)) == last);
            let worst = in_last.map(|(_, response)| response).max();
            prop_assert_eq!(columns.last().and_then(|column| column.worst), worst);
        }
    }
}
