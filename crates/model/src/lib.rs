//! The vocabulary of delaylab: what every layer above it says the same way.
//!
//! | module | holds |
//! |---|---|
//! | [`units`] | durations, sizes and rates as people write them: a number *and* a unit |
//! | [`aqm`] | parameters of active queue management |
//! | [`mod@bench`] | the device benchmark that an experiment asks for |
//! | [`distinct`] | which trials count that are the same simulation |
//! | [`dscp`] | traffic classes by their RFC names |
//! | [`experiment`] | the sections of an experiment file |
//! | [`family`] | which IP version |
//! | [`frames`] | frames of a tester: sizes, intervals, tags |
//! | [`headers`] | how many bytes of headers stand before what a packet carries |
//! | [`host`] | a simulated host: what packets cost it, and what delays them there |
//! | [`hop`] | what a packet met in a queue of its path |
//! | [`icmp`] | what an ICMP error means |
//! | [`interval`] | where a value is with some probability |
//! | [`load`] | traffic beside the probes |
//! | [`method`] | how a probe asks, and all that follows from that alone, in one table |
//! | `named.rs` | the macro [`named!`], for enums whose variants have names |
//! | [`noise`] | what disturbed the measuring host |
//! | [`path`] | what is between the ends |
//! | [`plan`] | which trials a run consists of, and the trait that says which come next |
//! | [`probe`] | what to send: method, sizes, pacing, marks |
//! | [`quantity`] | durations, sizes, rates and shares as fields of an experiment file |
//! | [`record`] | what came of one packet: every stamp, and how it ended |
//! | [`refusal`] | a field that cannot be honoured, why, and what to write instead |
//! | [`request`] | what a server is asked |
//! | [`rows`] | what a trial brings besides its records: a file for each table |
//! | [`series`] | something that has a value at any time |
//! | [`shard`] | a run's trials, divided among several processes or machines |
//! | [`shell`] | commands that are printed to be pasted into a shell |
//! | [`stamp`] | the stamps of a record by name, and whether they were delivered |
//! | [`stop`] | the handle that ends what is under way |
//! | [`stream_report`] | what a stream of load did |
//! | [`table`] | what holds of the rows of any table of a run |
//! | [`tcp`] | what the ends of a simulated TCP load do |
//! | [`transfer`] | finite transfers of loads |
//! | [`trial`] | one run of some probes, and the facts a reader needs to interpret its records |
//! | [`unanswered`] | packets that were not answered: what is known of them together |
//! | [`words`] | counts and lists of names as they stand in sentences |
//! | [`world`] | the trait that carries a trial out, and the sink it hands records to |
//!
//! Nothing here reads a clock, opens a socket or sleeps.
#![forbid(unsafe_code)]

pub mod aqm;
pub mod bench;
pub mod distinct;
pub mod dscp;
pub mod experiment;
pub mod family;
pub mod frames;
pub mod headers;
pub mod host;
pub mod icmp;
pub mod interval;
pub mod load;
pub mod method;
mod named;
pub mod noise;
pub mod path;
pub mod plan;
pub mod probe;
pub mod quantity;
pub mod record;
pub mod refusal;
pub mod request;
pub mod rows;
pub mod shard;
pub mod shell;
pub mod stamp;
pub mod stop;
pub mod stream_report;
pub mod table;
pub mod tcp;
pub mod trial;
pub mod unanswered;
pub mod units;
pub mod words;
pub mod world;

pub use rows::{hop, series, transfer};

/// A time or a duration in nanoseconds.
///
/// Times are of `CLOCK_MONOTONIC` unless a name or the trial's facts say otherwise.
pub type Nanos = i64;

/// A time or a duration in picoseconds, as queues and simulated clocks count them: fine enough to tell
/// two cells of any link apart, and good for 213 days.
pub type Picos = u64;

/// Nanoseconds in a second.
pub const SECOND: Nanos = 1_000_000_000;
/// Nanoseconds in a millisecond.
pub const MILLISECOND: Nanos = 1_000_000;
/// Nanoseconds in a microsecond.
pub const MICROSECOND: Nanos = 1_000;
/// Picoseconds in a nanosecond.
pub const PICOS_PER_NANO: Picos = 1_000;
/// Picoseconds in a second.
pub const PICOS_PER_SECOND: Picos = 1_000_000_000_000;
