//! What is built of what is written: where a node or a link says nothing, what is said of all of them.

use super::{ACCESS, Path, Switch};
use crate::host::HostCosts;
use crate::quantity::Rate;
use std::collections::BTreeMap;

/// A field that may be left out.
trait Optional: Clone {
    fn is_given(&self) -> bool;

    fn over(&self, base: &Self) -> Self {
        if self.is_given() { self } else { base }.clone()
    }
}

impl<T: Clone> Optional for Option<T> {
    fn is_given(&self) -> bool {
        self.is_some()
    }
}

impl<T: Clone> Optional for Vec<T> {
    fn is_given(&self) -> bool {
        !self.is_empty()
    }
}

impl<K: Clone, V: Clone> Optional for BTreeMap<K, V> {
    fn is_given(&self) -> bool {
        !self.is_empty()
    }
}

// Both name every field: one that is new and not in the list does not compile.

macro_rules! over {
    ($own:ident, $base:ident: $($field:ident)*) => {
        Self { $($field: $own.$field.over(&$base.$field),)* }
    };
}

macro_rules! given {
    ($own:ident, but $other:ident: $($field:ident)*) => {{
        let Self { $other: _, $($field,)* } = $own;
        [$((stringify!($field), $field.is_given()),)*]
    }};
}

impl Switch {
    /// What it says itself, and for the rest what `base` says.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        let own = self;
        over! { own, base:
            latency discipline buffer queue_buffer pool threshold alpha weights quantum burst shaper policer
            red codel near_empty pie dualpi2 cake credit explicit_rate erica crossbar flow_control
            packet_discard impair reset pause
        }
    }
}

impl Path {
    /// The rate of the link at this node, in bit/s: its own, or the path's.
    pub fn rate_at(&self, node: Option<&str>) -> Option<u64> {
        let own = self.link.iter().find(|link| {
            let ends = [link.from.as_str(), link.to.as_str()];
            node.is_some_and(|node| ends.contains(&node))
        });
        let named = [node.unwrap_or_default(), ACCESS].into_iter();
        let mut lines = named.filter_map(|name| self.line.get(name)?.rate);
        let rate = own.and_then(|link| link.rate).or(lines.next());
        let rate = rate.or(self.rate);
        rate.map(|Rate(rate)| rate)
    }

    /// What its simulated hosts cost: what is of all, and of those that say it themselves.
    pub fn host_costs(&self) -> impl Iterator<Item = &HostCosts> {
        let own = self.node.iter().filter_map(|node| node.host.as_ref());
        self.host.iter().chain(own)
    }

    /// The fields in use that say how to build a path. A world that has its path already honours
    /// none of them.
    pub fn to_be_built(&self) -> Vec<&'static str> {
        let path = self;
        let fields = given! { path, but target:
            topology pairs senders hops leaves spines hosts ports framing rate propagation line mtu
            shaper abr route queue remark switch host node link server
        };
        let used = fields.into_iter().filter(|(_, used)| *used);
        used.map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{Discipline, Topology};

    #[test]
    fn a_switch_says_what_differs() {
        let weights = |weight| BTreeMap::from([("ef".to_owned(), weight)]);
        let base = Switch {
            discipline: Some(Discipline::Wrr),
            weights: weights(1),
            ..Switch::default()
        };
        assert_eq!(Switch::default().over(&base), base);
        let own = Switch {
            discipline: Some(Discipline::Wfq),
            weights: weights(2),
            ..Switch::default()
        };
        assert_eq!(own.over(&base), own);
    }

    #[test]
    fn a_target_alone_is_nothing_to_build() {
        let mut path = Path {
            target: Some("there".to_owned()),
            ..Path::default()
        };
        assert!(path.to_be_built().is_empty());
        path.topology = Some(Topology::Chain);
        path.route.insert("ef".to_owned(), "way".to_owned());
        assert_eq!(path.to_be_built(), ["topology", "route"]);
    }
}
