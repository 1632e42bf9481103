//! The allowed cell rate: rules 1, 5, 6, 8 and 9.

use super::{Parameters, ResourceManagement};
use delaylab_model::path::{AbrDecrease, AbrIdle};
use delaylab_model::{PICOS_PER_SECOND, Picos};

/// ACR, and the time between cells at it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AllowedRate {
    acr: f64,
    spacing: Picos,
}

impl AllowedRate {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let mut rate = Self {
            acr: 0.0,
            spacing: Picos::MAX,
        };
        rate.set(parameters.icr, parameters);
        rate
    }

    pub(crate) const fn acr(&self) -> f64 {
        self.acr
    }

    /// 1/ACR, rounded up so that a source never sends faster; for ever at 0.
    pub(crate) const fn spacing(&self) -> Picos {
        self.spacing
    }

    /// Rule 1, whatever asks for the change.
    fn set(&mut self, acr: f64, parameters: &Parameters) {
        let acr = acr.min(parameters.pcr).max(parameters.mcr);
        if acr != self.acr {
            self.acr = acr;
            self.spacing = (PICOS_PER_SECOND as f64 / acr).ceil() as Picos;
        }
    }

    /// Rule 5, `idle` after the last forward RM cell.
    pub(crate) fn use_it_or_lose_it(&mut self, idle: Picos, parameters: &Parameters) {
        let seconds = idle as f64 / PICOS_PER_SECOND as f64;
        let limit = parameters.tof * f64::from(parameters.nrm);
        if self.acr <= parameters.icr {
            return;
        }
        match parameters.idle {
            AbrIdle::Tof if seconds * self.acr > limit => {
                let left = self.acr - self.acr * seconds * parameters.tdf;
                self.set(left.max(parameters.icr), parameters);
            }
            AbrIdle::Adtf if idle > parameters.adtf => self.set(parameters.icr, parameters),
            _ => {}
        }
    }

    /// Rule 6: too many forward RM cells are outstanding.
    pub(crate) fn cut(&mut self, parameters: &Parameters) {
        self.set(self.acr * (1.0 - parameters.xdf), parameters);
    }

    /// Rule 8, per cell: an in-rate cell was sent.
    #[inline]
    pub(crate) fn on_sent(&mut self, parameters: &Parameters) {
        if parameters.decrease == AbrDecrease::PerCell {
            self.set(self.acr - self.acr / parameters.rdf, parameters);
        }
    }

    /// Rules 8 and 9. Per cell, what the cells took is given back unless there is congestion; NI then
    /// only keeps the increase away.
    pub(crate) fn on_backward(&mut self, rm: &ResourceManagement, parameters: &Parameters) {
        let nrm = f64::from(parameters.nrm);
        let of_acr = self.acr * nrm / parameters.rdf;
        let step = match (parameters.decrease, rm.congestion) {
            (AbrDecrease::PerRm, true) => -of_acr,
            (AbrDecrease::PerCell, false) => of_acr,
            _ => 0.0,
        };
        let increase = if rm.congestion || rm.no_increase {
            0.0
        } else {
            nrm * parameters.air
        };
        let acr = (self.acr + step + increase).min(parameters.pcr);
        self.set(acr.min(rm.explicit_rate), parameters);
    }
}
