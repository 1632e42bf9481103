//! Procedures of the device benchmark on simulated switches of which everything is known.
//!
//! `delaylab-procedure` tests each on a device of its own; here the simulation is the device, through the
//! trait `World`, as `delaylab bench --world sim` has it.

use delaylab_model::SECOND;
use delaylab_model::frames::Frames;
use delaylab_model::method::Method;
use delaylab_model::path::{Link, Node, NodeKind, Path, Switch};
use delaylab_model::probe::{HostCondition, Pacing, Probe};
use delaylab_model::quantity::{Duration, Limit, Rate};
use delaylab_model::record::Record;
use delaylab_model::stop::Stop;
use delaylab_model::trial::{RecordFacts, Trial};
use delaylab_model::world::{Sink, World};
use delaylab_procedure::report::Cell;
use delaylab_procedure::{Effort, Options, Procedure, Report, Setup, procedures};
use delaylab_sim::world::Simulated;
use delaylab_stats::frames::{FrameTrial, FramesBuilder};
use delaylab_stats::random::SplitMix;
use std::io;

/// A switch between one port that sends and one that receives.
#[derive(Debug, Clone, Copy)]
struct Device {
    line_rate: u64,
    egress_rate: u64,
    /// Bytes on the line: with preamble and gap, as the simulation counts them.
    buffer: u64,
    latency: i64,
    size: u32,
}

impl Device {
    fn drawn(random: &mut SplitMix) -> Self {
        let mut between =
            |low: u64, high: u64| low + (random.uniform() * (high - low) as f64) as u64;
        let egress_rate = between(10, 40) * 100_000;
        let size = [64, 128, 512, 1024, 1518][between(0, 5) as usize];
        Self {
            line_rate: egress_rate * between(4, 11),
            egress_rate,
            buffer: u64::from(size + 20) * between(3, 20) + between(0, 80),
            latency: between(0, 200) as i64 * 1_000,
            size,
        }
    }

    fn link(name: &str, ends: [&str; 2], rate: u64) -> Link {
        Link {
            name: name.to_owned(),
            from: ends[0].to_owned(),
            to: ends[1].to_owned(),
            rate: Some(Rate(rate)),
            propagation: None,
            framing: None,
            mtu: None,
        }
    }

    fn path(&self) -> Path {
        let node = |name: &str, kind| Node {
            name: name.to_owned(),
            kind,
            switch: None,
            host: None,
        };
        Path {
            node: vec![
                node("a", NodeKind::Host),
                node("s", NodeKind::Switch),
                node("b", NodeKind::Host),
            ],
            link: vec![
                Self::link("in", ["a", "s"], self.line_rate),
                Self::link("out", ["s", "b"], self.egress_rate),
            ],
            propagation: Some(Duration(0)),
            switch: Some(Switch {
                buffer: Some(Limit::Bytes(self.buffer)),
                latency: Some(Duration(self.latency)),
                ..Switch::default()
            }),
            ..Path::default()
        }
    }

    fn setup(&self) -> Setup {
        let stream = Probe {
            from: Some("a".to_owned()),
            to: Some("b".to_owned()),
            frames: Some(Frames {
                paced: false,
                ..Frames::new(self.size)
            }),
            pacing: Pacing::Frames { interval_ps: 1 },
            ..Probe::new("a", Method::Frame)
        };
        Setup {
            trial: Trial {
                id: 0,
                target: None,
                probes: Vec::new(),
                loads: Vec::new(),
                path: self.path(),
                host: HostCondition::Normal,
                seed: 1,
            },
            streams: vec![stream],
            line_rate: self.line_rate,
            egress_rate: self.egress_rate,
            sizes: vec![self.size],
            effort: Effort {
                trial: 4 * SECOND,
                latency: SECOND / 5,
                latency_repeats: 2,
                burst: SECOND / 4,
                burst_repeats: 2,
                drain: SECOND,
                ..Effort::quick()
            },
        }
    }

    /// Of a frame at a rate, preamble and gap with it.
    fn serialisation(&self, rate: u64) -> f64 {
        f64::from(self.size + 20) * 8e9 / rate as f64
    }
}

/// Keeps the frames of a trial.
struct Kept(FramesBuilder);

impl Sink for Kept {
    fn begin(&mut self, _probe: u16, _facts: &RecordFacts) -> io::Result<()> {
        Ok(())
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.0.push(record);
        Ok(())
    }
}

