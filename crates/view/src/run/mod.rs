//! A finished run, ready to be shown: what its figures, its page and its tables are made from.
//!
//! | file | holds |
//! |---|---|
//! | `stream.rs` | one probe of one trial |
//! | `builder.rs` | records in, one by one; a [`RunData`] out, in flat memory |
//! | `measured.rs` | another run that is this one's measured part |
//! | [`parts`] | figures of parts of the run, as the experiment asks for them |
//! | `panels.rs` | which streams have a panel, and which panels of many are drawn |
//! | `groups.rs` | which streams are one probe under one combination of levels |
//! | `worst.rs` | which of many combinations are shown: the worst |
//! | `variation.rs` | delay variation by probe |
//! | `ways.rs` | what delays are called: those of frames are one way |
//! | `sweeps.rs` | steps in delay against size, for each combination of levels |
//! | [`split`] | what the delay of frames is made of |
//! | [`regression`] | delay of frames as a linear function of what was varied |
//! | [`digest`] | the run in one table, for the top of its page and for other programs |
//! | `digest_by.rs` | the same by the factors that are asked for, whatever else was varied |
//! | `shown_delay.rs` | which delay tables and figures show |
//! | `columns.rs` | the columns of a table of trials |
//! | `words.rs` | how its figures read, on the page and on the terminal |
//! | [`stored`] | all of it from a run on disk |
//! | [`figures_alone`] | what another tool said of its streams, where there are no packets |
//! | `findings.rs` | findings as they are shown |
//! | `findings_frame.rs` | and as a table for programs |
//! | `alike.rs` | sentences that differ in their numbers alone |
//! | `series.rs` | what was over time, as it is shown |
//! | `limits.rs` | which setting of a switch bounds the queue of a port |
//! | `sketch.rs` | what is kept of a panel's records: delays, a series over time, excursions |
//! | `over_time.rs` | quantiles of a panel's delays in stretches of time |
//! | `marks.rs` | what happened to the host meanwhile |
//! | `noise_totals.rs` | what disturbed the host, summed up by who it was |
//! | `resumed.rs` | what was different where a run was taken up again |
//! | `wall_clock.rs` | when the trials of a panel were |
//!
//! Whoever has records from elsewhere fills in by itself what is not made from records.

mod alike;
mod builder;
pub mod columns;
pub mod digest;
mod digest_by;
pub mod figures_alone;
mod findings;
mod findings_frame;
pub mod groups;
mod limits;
pub mod marks;
mod measured;
mod noise_totals;
pub mod over_time;
pub mod panels;
pub mod parts;
pub mod regression;
mod resumed;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
mod series;
mod shown_delay;
pub mod sketch;
pub mod split;
pub mod stored;
mod stream;
pub mod sweeps;
pub mod variation;
mod wall_clock;
mod ways;
pub mod words;
mod worst;

pub use alike::without_numbers;
pub use builder::{Disturbance, RunDataBuilder};
pub use findings::Decided;
pub use marks::{Happening, Mark, Marks};
pub use over_time::{OverTime, Quantiles};
pub use series::{DrawnBy, SeriesShown, parts_of_time};
pub use shown_delay::ShownDelay;
pub use sketch::{Bucket, DelaySketch, Delays, Excursion, Sketch};
pub use stream::RunStream;
pub use wall_clock::{Begin, CLOCK_MOVED};
pub use ways::Ways;

pub use delaylab_explain::causes::Explanation;
pub use delaylab_explain::steps::Sweep;
pub use delaylab_lab::finding::Verdict;

