//! Fuzz targets: one function for each parser, which takes any bytes and panics where the parser breaks a rule.
//!
//! The fuzzers in `fuzz/src/bin` search for such bytes. The tests of this crate run the same functions on seeds, on
//! the inputs in `fuzz/regressions`, and on mutations of both.
//!
//! | module | checks the reading of |
//! |---|---|
//! | [`access`] | address prefixes and keys |
//! | [`control`] | control packets |
//! | [`dns_answer`] | answers of name servers |
//! | [`echo`] | udp echo packets |
//! | [`experiment`] | experiment files |
//! | [`experiment_set`] | paths and values of `--set` |
//! | [`finding_check`] | checks of findings, limits of comparisons, selectors |
//! | [`frame`] | frames that a soft switch forwards |
//! | [`guard`] | what requests to a server of runs say of who asks |
//! | [`http2_reply`] | replies by HTTP/2 |
//! | [`http_reply`] | replies of web servers |
//! | [`import`] | files of other tools |
//! | [`journal`] | the rows of a trial under way |
//! | [`load`] | a load's control packets and datagrams, and the results of `iperf3 -s` |
//! | [`load_replay`] | files that say when a load's packets are due |
//! | [`parquet`] | the tables of a run |
//! | [`path_trace`] | answers to a path trace |
//! | [`prober`] | replies, by every method |
//! | [`reflector`] | requests |
//! | [`request`] | URLs and questions to name servers |
//! | [`run_folder`] | the manifest and the texts of a run |
//! | [`stamp`] | STAMP base packets |
//! | [`stamp_tlv`] | TLVs behind a STAMP base packet |
//! | [`tcp`] | the byte stream of a tcp session |
//! | [`test_frame`] | frames that come back to a tester |
//! | [`trace_page`] | pages of the kernel's trace buffers |
//! | [`units`] | durations, sizes, rates, shares, limits and traffic classes |
//!
//! To add a target: a module with `check` and `seeds`, its line in the table above and in `targets!` below, and its
//! fuzzer, a file of two lines in `fuzz/src/bin`. The tests fail where one of them is missing.
#![forbid(unsafe_code)]

pub mod access;
pub mod control;
pub mod dns_answer;
pub mod echo;
pub mod experiment;
pub mod experiment_set;
pub mod finding_check;
pub mod frame;
pub mod guard;
pub mod http2_reply;
pub mod http_reply;
pub mod import;
pub mod journal;
pub mod load;
pub mod load_replay;
mod packets;
pub mod parquet;
pub mod path_trace;
pub mod prober;
pub mod reflector;
#[cfg(test)]
mod replay;
pub mod request;
pub mod run_folder;
pub mod stamp;
pub mod stamp_tlv;
mod stored;
pub mod tcp;
pub mod test_frame;
mod text;
pub mod trace_page;
mod tree;
pub mod units;

/// A parser under test.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of its module, of its fuzzer and of its folder in `fuzz/regressions`.
    pub name: &'static str,
    /// Panics where the parser breaks a rule on these bytes.
    pub check: fn(&[u8]),
    /// Valid inputs, from which mutations start.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Number of mutated inputs in the test.
    pub mutations: u32,
}

macro_rules! targets {
    ($($name:ident: $mutations:literal,)*) => {
        /// Every target.
        pub const TARGETS: &[Target] = &[$(Target {
            name: stringify!($name),
            check: $name::check,
            seeds: $name::seeds,
            mutations: $mutations,
        }),*];

        #[cfg(test)]
        mod replayed {
            $(#[test]
            fn $name() {
                crate::replay::replay_by_name(stringify!($name));
            })*
        }
    };
}

// The name of each target's module, and its number of mutations: about a second of them in a development build.
targets! {
    access: 400_000,
    control: 500_000,
    dns_answer: 200_000,
    echo: 600_000,
    experiment: 2_000,
    experiment_set: 250,
    finding_check: 15_000,
    frame: 350_000,
    guard: 200_000,
    http2_reply: 100_000,
    http_reply: 100_000,
    import: 600,
    journal: 60,
    load: 80_000,
    load_replay: 250_000,
    parquet: 30,
    path_trace: 600_000,
    prober: 30_000,
    reflector: 8_000,
    request: 200_000,
    run_folder: 30,
    stamp: 500_000,
    stamp_tlv: 250_000,
    tcp: 400_000,
    test_frame: 700_000,
    trace_page: 50_000,
    units: 200_000,
}