fn carry_out(name: &str, device: Device) -> Report {
    carry_out_with(name, device, device.setup().effort)
}

fn carry_out_with(name: &str, device: Device, effort: Effort) -> Report {
    let known = procedures()
        .iter()
        .find(|known| known.name == name)
        .unwrap();
    let setup = Setup {
        effort,
        ..device.setup()
    };
    let mut procedure: Box<dyn Procedure> = known.begin(setup, Options::default()).unwrap();
    let mut world = Simulated::new(1, Stop::default());
    loop {
        let trials = procedure.next_trials();
        if trials.is_empty() {
            return procedure.result();
        }
        for planned in trials {
            let probe = &planned.trial.probes[0];
            let mut kept = Kept(FramesBuilder::for_probe(probe, 1 << 20));
            assert!(world.refusals(&planned.trial).is_empty(), "{device:?}");
            world.run(&planned.trial, &mut kept).unwrap();
            procedure.observe(&planned, &FrameTrial::new(vec![kept.0.finish()]));
        }
    }
}

/// A number of the result's only row, by the name of its column.
fn number(report: &Report, column: &str) -> f64 {
    let table = &report.tables[0];
    let at = table.columns.iter().position(|known| known.name == column);
    match &table.rows[0][at.unwrap_or_else(|| panic!("{column}: {:?}", table.columns))] {
        Cell::Number(number) => *number,
        Cell::Count(count) => *count as f64,
        other => panic!("{column}: {other:?} in {table:?}"),
    }
}

fn what_was_configured_is_found_in(devices: usize) {
    let mut random = SplitMix::new(2544);
    for _ in 0..devices {
        let device = Device::drawn(&mut random);
        let wire = u64::from(device.size + 20);

        let found = carry_out("throughput", device);
        let load = number(&found, "load") / 100.0;
        let fits = device.egress_rate as f64 / device.line_rate as f64;
        // A trial of 4 s hides what the buffer takes.
        let hidden = (device.buffer + wire) as f64 * 8.0 / (4.0 * device.line_rate as f64);
        assert!(
            (fits - 0.0011..=fits + hidden + 0.0011).contains(&load),
            "{device:?}: {load} of {fits}"
        );

        let found = carry_out("latency", device);
        let ideal = device.serialisation(device.line_rate)
            + device.latency as f64
            + device.serialisation(device.egress_rate);
        let least = number(&found, "min");
        assert!(least >= ideal - 2.0, "{device:?}: {least} of {ideal}");

        let found = carry_out("buffer-time", device);
        let held = number(&found, "buffer");
        // The queue, and the frame on the line.
        let holds = (device.buffer / wire) as f64 + 1.0;
        assert!((held - holds).abs() <= 1.5, "{device:?}: {held} of {holds}");
    }
}

#[test]
fn what_was_configured_is_found() {
    what_was_configured_is_found_in(4);
}

/// A switch whose full queue takes twice as long to empty as a short trial waits.
const DEEP: Device = Device {
    line_rate: 25_000_000,
    egress_rate: 5_000_000,
    buffer: 256 << 10,
    latency: 0,
    size: 512,
};

const SHORT: Effort = Effort {
    burst_repeats: 1,
    ..Effort::quick()
};

/// Frames that are still in the queue when the wait is over are not lost (RFC 2544 §23 d).
#[test]
fn a_buffer_that_outlasts_the_wait_is_found_whole() {
    let found = carry_out_with("back-to-back", DEEP, SHORT);
    // One frame in five is forwarded while the burst comes.
    let holds = (DEEP.buffer / 532 + 1) as f64 / 0.8;
    let burst = number(&found, "average burst");
    assert!((burst - holds).abs() <= 2.0, "{burst} of {holds}");
}

/// A trial of a second lets this queue pass for throughput.
#[test]
fn a_buffer_that_passes_for_throughput_is_found_whole() {
    let found = carry_out_with("buffer-time", DEEP, SHORT);
    let (held, holds) = (number(&found, "buffer"), (DEEP.buffer / 532 + 1) as f64);
    assert!((held - holds).abs() <= 1.5, "{held} of {holds}");
}

/// The same with many more, in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn what_was_configured_is_found_in_two_hundred_devices() {
        what_was_configured_is_found_in(200);
    }
}
