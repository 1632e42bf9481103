//! How long a server took, as far as its acknowledgements bound it.

use super::Distribution;
use crate::sample::Kept;
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
#[derive(Debug, Default)]
pub(super) struct ServerTally {
    least: Kept,
    most: Kept,
    told: u64,
    says: Kept,
}

impl ServerTally {
    pub(super) fn push(&mut self, record: &Record, limit: usize) {
        let Some(bounds) = record.server() else {
            return;
        };
        self.least.push(bounds.least, limit);
        self.most.push(bounds.most, limit);
        if let Some(says) = record.server_says {
            self.says.push(says, limit);
        }
        self.told += u64::from(record.server_told().is_some());
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.least.heap_bytes() + self.most.heap_bytes() + self.says.heap_bytes()
    }

    pub(super) fn finish(&self) -> Option<ServerTime> {
        Some(ServerTime {
            least: self.least.distribution()?,
            most: self.most.distribution()?,
            told: self.told,
            says: self.says.distribution(),
        })
    }
}
