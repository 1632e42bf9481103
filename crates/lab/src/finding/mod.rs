//! The claims of an experiment, judged by intervals.
//!
//! A *finding* says something in words and again as a *check*: a comparison of statistics of the
//! records, such as `for each condition: sd(response | wait=1ms) > sd(response | wait=0ms)`. Truth
//! comes from the interval of the difference at 95 %, made for correlated data: all of it on one
//! side of the bound is true or false, astride it is undecided, with how many packets more
//! would settle it.
//!
//! | module | holds |
//! |---|---|
//! | [`check`] | the language: a [`check::Check`] is read, and printed as it would be written again |
//! | [`back_to_back`] | how many frames a device takes in a burst |
//! | [`measure`] | what packets are measured by, and how a measure is read from records |
//! | [`periodic`] | which excursions a periodic process caused |
//! | [`series`] | a series over time as a measure |
//! | [`single`] | a limit held against one probe's packets as they come |
//! | [`dimension`] | what numbers count: time, size, rate, or nothing |
//! | [`entry`] | a finding of an experiment, with its check read |
//! | [`data`] | the trait that hands over what was measured, and an implementation for records |
//! | [`mod@judge`] | from checks and data to verdicts |
//! | [`mod@forecast`] | how likely a planned run is to decide a finding, by an earlier one |
//! | [`verdict`] | what came out, with everything needed to recompute it by hand |

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
pub mod verdict;

pub use check::{Check, Limit, ParseError};
pub use data::{Data, NotThere, Samples, StreamInfo, TimeTaken, Values};
pub use entry::Finding;
pub use forecast::{Forecast, Scale, forecast};
pub use judge::{Cell, Row, Selection, Tabulated, judge, tabulate};
pub use measure::Measure;
pub use verdict::{Judged, Verdict};
