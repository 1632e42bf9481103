//! Whole PDUs instead of scattered cells: partial (PPD) and early packet discard (EPD).
//!
//! A PDU that has lost a cell is worthless, and its other cells only take room. PPD drops what follows
//! a lost cell, all but the last one, by which the receiver finds the next PDU. EPD beside it refuses a
//! whole PDU at its first cell while the buffer is filled beyond a threshold. Cells outside PDUs (RM
//! cells) are left alone.
//!
//! References: A. Romanow and S. Floyd, "Dynamics of TCP traffic over ATM networks", IEEE JSAC 13(4),
//! 1995.
//!
//! Validation: both by hand; under overload by five flows, EPD with room for a PDU a flow above its
//! threshold passes whole PDUs only, and PPD never a cell between a lost one and the last.

use crate::growing;
use crate::item::{Cause, Pdu};
use delaylab_model::quantity::Share;

/// What is dropped besides cells that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Discard {
    /// Nothing: cell by cell.
    #[default]
    Cells,
    /// The rest of a PDU that lost a cell.
    Partial,
    /// That, and whole PDUs that begin while so much or more is held of what the port may hold.
    Early {
        /// From where on.
        from: Share,
    },
}

/// Where a flow is in its PDUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its next cell begins one.
    Between,
    /// In one that is whole so far.
    Within,
    /// In one that was refused.
    Refused,
    /// In one that lost a cell.
    Broken,
}

/// Where each flow of an output port is in its PDUs.
#[derive(Debug, Clone)]
pub(crate) struct Discarder {
    /// From where on PDUs are refused; `None`: never.
    pub(crate) early: Option<Share>,
    flows: Vec<State>,
}

impl Discarder {
    /// None: nothing needs to be remembered.
    pub(crate) fn new(discard: Discard) -> Option<Self> {
        let early = match discard {
            Discard::Cells => return None,
            Discard::Partial => None,
            Discard::Early { from } => Some(from),
        };
        Some(Self {
            early,
            flows: Vec::new(),
        })
    }

    /// A cell arrives while the buffer is filled so far that PDUs are refused, or not. Why it must be dropped, if it must.
    pub(crate) fn arrives(&mut self, flow: u32, pdu: Pdu, is_filled: bool) -> Option<Cause> {
        if pdu == Pdu::Apart {
            return None;
        }
        let state = self.state(flow);
        let (next, verdict) = match *state {
            State::Between if is_filled => (State::Refused, Some(Cause::EarlyPacketDiscard)),
            State::Refused => (State::Refused, Some(Cause::EarlyPacketDiscard)),
            State::Broken if pdu == Pdu::Part => (State::Broken, Some(Cause::PartialPacketDiscard)),
            _ => (State::Within, None),
        };
        *state = if pdu == Pdu::End {
            State::Between
        } else {
            next
        };
        verdict
    }

    /// The cell that arrived last on this flow did not fit.
    pub(crate) fn lost(&mut self, flow: u32, pdu: Pdu) {
        if pdu == Pdu::Part {
            *self.state(flow) = State::Broken;
        }
    }

    fn state(&mut self, flow: u32) -> &mut State {
        growing::at(&mut self.flows, flow as usize, State::Between)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: bool = false;
    const FULL: bool = true;

    fn early() -> Option<Discarder> {
        Discarder::new(Discard::Early { from: Share::WHOLE })
    }

    #[test]
    fn early_discard_refuses_a_pdu_to_its_last_cell_and_leaves_one_under_way() {
        let Some(mut flows) = early() else {
            panic!("something to remember")
        };
        let refused = Some(Cause::EarlyPacketDiscard);
        assert_eq!(flows.arrives(0, Pdu::Part, EMPTY), None);
        assert_eq!(flows.arrives(0, Pdu::Part, FULL), None); // begun before
        assert_eq!(flows.arrives(1, Pdu::Part, FULL), refused);
        assert_eq!(flows.arrives(1, Pdu::Apart, FULL), None);
        assert_eq!(flows.arrives(1, Pdu::Part, EMPTY), refused);
        assert_eq!(flows.arrives(1, Pdu::End, EMPTY), refused);
        assert_eq!(flows.arrives(1, Pdu::Part, EMPTY), None);
        assert_eq!(flows.arrives(2, Pdu::End, FULL), refused); // of one cell
        assert_eq!(flows.arrives(2, Pdu::End, EMPTY), None);
    }

    #[test]
    fn partial_discard_keeps_the_last_cell() {
        let Some(mut flows) = Discarder::new(Discard::Partial) else {
            panic!("something to remember")
        };
        assert_eq!(flows.arrives(7, Pdu::Part, EMPTY), None);
        flows.lost(7, Pdu::Part);
        let rest = flows.arrives(7, Pdu::Part, EMPTY);
        assert_eq!(rest, Some(Cause::PartialPacketDiscard));
        assert_eq!(flows.arrives(7, Pdu::End, EMPTY), None);
        flows.lost(7, Pdu::End);
        assert_eq!(flows.arrives(7, Pdu::Part, EMPTY), None);
    }

    #[test]
    fn cell_by_cell_nothing_is_remembered() {
        assert!(Discarder::new(Discard::Cells).is_none());
    }
}
