//! What is wanted of a run, beyond its experiment.

use crate::share::Share;
use crate::target::{AddressFamily, LoadChoice};
use delaylab_lab::run::StopMeans;
use delaylab_live::condition::Measure;
use delaylab_model::stop::Stop;
use delaylab_wire::auth::Key;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// What is wanted of a run, beyond its experiment. By default nothing: no load on other hosts, no reflector of its own, no
/// watch for noise.
#[derive(Default)]
pub struct RunOptions {
    /// live: port of the target's reflector.
    pub port: Option<u16>,
    /// live: which of its addresses.
    pub family: AddressFamily,
    /// live: key shared with it.
    pub key: Option<Key>,
    /// live: the user said that load on another host is wanted.
    pub allow_load: bool,
    /// live: where load goes.
    pub load: LoadChoice,
    /// live: the program that answers as `delaylab reflect` does, for runs without a target.
    pub reflector: Option<PathBuf>,
    /// live: watch for noise, which takes some of this host's time.
    pub watches_noise: bool,
    /// live: called before the first packet of a trial with how far the host is in its condition.
    pub on_condition: Option<fn(&[Measure])>,
    /// sim: trials at the same time; `None`: one for each CPU.
    pub threads: Option<NonZeroUsize>,
    /// sim: carry out only these trials, and leave an unfinished run for [`shard::merge`](crate::shard::merge).
    pub share: Option<Share>,
    /// Ends it early.
    pub stop: Stop,
    /// What it is then.
    pub stop_means: StopMeans,
    /// The words in which the run was asked for: `environment.json` has them.
    pub supplied: Vec<String>,
}
