//! Sources that always have data, through one FIFO with an EFCI threshold: the sanity model of the
//! specification. Time goes in cell times of the trunk; RM cells come back after a fixed delay.

use super::super::*;
use super::eprca;
use delaylab_model::Picos;
use delaylab_model::path::{AbrDecrease, AbrIdle, AbrMark};
use std::collections::VecDeque;

const THRESHOLD: usize = 500;
/// At 155.52 Mbit/s.
const CELL: Picos = 2_726_337;
/// One way, in cell times.
const DELAY: u64 = 10;

#[derive(Clone, Copy)]
struct Cell {
    vc: usize,
    forward: Option<ResourceManagement>,
    efci: bool,
}

struct Model {
    mark: AbrMark,
    sources: Vec<Source>,
    destinations: Vec<Destination>,
    queue: VecDeque<Cell>,
    to_destination: VecDeque<(u64, Cell)>,
    to_source: VecDeque<(u64, usize, ResourceManagement)>,
}

impl Model {
    fn new(parameters: &Parameters, vcs: usize) -> Self {
        Self {
            mark: parameters.mark,
            sources: vec![Source::new(parameters); vcs],
            destinations: vec![Destination::default(); vcs],
            queue: VecDeque::new(),
            to_destination: VecDeque::new(),
            to_source: VecDeque::new(),
        }
    }

    fn arrive(&mut self, vc: usize, cell: InRate) {
        let forward = match cell {
            InRate::ForwardRm(rm) => Some(rm),
            _ => None,
        };
        let efci = self.mark == AbrMark::Arrival && self.queue.len() > THRESHOLD;
        self.queue.push_back(Cell { vc, forward, efci });
    }

    fn depart(&mut self, slot: u64) {
        let over = self.mark == AbrMark::Departure && self.queue.len() > THRESHOLD;
        if let Some(mut cell) = self.queue.pop_front() {
            cell.efci |= over;
            self.to_destination.push_back((slot + DELAY, cell));
        }
    }

    fn deliver(&mut self, slot: u64) {
        while let Some((_, cell)) = self.to_destination.pop_front_if(|c| c.0 <= slot) {
            let destination = &mut self.destinations[cell.vc];
            match cell.forward {
                Some(rm) => destination.on_forward(rm),
                None => destination.on_data(cell.efci),
            }
            // The way back is empty.
            if let Some(rm) = destination.take_backward() {
                self.to_source.push_back((slot + DELAY, cell.vc, rm));
            }
        }
        while let Some((_, vc, rm)) = self.to_source.pop_front_if(|c| c.0 <= slot) {
            self.sources[vc].on_backward(&rm);
        }
    }

    /// The backlog at the end of a cell time.
    fn step(&mut self, slot: u64) -> usize {
        self.deliver(slot);
        for vc in 0..self.sources.len() {
            // An access link is as fast as the trunk: one cell each at most.
            if let Some(cell) = self.sources[vc].send(slot * CELL, true, None) {
                self.arrive(vc, cell);
            }
        }
        self.depart(slot);
        self.queue.len()
    }
}

/// Mean backlog after the first half, and the peak of all.
fn run(parameters: &Parameters, slots: u64) -> (f64, usize) {
    let mut model = Model::new(parameters, 3);
    let (mut sum, mut peak) = (0, 0);
    for slot in 0..slots {
        let backlog = model.step(slot);
        peak = peak.max(backlog);
        sum += if slot * 2 >= slots { backlog } else { 0 };
    }
    (sum as f64 / (slots / 2) as f64, peak)
}

fn variant(decrease: AbrDecrease, mark: AbrMark) -> Parameters {
    Parameters {
        decrease,
        mark,
        idle: AbrIdle::None,
        ..eprca()
    }
}

/// The paper says that the queue averages about 500 cells. Only decrease per cell with marks on
/// departure bears that out (462 in the reference model); the others swing below the threshold.
#[test]
fn where_the_queue_settles_depends_on_the_variant() {
    for decrease in [AbrDecrease::PerRm, AbrDecrease::PerCell] {
        for mark in [AbrMark::Arrival, AbrMark::Departure] {
            let (mean, peak) = run(&variant(decrease, mark), 1_000_000);
            println!("ICR 10, {decrease:?}, {mark:?}: mean {mean:.0}, peak {peak}");
            match (decrease, mark) {
                // 10 % either way.
                (AbrDecrease::PerCell, AbrMark::Departure) => {
                    assert!((mean / 462.0 - 1.0).abs() < 0.10, "{mean}");
                }
                _ => assert!((50.0..350.0).contains(&mean), "{mean}"),
            }
        }
    }
}

#[test]
fn at_icr_equal_to_pcr_it_first_peaks_at_two_to_three_times_the_threshold() {
    for decrease in [AbrDecrease::PerRm, AbrDecrease::PerCell] {
        for mark in [AbrMark::Arrival, AbrMark::Departure] {
            let parameters = variant(decrease, mark);
            let parameters = Parameters {
                icr: parameters.pcr,
                ..parameters
            };
            let (mean, peak) = run(&parameters, 1_000_000);
            println!("ICR = PCR, {decrease:?}, {mark:?}: mean {mean:.0}, peak {peak}");
            if (decrease, mark) == (AbrDecrease::PerRm, AbrMark::Arrival) {
                // The paper: two to three times. The reference model: 2.6.
                let ratio = peak as f64 / THRESHOLD as f64;
                assert!((2.0..3.0).contains(&ratio), "{ratio}");
            }
        }
    }
}
