//! Names of routers.

use delaylab_kernel::names;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The names that the resolver finds in time. It is asked for all of them at once.
pub fn look_up(addresses: &BTreeSet<IpAddr>, within: Duration) -> BTreeMap<IpAddr, String> {
    let (found, names) = mpsc::channel();
    for &address in addresses {
        let found = found.clone();
        // A resolver that does not answer keeps its thread; the process does not wait for it.
        std::thread::spawn(move || found.send((address, names::of_address(address))));
    }
    drop(found);
    let until = Instant::now() + within;
    let left = || until.saturating_duration_since(Instant::now());
    std::iter::from_fn(|| names.recv_timeout(left()).ok())
        .filter_map(|(address, name)| Some((address, name?)))
        .collect()
}
