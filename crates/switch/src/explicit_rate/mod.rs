//! Explicit rate: what a switch writes into the RM cells of ABR virtual channels. Not a queue, but
//! beside one.
//!
//! The driver calls [`ExplicitRate::cell`] for each ABR cell that arrives for the port,
//! [`ExplicitRate::forward_rm`] for each RM cell that passes towards its destination, and
//! [`ExplicitRate::backward_rm`] for each that comes back to the source and was forwarded through this
//! port before: it lowers the cell's explicit rate (ER) to what it returns. Flows are numbered as they
//! are forward. Rates are in cells a second.

mod eprca;
mod erica;

pub use eprca::Eprca;
pub use erica::Erica;

use crate::item::Backlog;
use delaylab_model::Picos;

/// One of the algorithms, for one output port.
#[derive(Debug, Clone)]
pub enum ExplicitRate {
    /// A mean of the sources' rates, and less than it for those above it while the queue is long.
    Eprca(Eprca),
    /// A fair share of the capacity, corrected by the measured load.
    Erica(Erica),
}

impl ExplicitRate {
    /// Forgets what it saw: what it measures begins at this time.
    pub fn restart(&mut self, at: Picos) {
        match self {
            Self::Eprca(eprca) => eprca.restart(),
            Self::Erica(erica) => erica.restart(at),
        }
    }

    /// A cell of a flow arrived for the port.
    #[inline]
    pub fn cell(&mut self, now: Picos, flow: u32) {
        if let Self::Erica(erica) = self {
            erica.cell(now, flow);
        }
    }

    /// A forward RM cell passes: its source sends at `ccr`.
    pub fn forward_rm(&mut self, now: Picos, flow: u32, ccr: f64) {
        match self {
            Self::Eprca(eprca) => eprca.forward_rm(ccr),
            Self::Erica(erica) => erica.forward_rm(now, flow, ccr),
        }
    }

    /// A backward RM cell with these two rates passes, while the port holds so much: its new ER.
    pub fn backward_rm(
        &mut self,
        now: Picos,
        flow: u32,
        ccr: f64,
        er: f64,
        backlog: Backlog,
    ) -> f64 {
        match self {
            Self::Eprca(eprca) => eprca.backward_rm(ccr, er, backlog),
            Self::Erica(erica) => erica.backward_rm(now, flow, er),
        }
    }
}
