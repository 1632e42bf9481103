//! Which discipline, with its parameters.

use super::fifo::Mark;
use super::{cake, codel, dual_pi2, fq_codel, pie, red};
use crate::buffer::Bound;
use crate::weights::Weights;
use delaylab_model::path;

/// A discipline and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// First in, first out, marking above a threshold or not (efci).
    Fifo {
        /// Where marks are set.
        mark: Option<Mark>,
    },
    /// First in, first out, with an [`ExplicitRate`](crate::explicit_rate::ExplicitRate) beside it.
    ExplicitRate {
        /// From where on the port is congested.
        threshold: Bound,
    },
    /// A queue a flow, in turn.
    PerFlow,
    /// Strict priority by class queue.
    Priority,
    /// Weighted round robin.
    Wrr(Weights),
    /// Weighted fair queueing.
    Wfq(Weights),
    /// Deficit round robin over flows.
    Drr {
        /// Bytes a turn.
        quantum: u32,
    },
    /// Credit flow control.
    Credit(path::Credit),
    /// Random early detection.
    Red(red::Parameters),
    /// CoDel.
    CoDel(codel::Parameters),
    /// FQ-CoDel.
    FqCoDel(fq_codel::Parameters),
    /// PIE.
    Pie(pie::Parameters),
    /// CAKE.
    Cake(cake::Parameters),
    /// DualPI2.
    DualPi2(dual_pi2::Parameters),
}

impl Kind {
    /// May it drop what it has held for a while?
    pub const fn drops_at_departure(&self) -> bool {
        matches!(
            self,
            Self::CoDel(_) | Self::FqCoDel(_) | Self::Cake(_) | Self::DualPi2(_)
        )
    }

    /// May it drop what arrives although it fits?
    pub const fn drops_at_arrival(&self) -> bool {
        matches!(self, Self::Red(_) | Self::Pie(_))
    }

    /// May it mark what it forwards?
    pub const fn marks(&self) -> bool {
        match self {
            Self::Fifo { mark } => mark.is_some(),
            Self::Red(_)
            | Self::CoDel(_)
            | Self::FqCoDel(_)
            | Self::Pie(_)
            | Self::Cake(_)
            | Self::DualPi2(_) => true,
            Self::ExplicitRate { .. }
            | Self::PerFlow
            | Self::Priority
            | Self::Wrr(_)
            | Self::Wfq(_)
            | Self::Drr { .. }
            | Self::Credit(_) => false,
        }
    }
}
