//! Credit flow control over one hop, in cell times: a port that sends under credit, the link, a
//! downstream queue that forwards one cell a cell time, and the credits on their way back.

use super::*;
use crate::credit::{Downstream, Upstream};
use crate::discipline::credit::Credit;
use proptest::prelude::*;
use std::collections::VecDeque;

/// What came of it.
#[derive(Debug, Default)]
struct Outcome {
    forwarded: u64,
    /// The most that a channel held downstream.
    most: u64,
    in_order: bool,
}

/// One direction of the link: what is under way, and when it arrives.
#[derive(Debug)]
struct Wire<T>(VecDeque<(Picos, T)>);

impl<T> Wire<T> {
    fn arrived(&mut self, now: Picos) -> Option<T> {
        self.0.front().filter(|(at, _)| *at <= now)?;
        self.0.pop_front().map(|(_, it)| it)
    }
}

/// A hop with a round trip of `rtt` cell times.
struct Hop {
    credit: path::Credit,
    rtt: u64,
    flows: u32,
}

/// It at work.
struct Running {
    there: u64,
    back: u64,
    port: Credit<Thing>,
    cells: Wire<Thing>,
    credits: Wire<(u32, u64)>,
    downstream: Vec<Downstream>,
    queues: Vec<VecDeque<u32>>,
    /// Downstream: the number of the cell that each channel forwards next, and whose turn it is.
    expected: Vec<u32>,
    turn: usize,
    outcome: Outcome,
}

impl Hop {
    /// The downstream side serves where `serves(slot)`, and a credit is lost where `loses(slot)`.
    fn run(
        &self,
        slots: u64,
        serves: impl Fn(u64) -> bool,
        loses: impl Fn(u64) -> bool,
    ) -> Outcome {
        let mut hop = self.start(slots);
        for now in 0..slots {
            hop.transmit(now);
            if serves(now)
                && let Some((flow, forwarded)) = hop.forward()
                && !loses(now)
            {
                hop.credits.0.push_back((now + hop.back, (flow, forwarded)));
            }
        }
        hop.outcome
    }

    /// With as many cells in the port as could leave.
    fn start(&self, slots: u64) -> Running {
        let flows = self.flows as usize;
        let mut port = Credit::new(self.credit);
        for cell in (0..self.flows).flat_map(|flow| (0..slots).map(move |_| Thing::cell(flow))) {
            let number = port.backlog().items % slots;
            put(&mut port, 0, cell.number(number as u32));
        }
        Running {
            there: self.rtt / 2,
            back: self.rtt - self.rtt / 2,
            port,
            cells: Wire(VecDeque::new()),
            credits: Wire(VecDeque::new()),
            downstream: vec![Downstream::new(self.credit); flows],
            queues: vec![VecDeque::new(); flows],
            expected: vec![0; flows],
            turn: 0,
            outcome: Outcome {
                in_order: true,
                ..Outcome::default()
            },
        }
    }
}

impl Running {
    /// A cell time of the link.
    fn transmit(&mut self, now: Picos) {
        while let Some((flow, forwarded)) = self.credits.arrived(now) {
            self.port.credit(flow, forwarded);
        }
        if let Some(cell) = take(&mut self.port, now) {
            // It has arrived when its last bit has: a cell time for its transmission.
            self.cells.0.push_back((now + 1 + self.there, cell));
        }
        while let Some(cell) = self.cells.arrived(now) {
            let queue = &mut self.queues[cell.flow as usize];
            queue.push_back(cell.number);
            self.outcome.most = self.outcome.most.max(queue.len() as u64);
        }
    }

    /// The downstream side forwards a cell: the credit that it then owes.
    fn forward(&mut self) -> Option<(u32, u64)> {
        let count = self.queues.len();
        let mut turns = (self.turn..self.turn + count).map(|turn| turn % count);
        let flow = turns.find(|flow| !self.queues[*flow].is_empty())?;
        self.turn = flow + 1;
        self.outcome.in_order &= self.queues[flow].pop_front() == Some(self.expected[flow]);
        self.expected[flow] += 1;
        self.outcome.forwarded += 1;
        let forwarded = self.downstream[flow].forward()?;
        Some((flow as u32, forwarded))
    }
}

