//! ABR end systems: EPRCA as of December 1995 (source 003) and ATM Forum TM 4.0.
//!
//! | module | decides |
//! |---|---|
//! | `parameters` | what the parameters are, and whether they fit together |
//! | `rate` | the allowed cell rate: increase, decrease, use it or lose it |
//! | `source` | which cell leaves and when |
//! | `destination` | what comes back: EFCI into CI, RM cells turned round |
//!
//! Rates are in cells a second; a cell is 53 bytes, so 424 bits.
//!
//! The rules of the source, as the code cites them:
//!
//! 1. MCR ≤ ACR ≤ PCR; in-rate cells are spaced 1/ACR.
//! 2. ACR starts at ICR; the first in-rate cell is a forward RM cell.
//! 3. The next in-rate cell is a forward RM cell if since the last one Nrm − 1 in-rate cells were
//!    sent, or Mrm were and Trm has passed; else a backward RM cell that waits, if none was sent since
//!    then or no data waits; else data.
//! 4. In-rate cells have CLP = 0.
//! 5. Before a forward RM cell, use it or lose it ([`AbrIdle`](delaylab_model::path::AbrIdle)).
//! 6. Before a forward RM cell, if Xrm or more are outstanding, ACR is cut by Xdf.
//! 7. A forward RM cell says CCR = ACR, after 5 and 6.
//! 8. A backward RM cell decreases, increases or holds ACR
//!    ([`AbrDecrease`](delaylab_model::path::AbrDecrease)).
//! 9. It does not exceed the explicit rate.
//! 10. When ACR is too low for in-rate cells, out-of-rate forward RM cells (CLP = 1) at no more than
//!     TCR.
//!
//! Variants are parameters. Which findings of the paper each bears out is for an experiment to say.

mod destination;
mod parameters;
mod rate;
mod source;
#[cfg(test)]
mod tests;

pub use destination::Destination;
pub use parameters::{CELL_BITS, Parameters};
pub use source::{InRate, Source};

/// What a resource management cell says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResourceManagement {
    /// DIR: on its way back to the source.
    pub backward: bool,
    /// BN: made by a switch or the destination, not turned round.
    pub notification: bool,
    /// CI: congestion.
    pub congestion: bool,
    /// NI: do not increase.
    pub no_increase: bool,
    /// ER: explicit rate, in cells a second.
    pub explicit_rate: f64,
    /// CCR: the source's rate when it was sent.
    pub current_rate: f64,
    /// MCR.
    pub minimum_rate: f64,
}
