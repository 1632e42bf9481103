//! A calibration made by hand, for the tests of this crate.
#![allow(missing_docs)]

use super::{Calibrated, Prediction};
use delaylab_explain::calibrate::Calibration;
use delaylab_explain::calibrate::buffer::{Buffer, Counts};
use delaylab_explain::calibrate::hosts::Hosts;
use delaylab_explain::calibrate::limiter::{Limiter, Verdict};
use delaylab_explain::calibrate::line::{Estimate, Line};
use delaylab_explain::calibrate::overlay::{Distribution, Group, Pair};
use delaylab_explain::calibrate::passage::Ways;
use delaylab_explain::calibrate::prediction::{Predicted, predicted};
use delaylab_explain::calibrate::queue::{Order, Queue};
use delaylab_explain::calibrate::rate::Rate;
use delaylab_explain::calibrate::unknown::Unknown;
use delaylab_model::plan::Level;

const RUN: &str = "runs/calibration-20261122T044658Z";

/// What was found, and its groups.
pub struct Sample {
    found: Calibration,
    groups: Vec<Predicted>,
    pairs: Vec<Pair>,
    sets: Vec<(String, String)>,
}

impl Sample {
    pub fn made() -> Self {
        Self::from_calibration(found())
    }

    /// Of a run whose bottleneck is not known.
    pub fn without_rate() -> Self {
        Self::from_calibration(Calibration {
            rate: None,
            limiter: None,
            verdict: None,
            buffer: None,
            queue: None,
            ..found()
        })
    }

    /// Of a path on which neither the model nor the change lets a packet of the first group through.
    pub fn without_an_answer() -> Self {
        let mut sample = Self::made();
        let first = &mut sample.groups[0];
        for group in [&mut first.before.model, &mut first.after] {
            group.packets[1] = group.packets[0];
            group.delays = Default::default();
        }
        first.lost = vec![1.0; 3];
        sample.pairs[0].model = first.before.model.clone();
        sample
    }

    fn from_calibration(found: Calibration) -> Self {
        let groups = groups(&found);
        Self {
            found,
            pairs: groups.iter().map(|group| group.before.clone()).collect(),
            groups,
            sets: vec![("path.switch.discipline".to_owned(), "fq-codel".to_owned())],
        }
    }

    pub fn calibrated(&self) -> Calibrated<'_> {
        Calibrated {
            run: RUN,
            model: Some(
                "runs/calibration-20261122T044658Z/models/calibration-model-20261122T044734Z",
            ),
            found: &self.found,
            pairs: &self.pairs,
        }
    }

    pub fn prediction(&self) -> Prediction<'_> {
        Prediction {
            run: RUN,
            model: "runs/calibration-20261122T044658Z/models/calibration-predicted-20261122T044738Z",
            sets: &self.sets,
            found: &self.found,
            groups: &self.groups,
        }
    }
}

fn line(constant: f64, slope: f64, interval: Option<f64>) -> Line {
    let estimate = |value: f64| Estimate {
        value,
        interval: interval.map(|half| (value - half * value, value + half * value)),
    };
    let point = |size: u32| (size, constant + slope * f64::from(size));
    Line {
        constant: estimate(constant),
        slope: estimate(slope),
        r2: 0.99996,
        farthest: 1_940.0,
        points: [102, 738, 1438].map(point).to_vec(),
        packets: 1234,
    }
}

/// All is known, but for the reflector's sending.
fn found() -> Calibration {
    Calibration {
        ways: Ways::Apart,
        trials: [3, 2],
        flawed: 1,
        hosts: Hosts {
            prober_send: Some(line(18_600.0, 0.735, Some(0.1))),
            prober_receive: Some(line(31_900.0, 0.0, None)),
            reflector_receive: Some(line(49_100.0, 2.0, Some(0.02))),
            ..Hosts::default()
        },
        forward: Some(line(205_000.0, 962.561, Some(0.001))),
        back: Some(line(204_000.0, 962.388, Some(0.001))),
        differing: None,
        rate: Some(Rate {
            ns_per_byte: Estimate {
                value: 800.0,
                interval: Some((799.9, 800.1)),
            },
            busy: 9.13e9,
            bytes: 11.42e6,
        }),
        limiter: Some(Limiter::Link),
        verdict: Some(Verdict {
            is_link: true,
            is_open: false,
            share: 1.2,
        }),
        buffer: Some(Buffer {
            counts: Counts::Bytes,
            between: (63_992.0, 64_010.0),
            interval: (62_526.0, 65_476.0),
            packets: [12_104, 3_628],
            contradict: 0.035,
            early: 0.0,
        }),
        queue: Some(Queue {
            order: Order::First,
            waited_for: 1.01,
            of_flows: [1.01, 1.01],
            packets: 4_000,
        }),
        unknown: vec![Unknown {
            what: "some of the hosts' costs",
            why: "No stamps tell what these cost: reflector sends.".to_owned(),
            remedy: "delaylab's reflector stamps at both of its ends.",
            assumed: true,
        }],
    }
}

/// A group whose delays rise evenly from `from` by `step`, in µs.
fn group(case: &str, probe: &str, [from, step]: [f64; 2], lost: usize) -> Group {
    let value = |at: u32| 1_000.0 * (from + step * f64::from(at));
    let delays = || Distribution {
        values: (0..200).map(value).collect(),
    };
    let frames = probe == "flood";
    let response = if frames {
        Distribution::default()
    } else {
        delays()
    };
    Group {
        factors: vec![("case".to_owned(), Level::named(case))],
        probe: probe.to_owned(),
        unloaded: case == "unloaded",
        packets: [200 + lost, lost],
        delays: [response, delays()],
    }
}

fn groups(found: &Calibration) -> Vec<Predicted> {
    let one = |case, probe, measured, model, after: [f64; 2], lost: [usize; 3]| {
        let pair = Pair {
            measured: group(case, probe, measured, lost[0]),
            model: group(case, probe, model, lost[1]),
        };
        let [from, step] = after;
        let again =
            [0.98, 1.01].map(|share| vec![group(case, probe, [from * share, step], lost[2])]);
        predicted(
            found,
            vec![pair],
            &[group(case, probe, after, lost[2])],
            &again,
        )
    };
    let groups = [
        one(
            "unloaded",
            "echo",
            [800.0, 1.0],
            [810.0, 0.9],
            [810.0, 0.9],
            [0, 0, 0],
        ),
        one(
            "overflow",
            "echo",
            [51_000.0, 10.0],
            [50_900.0, 9.5],
            [900.0, 9.0],
            [9, 12, 0],
        ),
        one(
            "overflow",
            "flood",
            [51_500.0, 5.0],
            [51_500.0, 5.0],
            [30_000.0, 60.0],
            [80, 81, 90],
        ),
    ];
    groups.concat()
}
