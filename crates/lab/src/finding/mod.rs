//! Judges the claims of an experiment by confidence intervals.
//!
//! A *finding* states a claim in words and again as a *check*: a comparison of statistics of the
//! records, such as `for each condition: sd(response | wait=1ms) > sd(response | wait=0ms)`. The
//! verdict comes from the 95 % interval of the difference, computed for correlated data. If the whole
//! interval is on one side of the bound, the claim is true or false. If the bound is inside, it is
//! undecided, and the verdict says how many more packets would decide it.
//!
//! | module | holds |
//! |---|---|
//! | [`check`] | the language: parses and prints a [`check::Check`] |
//! | [`back_to_back`] | how many frames a device forwards in a burst without loss |
//! | [`measure`] | the measures of packets, and how to read them from records |
//! | [`periodic`] | which excursions a periodic process caused |
//! | [`series`] | a series over time as a measure |
//! | [`single`] | checks a limit against the packets of one probe while they arrive |
//! | [`dimension`] | physical dimensions: time, size, rate, plain number |
//! | [`entry`] | a finding of an experiment, with its parsed check |
//! | [`values`] | the values of a measure in one stream, or why there are none |
//! | [`data`] | the trait that gives access to the measurements, and an implementation in memory |
//! | [`mod@judge`] | makes verdicts from checks and data |
//! | [`mod@forecast`] | how likely a planned run is to decide a finding, from the results of an earlier run |
//! | [`verdict`] | the results, with everything needed to recompute them by hand |

pub mod back_to_back;
pub mod check;
pub mod data;
pub mod dimension;
pub mod entry;
pub mod forecast;
pub mod judge;
pub mod measure;
pub mod periodic;
pub mod series;
pub mod single;
pub mod values;
pub mod verdict;

pub use check::{Check, Limit, ParseError};
pub use data::{Data, Samples, StreamInfo, TimeTaken};
pub use entry::Finding;
pub use forecast::{Forecast, Scale, forecast, left_open};
pub use judge::{Cell, Row, Selection, Tabulated, judge, tabulate};
pub use measure::Measure;
pub use values::{MeasureUnavailable, Values};
pub use verdict::{Judged, Verdict};
