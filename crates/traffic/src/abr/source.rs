//! The source: rules 2, 3, 7 and 10.

use super::rate::AllowedRate;
use super::{Parameters, ResourceManagement};
use delaylab_model::{PICOS_PER_SECOND, Picos};

/// What leaves in-rate (CLP = 0).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InRate {
    /// The next data cell.
    Data,
    /// A forward RM cell.
    ForwardRm(ResourceManagement),
    /// The backward RM cell that waited: take it from the destination.
    BackwardRm(ResourceManagement),
}

/// The source of one virtual channel.
///
/// After `send` and `on_backward` look at `next_send` again: when ACR changes while a cell waits, its
/// slot is reckoned anew, a spacing at the new rate after the cell that left last. A cell that leaves
/// late moves those after it: nothing is caught up.
#[derive(Debug, Clone)]
pub struct Source {
    parameters: Parameters,
    rate: AllowedRate,
    last_sent: Option<Picos>,
    /// When the last forward RM cell left in-rate, and what has left since.
    last_forward: Option<Picos>,
    sent_since: u32,
    backward_sent: bool,
    /// Forward RM cells since the last backward one that was not a switch's.
    outstanding: u32,
    last_out_of_rate: Option<Picos>,
}

impl Source {
    /// Nothing sent yet.
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            parameters: *parameters,
            rate: AllowedRate::new(parameters),
            last_sent: None,
            last_forward: None,
            sent_since: 0,
            backward_sent: false,
            outstanding: 0,
            last_out_of_rate: None,
        }
    }

    /// The earliest time at which an in-rate cell may leave: `Picos::MAX` for never at this rate.
    #[inline]
    pub fn next_send(&self) -> Picos {
        self.last_sent
            .map_or(0, |last| last.saturating_add(self.rate.spacing()))
    }

    /// Which cell leaves now. `None`: too early, or there is nothing to send. A source with nothing to
    /// send sends no RM cells either.
    #[inline]
    pub fn send(
        &mut self,
        now: Picos,
        data_waits: bool,
        backward_waits: Option<ResourceManagement>,
    ) -> Option<InRate> {
        if now < self.next_send() || !(data_waits || backward_waits.is_some()) {
            return None;
        }
        let cell = self.choose(now, data_waits, backward_waits);
        self.last_sent = Some(now);
        self.rate.on_sent(&self.parameters);
        Some(cell)
    }

    /// A backward RM cell came in.
    pub fn on_backward(&mut self, rm: &ResourceManagement) {
        if !rm.notification {
            self.outstanding = 0;
        }
        self.rate.on_backward(rm, &self.parameters);
    }

    /// When an out-of-rate forward RM cell may leave, should data wait. `None` while ACR is at least
    /// TCR: in-rate cells are then as frequent.
    pub fn next_out_of_rate(&self) -> Option<Picos> {
        let spacing = (PICOS_PER_SECOND as f64 / self.parameters.tcr).ceil() as Picos;
        let slow = self.rate.acr() < self.parameters.tcr;
        slow.then(|| {
            self.last_out_of_rate
                .map_or(0, |last| last.saturating_add(spacing))
        })
    }

    /// The out-of-rate forward RM cell (CLP = 1) that leaves now, if one may (rule 10).
    pub fn out_of_rate(&mut self, now: Picos) -> Option<ResourceManagement> {
        self.next_out_of_rate().filter(|&at| at <= now)?;
        self.last_out_of_rate = Some(now);
        Some(self.forward_rm())
    }

    /// Allowed cell rate in cells a second, always within MCR and PCR.
    pub const fn acr(&self) -> f64 {
        self.rate.acr()
    }

    /// As given.
    pub const fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Rule 3.
    #[inline]
    fn choose(
        &mut self,
        now: Picos,
        data_waits: bool,
        backward_waits: Option<ResourceManagement>,
    ) -> InRate {
        if self.forward_is_due(now) {
            return InRate::ForwardRm(self.forward(now));
        }
        self.sent_since += 1;
        match backward_waits {
            Some(rm) if !self.backward_sent || !data_waits => {
                self.backward_sent = true;
                InRate::BackwardRm(rm)
            }
            _ => InRate::Data,
        }
    }

    #[inline]
    fn forward_is_due(&self, now: Picos) -> bool {
        let Some(last) = self.last_forward else {
            return true; // rule 2
        };
        let enough = self.sent_since >= self.parameters.mrm;
        self.sent_since >= self.parameters.nrm - 1
            || (enough && now.saturating_sub(last) >= self.parameters.trm)
    }

    /// Rules 5 to 7.
    fn forward(&mut self, now: Picos) -> ResourceManagement {
        if let Some(last) = self.last_forward {
            let idle = now.saturating_sub(last);
            self.rate.use_it_or_lose_it(idle, &self.parameters);
        }
        if self.outstanding >= self.parameters.xrm {
            self.rate.cut(&self.parameters);
        }
        self.outstanding = self.outstanding.saturating_add(1);
        self.last_forward = Some(now);
        self.sent_since = 0;
        self.backward_sent = false;
        self.forward_rm()
    }

    const fn forward_rm(&self) -> ResourceManagement {
        ResourceManagement {
            backward: false,
            notification: false,
            congestion: false,
            no_increase: false,
            explicit_rate: self.parameters.pcr,
            current_rate: self.rate.acr(),
            minimum_rate: self.parameters.mcr,
        }
    }
}
