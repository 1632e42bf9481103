//! Statistics of delay: exact where they can be, and saying so where they cannot.
//!
//! | module | holds |
//! |---|---|
//! | [`anatomy`] | the stages of one response, which add up to it; network and host |
//! | [`summary`] | [`summary::SummaryBuilder`]: records in, a trial's summary out, in flat memory |
//! | [`verdict`] | what dominates a summary, in one sentence |
//! | [`moments`] | exact integer sums: mean, variance, least and largest |
//! | [`quantile`] | exact quantiles by selection |
//! | [`loglinear`] | a log-linear histogram: quantiles of any number of values, with a known error |
//! | [`histogram`] | bins of equal width with underflow and overflow (source 002) |
//! | [`variation`] | every definition of delay variation side by side |
//! | [`voice`] | a mean opinion score of the worse direction |
//! | [`outage`] | packets in a row without an answer, more than chance makes |
//! | [`unanswered`] | what became of the packets that were not answered |
//! | [`remarks`] | classes that do not arrive as they were sent |
//! | [`congestion_marks`] | ECN bits of replies: what queues marked, and what was cleared |
//! | [`interval`] | intervals for correlated data: batch means and moving blocks |
//! | [`frames`] | a stream of frames through a device: counts, one-way delay, loss, silence |
//! | [`functional`] | mean, quantile, share beyond a bound: a distribution in one number |
//! | [`comparison`] | intervals of what is computed from such numbers, for correlated series |
//! | [`least_squares`] | linear fits by QR in double-double, with standard errors |
//! | [`regression`] | models of several factors, their powers and products: errors, inflation, residual tests |
//! | [`double_double`] | numbers of 31 digits |
//! | [`steps`] | does delay rise with size in a line or in steps (source 000)? |
//! | [`periodicity`] | do events come at regular intervals, and at whose? |
//! | [`regularity`] | does a process run at regular intervals? |
//! | [`trains`] | what ran beside the probes, process by process |
//! | [`driven`] | does a process run because the probe does? |
//! | [`cumulative`] | shares of records at or below a value, with a band for another run |
//! | [`excursion`] | packets that took far longer than the others: how much, and in which stage |
//! | [`holds`] | packets that something held and let go together |
//! | [`attribution`] | the cause of a late packet: a process, a stage, a queue |
//! | [`meanwhile`] | what else crossed the network while a request was late |
//! | [`stalls`] | while a thread did not run, for how long it can have waited for the CPU |
//! | [`change_points`] | when the level of a series changes |
//! | [`two_samples`] | what differs between two series: tests, distances, shifts |
//! | [`skew`] | how fast two clocks drift apart, from one-way delays |
//! | [`random`] | random numbers for resampling |
//! | [`noise_join`] | which records overlap what disturbed the host |
//! | [`occupied`] | what had the CPU while packets waited for it, added up over all of them |
//! | [`student`] | quantiles and tails of Student's t |
//! | [`tail`] | tails of Fisher's F and of χ² |
//! | [`warm_up`] | how much of a simulation's beginning to leave out |
//!
//! ```
//! use delaylab_stats::interval::BatchMeans;
//! use delaylab_stats::loglinear::LogLinear;
//! use delaylab_stats::moments::Moments;
//!
//! // A thousand delays of about 100 µs, in nanoseconds, in flat memory however many there are.
//! let (mut moments, mut batches, mut histogram) = (Moments::default(), BatchMeans::default(), LogLinear::default());
//! for packet in 0..1000 {
//!     let delay = 100_000 + (packet * 7919) % 1000;
//!     moments.push(delay);
//!     batches.push(delay);
//!     histogram.push(delay);
//! }
//! assert!((moments.mean().unwrap() - 100_499.5).abs() < 1.0);
//! // Within 1/512 of the exact one.
//! let p99 = histogram.quantile(0.99).unwrap();
//! assert!((p99 - 100_990).abs() < 100_990 / 512 + 1);
//! // An interval that holds for correlated delays, too.
//! println!("{:?}", batches.interval(&moments));
//! ```
//!
//! Everything here is sans-IO: nothing reads a clock, and the same records give the same figures.
#![forbid(unsafe_code)]

pub mod anatomy;
pub mod attribution;
mod band;
mod beyond;
pub mod change_points;
pub mod comparison;
pub mod congestion_marks;
pub mod cumulative;
mod dependence;
mod distribution;
pub mod double_double;
pub mod driven;
pub mod excursion;
mod far_quantile;
mod features;
mod fit_error;
pub mod frames;
pub mod functional;
mod gram_schmidt;
pub mod histogram;
pub mod holds;
mod incomplete;
pub mod interval;
pub mod least_squares;
pub mod loglinear;
pub mod meanwhile;
pub mod moments;
pub mod noise_join;
pub mod occupied;
pub mod outage;
mod passage;
pub mod periodicity;
pub mod quantile;
pub mod random;
pub mod regression;
pub mod regularity;
pub mod remarks;
mod sample;
pub mod skew;
mod stage;
pub mod stalls;
pub mod steps;
pub mod student;
pub mod summary;
pub mod tail;
#[cfg(test)]
mod testing;
pub mod trains;
pub mod two_samples;
pub mod unanswered;
pub mod variation;
pub mod verdict;
pub mod voice;
pub mod warm_up;
