//! What an item costs a switch, from arrival to departure: nanoseconds for an enqueue and a dequeue with
//! cells of 16 bytes, 1000 channels in turn, and 500 or 5000 cells queued.
//!
//! ```text
//! cargo run --release -p delaylab-switch --example pair_cost
//! ```
#![forbid(unsafe_code)]

use delaylab_model::path::{self, CoDel, Credit, Discipline, Pool};
use delaylab_model::quantity::{Duration, Limit, Share};
use delaylab_model::refusal::Refusal;
use delaylab_switch::{Counts, Item, Settings, Switch};
use std::hint::black_box;
use std::time::Instant;

const PAIRS: u32 = 1_000_000;
/// The fastest of so many is the one that others disturbed least.
const ROUNDS: u32 = 15;
const CHANNELS: u32 = 1_000;

/// As a simulator has them.
#[derive(Clone, Copy)]
struct Cell {
    packet: u32,
    channel: u32,
    hop: u16,
    ingress: u16,
    marked: bool,
}

impl Item for Cell {
    fn bytes(&self) -> u32 {
        53
    }

    fn flow(&self) -> u32 {
        self.channel
    }

    fn queue(&self) -> u8 {
        (self.channel % 4) as u8
    }

    fn ingress(&self) -> u16 {
        self.ingress
    }

    fn mark(&mut self) -> bool {
        self.marked = true;
        true
    }
}

fn settings(discipline: Discipline, pool: Pool) -> Result<Settings, Refusal> {
    let switch = path::Switch {
        discipline: Some(discipline),
        buffer: Some(Limit::Cells(13_000)),
        pool: Some(pool),
        red: Some(path::Red {
            min: Limit::Cells(6_000),
            max: Limit::Cells(12_000),
            probability: Share(Share::WHOLE.0 / 10),
        }),
        // It measures sojourn times, and drops nothing here.
        codel: Some(CoDel {
            target: Duration(1_000_000_000),
            interval: Duration(2_000_000_000),
        }),
        credit: Some(Credit {
            n2: 10,
            n3: u32::MAX - 10,
        }),
        ..path::Switch::default()
    };
    Settings::read(&switch, Counts::Cells, &[])
}

const fn cell(number: u32) -> Cell {
    Cell {
        packet: number,
        channel: number % CHANNELS,
        hop: 0,
        ingress: (number % 4) as u16,
        marked: false,
    }
}

/// Nanoseconds a pair, with so many cells queued.
fn cost(settings: &Settings, queued: u32) -> f64 {
    let mut switch = Switch::new(settings, 4, 1);
    let mut drops = Vec::new();
    for number in 0..queued {
        switch.enqueue(0, 0, cell(number), &mut drops);
    }
    let rounds = (1..=ROUNDS).map(|round| pairs(&mut switch, round * PAIRS));
    rounds.fold(f64::INFINITY, f64::min)
}

fn pairs(switch: &mut Switch<Cell>, from: u32) -> f64 {
    // Made before, as those that come off a link were.
    let cells: Vec<_> = (0..CHANNELS).map(cell).collect();
    let mut arriving = cells.iter().cycle();
    let mut drops = Vec::new();
    let mut sum = 0_u64;
    let start = Instant::now();
    for number in from..from + PAIRS {
        let now = u64::from(number) * 2_726_000;
        if let Some(cell) = arriving.next() {
            switch.enqueue(now, black_box(0), *cell, &mut drops);
        }
        if let Some(cell) = switch.dequeue(now, black_box(0), &mut drops) {
            sum += u64::from(cell.packet) + u64::from(cell.hop);
        }
    }
    let took = start.elapsed();
    black_box((sum, drops));
    took.as_nanos() as f64 / f64::from(PAIRS)
}

fn main() -> Result<(), Refusal> {
    let own = Pool::Output;
    let rows = [
        ("fifo", Discipline::Fifo, own),
        ("fifo, shared pool", Discipline::Fifo, Pool::Shared),
        ("fifo, input pools", Discipline::Fifo, Pool::Input),
        ("efci", Discipline::Efci, own),
        ("per-flow", Discipline::PerFlow, own),
        ("per-flow, shared pool", Discipline::PerFlow, Pool::Shared),
        ("priority", Discipline::Priority, own),
        ("wrr", Discipline::Wrr, own),
        ("drr", Discipline::Drr, own),
        ("wfq", Discipline::Wfq, own),
        ("credit", Discipline::Credit, own),
        ("red", Discipline::Red, own),
        ("codel", Discipline::CoDel, own),
        ("fq-codel", Discipline::FqCoDel, own),
        ("pie", Discipline::Pie, own),
    ];
    println!("{:<22} {:>8} {:>8}", "ns a pair, queued:", 500, 5_000);
    for (name, discipline, pool) in rows {
        let settings = settings(discipline, pool)?;
        let costs = [500, 5_000].map(|queued| cost(&settings, queued));
        println!("{name:<22} {:>8.1} {:>8.1}", costs[0], costs[1]);
    }
    Ok(())
}
