//! Which cell leaves and when.

use super::super::*;
use super::{backward, eprca};
use delaylab_model::PICOS_PER_SECOND as SECOND;
use delaylab_model::Picos;

/// 1/ICR at 10 Mbit/s.
const SLOT: Picos = 42_400_000;

/// The next cell at the earliest time.
fn next(source: &mut Source, data: bool, back: Option<ResourceManagement>) -> InRate {
    let at = source.next_send();
    assert!(at == 0 || source.send(at - 1, true, back).is_none());
    source.send(at, data, back).unwrap()
}

fn is_forward(cell: InRate) -> bool {
    matches!(cell, InRate::ForwardRm(_))
}

#[test]
fn a_forward_rm_cell_first_and_then_every_nrm() {
    let mut source = Source::new(&eprca());
    let cells: Vec<bool> = (0..97)
        .map(|_| is_forward(next(&mut source, true, None)))
        .collect();
    let at: Vec<usize> = (0..97).filter(|&k| cells[k]).collect();
    assert_eq!(at, [0, 32, 64, 96]);
    assert_eq!(source.next_send(), 97 * SLOT);
}

#[test]
fn it_carries_the_rate() {
    let mut source = Source::new(&eprca());
    let InRate::ForwardRm(rm) = next(&mut source, true, None) else {
        panic!("rule 2")
    };
    assert_eq!(rm.current_rate, eprca().icr);
    assert_eq!(rm.explicit_rate, eprca().pcr);
    assert_eq!(rm.minimum_rate, eprca().mcr);
    assert!(!(rm.backward || rm.notification || rm.congestion || rm.no_increase));
}

#[test]
fn after_trm_two_other_cells_are_enough() {
    let mut source = Source::new(&eprca());
    assert!(is_forward(next(&mut source, true, None)));
    let trm = eprca().trm;
    assert_eq!(source.send(trm, true, None), Some(InRate::Data));
    assert_eq!(source.send(trm + SLOT, true, None), Some(InRate::Data));
    assert!(is_forward(source.send(trm + 2 * SLOT, true, None).unwrap()));
}

#[test]
fn a_backward_rm_cell_goes_before_data_once_between_forward_ones() {
    let mut source = Source::new(&eprca());
    let back = Some(backward(true));
    assert!(is_forward(next(&mut source, true, back)));
    assert_eq!(
        next(&mut source, true, back),
        InRate::BackwardRm(backward(true))
    );
    assert_eq!(next(&mut source, true, back), InRate::Data);
    // No data: it may go again.
    assert_eq!(
        next(&mut source, false, back),
        InRate::BackwardRm(backward(true))
    );
    for _ in 0..28 {
        assert_eq!(next(&mut source, true, back), InRate::Data);
    }
    assert!(is_forward(next(&mut source, true, back)));
    assert_eq!(
        next(&mut source, true, back),
        InRate::BackwardRm(backward(true))
    );
}

#[test]
fn nothing_to_send_is_nothing_sent() {
    let mut source = Source::new(&eprca());
    assert_eq!(source.send(SECOND, false, None), None);
    assert_eq!(source.next_send(), 0);
}

#[test]
fn a_slot_is_reckoned_anew_when_the_rate_changes() {
    let mut source = Source::new(&eprca());
    source.send(1000, true, None);
    assert_eq!(source.next_send(), 1000 + SLOT);
    source.on_backward(&backward(false));
    let faster = eprca().icr + 32.0 * eprca().air;
    let spacing = (SECOND as f64 / faster).ceil() as Picos;
    assert_eq!(source.next_send(), 1000 + spacing);
    assert!(spacing < SLOT);
    source.on_backward(&backward(true));
    assert!(source.next_send() > 1000 + spacing);
    // A late cell moves the next one; nothing is caught up.
    source.send(SECOND, true, None);
    assert!(source.next_send() > SECOND + spacing);
}

#[test]
fn out_of_rate_at_tcr_when_the_rate_is_nothing() {
    let silent = Parameters {
        icr: 0.0,
        mcr: 0.0,
        ..eprca()
    };
    let mut source = Source::new(&silent);
    // Rule 2's first cell may leave; the next never.
    source.send(0, true, None);
    assert_eq!(source.next_send(), Picos::MAX);
    assert_eq!(source.next_out_of_rate(), Some(0));
    assert!(source.out_of_rate(5).is_some());
    assert_eq!(source.out_of_rate(SECOND / 10), None);
    assert_eq!(source.next_out_of_rate(), Some(SECOND / 10 + 5));
    assert!(source.out_of_rate(SECOND / 10 + 5).is_some());
    source.on_backward(&backward(false));
    assert_eq!(
        (source.next_out_of_rate(), source.out_of_rate(2 * SECOND)),
        (None, None)
    );
    assert!(source.next_send() < SECOND);
}

#[test]
fn the_destination_tells_the_last_efci_bit_once() {
    let mut destination = Destination::default();
    let forward = ResourceManagement {
        backward: false,
        ..backward(false)
    };
    assert_eq!(destination.take_backward(), None);
    destination.on_data(true);
    destination.on_data(false);
    destination.on_forward(forward);
    assert_eq!(destination.take_backward(), Some(backward(false)));
    destination.on_data(true);
    destination.on_forward(forward);
    assert_eq!(destination.backward(), Some(backward(true)));
    // Overwritten before it left: the news is not lost.
    destination.on_forward(forward);
    assert_eq!(destination.take_backward(), Some(backward(true)));
    assert!(!destination.backward_waits());
    destination.on_forward(forward);
    assert_eq!(destination.take_backward(), Some(backward(false)));
}