use delaylab_model::Nanos;
use delaylab_model::experiment::DelayStatistic;
use delaylab_model::noise::{ClockReads, NoiseKind};
use delaylab_model::plan::{Factor, Level};
use delaylab_stats::excursion::Spread;
use delaylab_stats::summary::Summary;
use delaylab_stats::variation::Ipdv;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Everything that is known of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunData {
    /// What was asked, and where.
    pub head: Head,
    /// The host and its state, as names and values.
    pub environment: Vec<(String, String)>,
    /// Cases that the world could not honour, and why.
    pub skipped: Vec<(String, String)>,
    /// What the delay of frames is made of.
    pub splits: Vec<split::Split>,
    /// What a procedure of the device benchmark found.
    pub benchmark: Option<delaylab_procedure::Report>,
    /// Delay against the size of packets, where there are enough sizes to look for steps.
    pub sweeps: Vec<Sweep>,
    /// Why packets were late; `None` where nobody asked ([`stored::in_full`]).
    pub explanation: Option<Explanation>,
    /// What the experiment claims, judged.
    pub findings: Vec<FindingShown>,
    /// What another tool said of its streams, where the run has no packets.
    pub figures_alone: Option<figures_alone::FiguresAlone>,
    /// Each probe of each trial, in the order in which they ran.
    pub trials: Vec<TrialData>,
    /// The same records with what figures draw of them, for each probe and combination of levels; of many sizes for some.
    pub panels: Vec<Panel>,
    /// The same records by probe and combination of levels, repeats together.
    pub groups: Vec<Group>,
    /// Factors and their levels in the order of the experiment, where that is known.
    pub levels: Vec<(String, Vec<Level>)>,
    /// Of a part of a run the delay that the whole shows.
    pub shown: Option<ShownDelay>,
    /// The factor that delay is drawn against in the place of the size.
    pub against: Option<String>,
    /// The series whose values are a line beside those of the probes.
    pub beside_probes: Option<String>,
    /// The lines of delay against size: the mean and the minimum where there are none.
    pub statistics: Vec<DelayStatistic>,
    /// Figures of parts of the run, in the order of the experiment.
    pub parts: Vec<parts::Part>,
    /// What was over time: kind by kind, combination by combination.
    pub series: Vec<SeriesShown>,
    /// What disturbed the host, by name.
    pub noise: Vec<NoiseTotal>,
    /// What clock reads cost, over the whole run.
    pub clock_reads: Vec<ClockReads>,
    /// The folder of another run that is shown beside this one, or would be if it could be read.
    pub measured_in: Option<PathBuf>,
    /// Sentences to read before trusting the figures: damage, missing files, warnings of trials.
    pub problems: Vec<String>,
    /// Sentences that are worth knowing, and no reason to doubt a figure.
    pub notes: Vec<String>,
}

impl RunData {
    /// Was any packet answered, be it too late?
    pub fn any_answered(&self) -> bool {
        let answered = |trial: &TrialData| trial.summary.counts.answered();
        self.trials.iter().any(|trial| answered(trial) > 0)
    }

    /// How many trials it has: each may have several probes.
    pub fn count_trials(&self) -> usize {
        let trials = self.trials.iter().map(|trial| trial.stream.trial);
        trials.collect::<BTreeSet<u32>>().len()
    }

    /// On which CPU what else ran was seen.
    pub fn noisy_cpu(&self) -> &'static str {
        match self.head.world.as_str() {
            "sim" => "the simulated CPU",
            _ => "the prober's CPU",
        }
    }

    /// Where the packets of its probes go.
    pub fn ways(&self) -> Ways {
        Ways::new(self.trials.iter().map(|trial| trial.stream.frames))
    }
}

/// What was asked, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// The experiment's name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What it is about, in a paragraph.
    pub about: String,
    /// The world that carried it out: `live`, `testbed` or `sim`.
    pub world: String,
    /// Where live probes went, for people; `None` in other worlds.
    pub target: Option<String>,
    /// The host that carried it out: its processors, kernel, whether it is a virtual machine; empty where unknown.
    pub host: String,
    /// The seed of the order, the pacing and the fill; `None` where there was none, or it cannot be read.
    pub seed: Option<u64>,
    /// When it began, in UTC, as people read it.
    pub started: String,
    /// Where the run is on disk.
    pub folder: String,
    /// The command line that repeats it; empty where nothing does.
    pub repeat: String,
}

