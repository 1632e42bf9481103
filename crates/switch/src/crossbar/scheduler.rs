//! Matches inputs with outputs, an iteration after the other: each output that is free grants one of the inputs that request
//! it, each input accepts one grant.
//!
//! - Parallel iterative matching (PIM): both choose at random. Of n·n requests about three quarters of the unmatched are
//!   matched in each iteration: four are near a maximal match for 16 ports (Anderson et al. 1993).
//! - iSLIP: both choose the next from a pointer on, which moves beyond what was accepted in the first iteration. Under
//!   saturation the pointers fall apart, and every iteration matches all (McKeown 1999).
//! - FIFO: an input requests one output alone, so that one iteration at random is all there is (Karol et al. 1987).

use delaylab_model::path::Scheduler as Kind;
use delaylab_stats::random::SplitMix;

/// How a crossbar schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Which cells cross together.
    pub scheduler: Kind,
    /// Rounds in a cell time.
    pub iterations: u32,
}

/// Outputs by number, as bits.
pub(crate) type Outputs = u64;

#[derive(Debug, Clone)]
pub(crate) struct Scheduler {
    iterations: u32,
    choice: Choice,
    /// By input: the outputs that grant it.
    grants: Vec<u64>,
    /// Output and input of each pair.
    matched: Vec<(usize, usize)>,
}

#[derive(Debug, Clone)]
enum Choice {
    Random(SplitMix),
    /// Where each output and each input goes on looking.
    Pointers {
        outputs: Vec<u32>,
        inputs: Vec<u32>,
    },
}

impl Scheduler {
    pub(super) fn new(parameters: Parameters, ports: usize, seed: u64) -> Self {
        let (iterations, choice) = match parameters.scheduler {
            Kind::Fifo => (1, Choice::Random(SplitMix::new(seed))),
            Kind::Pim => (parameters.iterations, Choice::Random(SplitMix::new(seed))),
            Kind::Islip => (
                parameters.iterations,
                Choice::Pointers {
                    outputs: vec![0; ports],
                    inputs: vec![0; ports],
                },
            ),
        };
        Self {
            iterations,
            choice,
            grants: vec![0; ports],
            matched: Vec::with_capacity(ports),
        }
    }

    /// Matches what is requested (by output, inputs as bits), among outputs that are free. How many pairs?
    pub(super) fn pairs(&mut self, requests: &[u64], free: Outputs) -> usize {
        self.matched.clear();
        let (mut inputs, mut outputs) = (u64::MAX, free);
        for iteration in 0..self.iterations {
            let before = self.matched.len();
            let granted = self.grant(requests, inputs, outputs);
            self.accept(granted, iteration == 0);
            for (output, input) in &self.matched[before..] {
                outputs &= !(1 << output);
                inputs &= !(1 << input);
            }
            if self.matched.len() == before {
                break;
            }
        }
        self.matched.len()
    }

    /// Output and input of a pair.
    pub(super) fn pair(&self, number: usize) -> (usize, usize) {
        self.matched[number]
    }

    /// Each output picks an input. Which inputs were picked?
    fn grant(&mut self, requests: &[u64], inputs: u64, outputs: u64) -> u64 {
        let mut granted = 0;
        for output in bits(outputs) {
            let Some(requested) = requests.get(output).map(|from| from & inputs) else {
                break;
            };
            if requested == 0 {
                continue;
            }
            let input = self.choice.of_output(output, requested);
            if granted & (1 << input) == 0 {
                self.grants[input] = 0;
            }
            self.grants[input] |= 1 << output;
            granted |= 1 << input;
        }
        granted
    }

    /// Each of these inputs picks an output.
    fn accept(&mut self, granted: u64, first: bool) {
        for input in bits(granted) {
            let output = self.choice.of_input(input, self.grants[input]);
            self.matched.push((output, input));
            if first {
                self.choice.accepted(output, input);
            }
        }
    }
}

impl Choice {
    fn of_output(&mut self, output: usize, requests: u64) -> usize {
        match self {
            Self::Random(random) => at_random(random, requests),
            Self::Pointers { outputs, .. } => next_from(outputs[output], requests),
        }
    }

    fn of_input(&mut self, input: usize, grants: u64) -> usize {
        match self {
            Self::Random(random) => at_random(random, grants),
            Self::Pointers { inputs, .. } => next_from(inputs[input], grants),
        }
    }

    /// One beyond, round.
    fn accepted(&mut self, output: usize, input: usize) {
        if let Self::Pointers { outputs, inputs } = self {
            let ports = outputs.len();
            outputs[output] = ((input + 1) % ports) as u32;
            inputs[input] = ((output + 1) % ports) as u32;
        }
    }
}

/// The places of the bits that are set.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        place
    })
}

/// One of the bits that are set, of which there is one.
fn at_random(random: &mut SplitMix, word: u64) -> usize {
    let count = word.count_ones() as usize;
    let at = if count > 1 { random.below(count) } else { 0 };
    bits(word).nth(at).unwrap_or(0)
}

/// The first bit that is set from this place on, round; there is one.
const fn next_from(place: u32, word: u64) -> usize {
    let behind = word & (u64::MAX << place);
    let word = if behind == 0 { word } else { behind };
    word.trailing_zeros() as usize
}