fn rate(n2: u32, n3: u32, rtt: u64) -> f64 {
    let credit = path::Credit { n2, n3 };
    let hop = Hop {
        credit,
        rtt,
        flows: 1,
    };
    let slots = 200_000;
    hop.run(slots, |_| true, |_| false).forwarded as f64 / slots as f64
}

#[test]
fn the_bandwidth_is_below_its_bound_and_reaches_it_where_n2_divides_n3() {
    for (n2, n3) in [(1, 0), (1, 25), (5, 25), (10, 20), (10, 30), (20, 60)] {
        let bound = f64::from(n2 + n3) / (100.0 + f64::from(n2));
        let seen = rate(n2, n3, 100);
        assert!(
            (seen / bound - 1.0).abs() < 0.002,
            "{n2}, {n3}: {seen}, not {bound}"
        );
    }
    for (n2, n3) in [(10, 25), (7, 30), (20, 30)] {
        let bound = f64::from(n2 + n3) / (100.0 + f64::from(n2));
        let seen = rate(n2, n3, 100);
        assert!(seen < 0.99 * bound, "{n2}, {n3}: {seen} of {bound}");
    }
}

#[test]
fn n2_10_and_n3_25_get_0_286_of_a_line_with_a_round_trip_of_100_cells() {
    let seen = rate(10, 25, 100);
    assert!((seen - 0.286).abs() < 0.001, "{seen}");
}

#[test]
fn n3_of_the_round_trip_fills_the_line() {
    let seen = rate(10, 100, 100);
    assert!(seen > 0.999, "{seen}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_channel_ever_exceeds_its_buffer(
        n2 in 1_u32..12,
        n3 in 0_u32..40,
        rtt in 0_u64..60,
        flows in 1_u32..5,
        stalls in 1_u64..30,
        losses in 2_u64..9,
    ) {
        let credit = path::Credit { n2, n3 };
        let hop = Hop { credit, rtt, flows };
        let outcome = hop.run(1_500, |now| now / stalls % 2 == 1, |now| now % losses == 0);
        prop_assert!(outcome.most <= u64::from(n2 + n3), "{:?}", outcome);
        prop_assert!(outcome.in_order, "{:?}", outcome);
    }
}

#[test]
fn a_lost_credit_is_made_good_by_the_next() {
    // With N3 a multiple of N2 a channel never has to wait for the one credit that was lost.
    let hop = Hop {
        credit: path::Credit { n2: 5, n3: 20 },
        rtt: 10,
        flows: 2,
    };
    let slots = 10_000;
    let outcome = hop.run(slots, |_| true, |now| now % 97 == 0);
    assert!(outcome.forwarded > slots * 98 / 100, "{outcome:?}");
}

#[test]
fn credits_out_of_order_or_out_of_the_air_are_harmless() {
    let mut upstream = Upstream::new(path::Credit { n2: 2, n3: 3 });
    assert_eq!(upstream.credit(), 5);
    (0..5).for_each(|_| upstream.send());
    assert_eq!(upstream.credit(), 0);
    upstream.receive(4);
    upstream.receive(2);
    assert_eq!(upstream.credit(), 4);
    upstream.receive(1_000);
    assert_eq!(upstream.credit(), 5);
}

#[test]
fn a_flow_without_credit_waits_and_a_credit_wakes_it() {
    let mut port = Credit::new(path::Credit { n2: 1, n3: 1 });
    (0..4).for_each(|number| put(&mut port, 0, Thing::cell(7).number(number)));
    assert!(take(&mut port, 0).is_some() && take(&mut port, 0).is_some());
    assert_eq!(take(&mut port, 0), None);
    assert_eq!(port.backlog().items, 2);
    assert!(port.credit(7, 1));
    assert!(!port.credit(7, 2)); // it has credit already
    assert_eq!(take(&mut port, 0).map(|cell| cell.number), Some(2));
    assert!(!port.credit(8, 1)); // nothing of it is queued
}
