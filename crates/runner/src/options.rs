//! What is wanted of a run, beyond its experiment.

use crate::error::RunnerError;
use crate::share::Share;
use crate::target::{AddressFamily, LoadChoice};
use delaylab_lab::run::StopMeans;
use delaylab_live::condition::Measure;
use delaylab_model::stop::Stop;
use delaylab_wire::auth::Key;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Where `environment.json` has [`LiveOptions`].
const LIVE: &str = "live";

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

/// Where the packets of a live run go beside its target, and what was allowed: what `environment.json` keeps for those who
/// resume the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LiveOptions {
    /// Port of the target's reflector.
    port: Option<u16>,
    /// Where load goes.
    load: LoadChoice,
    /// The user said that load on another host is wanted.
    allow_load: bool,
    /// Its probes had a key, which is not kept.
    has_key: bool,
    /// Which of its addresses.
    #[serde(default)]
    family: AddressFamily,
}

impl RunOptions {
    /// What is kept of them for those who resume the run. Without a target the key is not used: a reflector of the run's own
    /// has none.
    pub(crate) fn live(&self, has_target: bool) -> LiveOptions {
        LiveOptions {
            port: self.port,
            load: self.load.clone(),
            allow_load: self.allow_load,
            has_key: has_target && self.key.is_some(),
            family: self.family,
        }
    }

    /// These options, and for what they leave open those with which the run of this `environment.json` was begun. That load
    /// was allowed there is said of where it went, and of no other server.
    ///
    /// # Errors
    /// It was begun with a key, and there is none.
    pub fn as_begun(mut self, environment: &Value) -> Result<Self, RunnerError> {
        let begun = serde_json::from_value::<LiveOptions>(environment[LIVE].clone());
        let Ok(begun) = begun else {
            return Ok(self);
        };
        if begun.has_key && self.key.is_none() {
            return Err(RunnerError::usage(
                "the run was begun with a key, which is not recorded: name its file with --key-file, or set DELAYLAB_KEY",
            ));
        }
        // One that is set for other runs: a part with it would be measured in another way.
        self.key = self.key.filter(|_| begun.has_key);
        self.port = self.port.or(begun.port);
        if self.family == AddressFamily::Any {
            self.family = begun.family;
        }
        if self.load == LoadChoice::default() || self.load == begun.load {
            self.load = begun.load;
            self.allow_load |= begun.allow_load;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::target::LoadServer;
    use delaylab_model::trial::Server;
    use serde_json::json;

    fn to(host: &str) -> LoadChoice {
        let server = LoadServer {
            server: Server::Iperf3,
            host: host.to_owned(),
            port: 5201,
        };
        LoadChoice {
            server: Some(server),
            port: None,
        }
    }

    #[test]
    fn load_goes_on_where_it_was_allowed_and_nowhere_else() {
        let begun = RunOptions {
            port: Some(9000),
            allow_load: true,
            load: to("a.test"),
            family: AddressFamily::V4,
            ..RunOptions::default()
        };
        let environment = json!({ LIVE: begun.live(true) });
        let resumed = |load, port| {
            let options = RunOptions {
                load,
                port,
                ..RunOptions::default()
            };
            options.as_begun(&environment).unwrap()
        };
        let same = resumed(LoadChoice::default(), None);
        assert_eq!(same.family, AddressFamily::V4);
        assert_eq!(
            (same.port, same.load, same.allow_load),
            (Some(9000), to("a.test"), true)
        );
        let other = resumed(to("b.test"), Some(1));
        assert_eq!(
            (other.port, other.load, other.allow_load),
            (Some(1), to("b.test"), false)
        );
        // Of a run that says nothing of it, nothing is allowed.
        let older = RunOptions::default().as_begun(&json!({})).unwrap();
        assert!(!older.allow_load);
    }

    #[test]
    fn a_run_with_a_key_is_resumed_with_one() {
        let with_key = RunOptions {
            key: Some(Key::new(b"secret of the lab").unwrap()),
            ..RunOptions::default()
        };
        assert!(with_key.live(true).has_key && !with_key.live(false).has_key);
        let live = LiveOptions {
            has_key: true,
            ..LiveOptions::default()
        };
        let resumed = RunOptions::default().as_begun(&json!({ LIVE: live }));
        assert!(resumed.is_err_and(|why| why.to_string().contains("--key-file")));
    }
}
