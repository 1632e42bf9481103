//! What is wanted of a run, beyond its experiment.

use crate::assignment::Assignment;
use crate::error::RunnerError;
use crate::target::{self, LoadChoice};
use delaylab_lab::run::StopMeans;
use delaylab_live::condition::Step;
use delaylab_model::family::Family;
use delaylab_model::method::Responder;
use delaylab_model::stop::Stop;
use delaylab_model::trial::Target;
use delaylab_wire::auth::Key;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::net::SocketAddr;
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
    pub family: Family,
    /// live: key shared with it.
    pub key: Option<Key>,
    /// live: the user said that load on another host is wanted.
    pub allow_load: bool,
    /// live: where load goes.
    pub load: LoadChoice,
    /// live: the addresses to which its packets went when the run began, of a run that is resumed.
    pub original_addresses: Addresses,
    /// live and testbed: the delaylab program. It answers as `delaylab reflect` where a run has no target, and messages name it
    /// where it lacks a privilege.
    pub program: Option<PathBuf>,
    /// live: watch for noise, which takes some of this host's time.
    pub watches_noise: bool,
    /// live: called before the first packet of a trial with how far the host is in its condition.
    pub on_condition: Option<fn(&[Step])>,
    /// sim: trials at the same time; `None`: one for each CPU.
    pub threads: Option<NonZeroUsize>,
    /// sim: carry out only these trials, and leave an unfinished run for [`shard::merge`](crate::shard::merge).
    pub share: Option<Assignment>,
    /// Ends it early.
    pub stop: Stop,
    /// What a stop makes of the run.
    pub stop_means: StopMeans,
    /// The words in which the run was asked for: `environment.json` has them.
    pub supplied: Vec<String>,
}

/// Where the packets of a live run go, but for the name of its target, and what was allowed: what `environment.json` keeps for a resume.
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
    /// Which of the target's addresses.
    #[serde(default)]
    family: Family,
    /// What its names stood for.
    #[serde(default)]
    addresses: Addresses,
    /// The run is what is recorded of it, whenever its process ends: no part of a ping is measured later.
    #[serde(default)]
    as_it_stands: bool,
}

/// Where the packets of a run go: its target's name may have other addresses later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Addresses {
    /// Probes; `None` where it is not known, or the run starts what answers them.
    pub target: Option<SocketAddr>,
    /// Load that goes to a server of its own.
    pub load: Option<SocketAddr>,
}

impl LiveOptions {
    /// Those with which the run of this `environment.json` was begun, where it says them.
    pub(crate) fn of_run(environment: &Value) -> Option<Self> {
        serde_json::from_value(environment[LIVE].clone()).ok()
    }

    /// Does the run reach this target over IPv6? One of a run that did not keep its address is resolved now.
    pub(crate) fn is_v6(&self, target: &str) -> bool {
        match self.addresses.target {
            Some(address) => address.is_ipv6(),
            None => target::is_v6(target, self.family),
        }
    }
}

impl RunOptions {
    /// What is kept of them for those who resume the run. A reflector of the run's own has no key: without a target only
    /// another host that takes load uses it.
    pub(crate) fn live(&self, has_target: bool, target: Option<Target>) -> LiveOptions {
        let is_apart = self.load.server.is_some();
        LiveOptions {
            addresses: Addresses {
                target: target
                    .filter(|_| has_target)
                    .map(|target| target.at(Responder::Echo)),
                load: target
                    .filter(|_| is_apart)
                    .map(|target| target.load.address),
            },
            port: self.port,
            load: self.load.clone(),
            allow_load: self.allow_load,
            has_key: (has_target || self.load.is_to_reflector()) && self.key.is_some(),
            family: self.family,
            as_it_stands: self.stop_means == StopMeans::Over,
        }
    }

    /// These options, and for what they leave open those with which the run of this `environment.json` was begun: packets go
    /// to the addresses to which they went, whatever the names stand for now. That load was allowed there is said of where it
    /// went, and of no other server.
    ///
    /// # Errors
    /// It was begun with a key, and there is none.
    pub(crate) fn filled_in_from(mut self, environment: &Value) -> Result<Self, RunnerError> {
        let Some(begun) = LiveOptions::of_run(environment) else {
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
        if self.family == Family::Any {
            self.family = begun.family;
        }
        self.original_addresses.target = begun.addresses.target;
        if self.load == LoadChoice::default() || self.load == begun.load {
            self.load = begun.load;
            self.allow_load |= begun.allow_load;
            self.original_addresses.load = begun.addresses.load;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::target::LoadServer;
    use delaylab_model::trial::{LoadTarget, Server};
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
            family: Family::V4,
            ..RunOptions::default()
        };
        let at = |address: &str| address.parse().unwrap();
        let load = LoadTarget {
            address: at("192.0.2.7:5201"),
            server: Server::Iperf3,
        };
        let target = Target::new(load, |_| at("192.0.2.1:9000"));
        let environment = json!({ LIVE: begun.live(true, Some(target)) });
        let resumed = |load, port| {
            let options = RunOptions {
                load,
                port,
                ..RunOptions::default()
            };
            options.filled_in_from(&environment).unwrap()
        };
        let same = resumed(LoadChoice::default(), None);
        assert_eq!(same.family, Family::V4);
        assert_eq!(
            (same.port, same.load, same.allow_load),
            (Some(9000), to("a.test"), true)
        );
        let went_to = |load| Addresses {
            target: Some(target.at(Responder::Echo)),
            load,
        };
        assert_eq!(same.original_addresses, went_to(Some(target.load.address)));
        let began = LiveOptions::of_run(&environment).unwrap();
        assert!(!began.is_v6("::1"), "it went to an address of IPv4");
        let other = resumed(to("b.test"), Some(1));
        assert_eq!(
            (other.port, other.load, other.allow_load),
            (Some(1), to("b.test"), false)
        );
        assert_eq!(other.original_addresses, went_to(None));
        // Of a run that says nothing of it, nothing is allowed.
        let older = RunOptions::default().filled_in_from(&json!({})).unwrap();
        assert!(!older.allow_load && older.original_addresses == Addresses::default());
    }

    #[test]
    fn a_run_with_a_key_is_resumed_with_one() {
        let mut with_key = RunOptions {
            key: Some(Key::new(b"secret of the lab").unwrap()),
            ..RunOptions::default()
        };
        assert!(with_key.live(true, None).has_key && !with_key.live(false, None).has_key);
        for (server, has_key) in [(Server::Reflector, true), (Server::Iperf3, false)] {
            with_key.load = to("a.test");
            with_key.load.server.as_mut().unwrap().server = server;
            assert_eq!(with_key.live(false, None).has_key, has_key);
        }
        let live = LiveOptions {
            has_key: true,
            ..LiveOptions::default()
        };
        let resumed = RunOptions::default().filled_in_from(&json!({ LIVE: live }));
        assert!(resumed.is_err_and(|why| why.to_string().contains("--key-file")));
    }
}
