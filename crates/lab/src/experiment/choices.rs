//! What the user chooses for a run.

use delaylab_model::experiment::WorldName;

/// What the user chose for this run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choices {
    /// Replaces the file's `world`.
    pub world: Option<WorldName>,
    /// Use the short form (`--quick`).
    pub quick: bool,
    /// Each `--set`: a dotted path and a value, in the order of the command line.
    pub sets: Vec<(String, String)>,
    /// Replaces the file's `seed`.
    pub seed: Option<u64>,
    /// Random seed to use if neither the user nor the file gives one. `sim` uses 1 instead.
    pub drawn_seed: u64,
    /// Replaces `path.target`.
    pub target: Option<String>,
    /// Replaces `measured.run`: the folder of the measured run that figures show next to this one.
    pub measured: Option<String>,
    /// Probes go over IPv6, whose larger header leaves less room for payload. Who knows the target's address sets it.
    pub v6: bool,
}
