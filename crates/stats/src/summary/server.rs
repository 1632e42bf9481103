//! How long a server took, as far as its acknowledgements bound it.

use super::Distribution;
use crate::sample::{Tally, Values};
use delaylab_model::Nanos;
use delaylab_model::record::Record;

/// How long a server took: of each response no less and no more than this. See [`Record::server`].
#[derive(Debug, Clone, PartialEq)]
pub struct ServerTime {
    /// At least.
    pub least: Distribution,
    /// At most.
    pub most: Distribution,
    /// Responses of which the two are one value, as far as stamps can tell.
    pub told: u64,
    /// What the server says that it took itself; `None` where it says nothing.
    pub says: Option<Distribution>,
}

/// Takes the bounds of each response.
#[derive(Debug)]
pub(super) struct ServerTally {
    least: (Tally, Values),
    most: (Tally, Values),
    told: u64,
    says: (Tally, Values),
}

impl Default for ServerTally {
    fn default() -> Self {
        let empty = || (Tally::default(), Values::Exact(Vec::new()));
        Self {
            least: empty(),
            most: empty(),
            told: 0,
            says: empty(),
        }
    }
}

impl ServerTally {
    pub(super) fn push(&mut self, record: &Record, limit: usize) {
        let Some(bounds) = record.server() else {
            return;
        };
        let push = |(tally, values): &mut (Tally, Values), value: Nanos| {
            tally.push(value);
            values.push(value, limit);
        };
        push(&mut self.least, bounds.least);
        push(&mut self.most, bounds.most);
        if let Some(says) = record.server_says {
            push(&mut self.says, says);
        }
        self.told += u64::from(record.server_told().is_some());
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let values = [&self.least.1, &self.most.1, &self.says.1];
        values.iter().map(|values| values.heap_bytes()).sum()
    }

    pub(super) fn finish(&self) -> Option<ServerTime> {
        Some(ServerTime {
            least: self.least.0.distribution(&self.least.1)?,
            most: self.most.0.distribution(&self.most.1)?,
            told: self.told,
            says: self.says.0.distribution(&self.says.1),
        })
    }
}