impl Head {
    /// `seed 7`, for whoever joins it to other words; nothing without one.
    pub fn seed_words(&self) -> Option<String> {
        self.seed.map(|seed| format!("seed {seed}"))
    }
}

/// One probe of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialData {
    /// What it was.
    pub stream: RunStream,
    /// Which of the run's panels holds it; `None`: its size is not among those that have one.
    pub panel: Option<usize>,
    /// What came of it.
    pub summary: Summary,
}

/// Streams that the figures show as one: repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Its levels, for people: `wait 1ms, condition quiet`. Empty where all is one panel.
    pub label: String,
    /// The levels that its streams share.
    pub factors: Vec<Factor>,
    /// How many trials it holds.
    pub trials: usize,
    /// What came of all its packets. Intervals and variation, but for IPDV, do not hold across trials.
    pub summary: Summary,
    /// What is kept of its records.
    pub sketch: Sketch,
}

impl Panel {
    /// A delay beyond this is an excursion ([`Spread::bound`]).
    pub fn bound(&self, shown: ShownDelay) -> Option<Nanos> {
        let delays = shown.distribution(&self.summary)?;
        let spread = Spread {
            min: delays.min,
            median: delays.p50,
            iqr: delays.iqr,
        };
        Some(spread.bound())
    }
}

/// One probe under one combination of levels, its repeats together.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Every factor and its level, in the order of the design.
    pub factors: Vec<Factor>,
    /// The probe's name.
    pub probe: String,
    /// How many trials it holds.
    pub trials: usize,
    /// What came of all its packets. IPDV is never taken across trials; intervals and the other kinds
    /// of variation do not hold across them.
    pub summary: Summary,
    /// Which of the run's panels has the same records; `None`: its size is not among those that have one.
    pub panel: Option<usize>,
    /// IPDV of the round trip (RFC 3393). Empty where the run has one probe.
    pub ipdv: Delays,
    /// IPDV of the network's part. `None` where the run has one probe, or stamps do not tell host and network apart.
    pub network_ipdv: Option<Ipdv>,
}

/// A finding with its verdict and the numbers behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingShown {
    /// Its number.
    pub id: String,
    /// The claim, in the experiment's words.
    pub says: String,
    /// The claim in the check language.
    pub check: String,
    /// The numbers that its source gives, in words; empty where it gives none.
    pub printed: String,
    /// How it came out.
    pub verdict: Verdict,
    /// The number that decided it, or that does not, in a line.
    pub line: String,
    /// The same to be drawn; `None` where there is nothing to draw.
    pub decided: Option<Decided>,
    /// Why, in a sentence.
    pub reason: String,
    /// The numbers, enough to judge again by hand.
    pub evidence: Vec<Evidence>,
}

/// One number behind a verdict: a statistic, or a comparison of two.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// What it is, as the check has it: `sd(response | wait=1ms)`.
    pub what: String,
    /// The levels of `for each` that it belongs to; empty without.
    pub level: String,
    /// Its value; `None` where there is none.
    pub value: Option<f64>,
    /// Lower end of its interval at 95 %; `None` where nothing bounds it, or no honest one can be given.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// What value and interval count: `ns`, `B`, `ns/B`, `1` for plain numbers and shares.
    pub unit: String,
    /// How many values it is made of; 0 where it is made of other statistics.
    pub count: u64,
    /// Whether it holds, where it is a comparison.
    pub verdict: Option<Verdict>,
    /// What else to know: why there is no value or interval, what it was compared with.
    pub note: String,
}

/// All that one process, interrupt or other source of noise took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoiseTotal {
    /// Its name as the kernel has it.
    pub who: String,
    /// Where it was seen.
    pub kind: NoiseKind,
    /// How often.
    pub events: u64,
    /// Altogether.
    pub total: Nanos,
    /// The longest.
    pub longest: Nanos,
    /// How many packets it overlapped longest of all.
    pub packets: u64,
}
