//! Who gets a place where there are only so many: connections, sessions.
//!
//! An entrant has proven nothing at first. It proves itself by what an idle or overheard peer cannot do, such
//! as a packet made with the keys of its own session, and its place is then its own. Places are limited by
//! address, by network (a /24, a /48 of IPv6) and in all. Where a limit is reached, the oldest entrant that
//! has proven nothing gives way, of whoever holds most: the most crowded network, and in one network
//! the most crowded address (one /64 of IPv6 counts as one address). So nobody keeps others out with
//! entrants that do nothing, and entrants of one network give way to each other first.
//!
//! It guarantees, whatever comes:
//!
//! - no limit is exceeded;
//! - who has proven itself never gives way;
//! - an entrant gives way only to one whose address or network holds less, to one of its own address, or
//!   once its time to prove itself is over.

use crate::prefix::{is_loopback, prefix_of};
use delaylab_model::Nanos;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Leading bits that addresses of one network have in common.
const NETWORK: (u8, u8) = (24, 48);
/// The same for what counts as one address.
const ADDRESS: (u8, u8) = (32, 64);

/// How many places there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// In all.
    pub all: usize,
    /// For one network.
    pub network: usize,
    /// For one address. Loopback has no such limit.
    pub address: usize,
}

impl Share {
    /// So many, and no limit for one network or address.
    pub const fn of_all(all: usize) -> Self {
        Self {
            all,
            network: all,
            address: all,
        }
    }
}

/// The limits of an [`Admission`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For all entrants.
    pub places: Share,
    /// For those that have proven nothing.
    pub unproven: Share,
    /// An entrant proves itself within so long, or gives way to anybody.
    pub prove_within: Nanos,
    /// An entrant does not give way to another of its own address before so long.
    pub grace: Nanos,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// This address has as many as it may.
    Address,
    /// Its network has.
    Network,
    /// All are taken.
    All,
}

/// One entrant.
#[derive(Debug, Clone, Copy)]
struct Entrant {
    address: u128,
    network: u128,
    since: Nanos,
    proven: bool,
}

/// Everybody who has a place, by an id of the caller's.
#[derive(Debug)]
pub struct Admission<Id> {
    limits: Limits,
    entrants: BTreeMap<Id, Entrant>,
}

/// How many entrants there are: of all kinds, and that have proven nothing.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    all: usize,
    unproven: usize,
}

impl Count {
    const fn reaches(self, all: usize, unproven: usize) -> bool {
        self.all >= all || self.unproven >= unproven
    }
}

impl<Id: Ord + Copy> Admission<Id> {
    /// Nobody yet.
    pub const fn new(limits: Limits) -> Self {
        Self {
            limits,
            entrants: BTreeMap::new(),
        }
    }

    /// How many have a place.
    pub fn len(&self) -> usize {
        self.entrants.len()
    }

    /// Has nobody a place?
    pub fn is_empty(&self) -> bool {
        self.entrants.is_empty()
    }

    /// Is there a place for one more from this address? Who gives way for it is forgotten and named: the
    /// caller ends it. May have to be called again until it names nobody.
    ///
    /// # Errors
    /// There is none, and nobody who would have to give way.
    pub fn make_room(&mut self, now: Nanos, from: IpAddr) -> Result<Option<Id>, Full> {
        let given_way = self.who_gives_way(now, from)?;
        if let Some(id) = given_way {
            self.entrants.remove(&id);
        }
        Ok(given_way)
    }

    /// Takes a place that [`Admission::make_room`] has found.
    pub fn enter(&mut self, now: Nanos, from: IpAddr, id: Id) {
        self.entrants.insert(id, entrant(now, from));
    }

    /// The oldest that has proven nothing is forgotten and named: what all share has run out.
    pub fn give_up_one(&mut self) -> Option<Id> {
        let id = self.oldest(|_| true)?;
        self.entrants.remove(&id);
        Some(id)
    }

    /// Forgets all that `keep` does not want.
    pub fn retain(&mut self, mut keep: impl FnMut(Id) -> bool) {
        self.entrants.retain(|id, _| keep(*id));
    }

    /// It has proven itself.
    pub fn proven(&mut self, id: Id) {
        if let Some(entrant) = self.entrants.get_mut(&id) {
            entrant.proven = true;
        }
    }

    /// It is gone.
    pub fn leave(&mut self, id: Id) {
        self.entrants.remove(&id);
    }

    fn count(&self, of: impl Fn(&Entrant) -> bool) -> Count {
        let matching = self.entrants.values().filter(|entrant| of(entrant));
        matching.fold(Count::default(), |count, entrant| Count {
            all: count.all + 1,
            unproven: count.unproven + usize::from(!entrant.proven),
        })
    }

    fn who_gives_way(&self, now: Nanos, from: IpAddr) -> Result<Option<Id>, Full> {
        let Limits {
            places, unproven, ..
        } = self.limits;
        let new = entrant(now, from);
        let its_address = self.count(|other| other.address == new.address);
        let its_network = self.count(|other| other.network == new.network);
        let all = self.count(|_| true);
        if !is_loopback(from) && its_address.reaches(places.address, unproven.address) {
            let grace = self.limits.grace;
            let old = |other: &Entrant| other.address == new.address && now - other.since >= grace;
            return self.oldest(old).map(Some).ok_or(Full::Address);
        }
        if its_network.reaches(places.network, unproven.network) {
            let victim = self.most_crowded(now, &new, |other| other.network == new.network);
            return victim.map(Some).ok_or(Full::Network);
        }
        if all.reaches(places.all, unproven.all) {
            let victim = self.most_crowded(now, &new, |_| true);
            return victim.map(Some).ok_or(Full::All);
        }
        Ok(None)
    }

    /// The oldest that has proven nothing.
    fn oldest(&self, of: impl Fn(&Entrant) -> bool) -> Option<Id> {
        let candidates = self
            .entrants
            .iter()
            .filter(|(_, entrant)| !entrant.proven && of(entrant));
        let oldest = candidates.min_by_key(|(id, entrant)| (entrant.since, **id));
        oldest.map(|(id, _)| *id)
    }

    /// The oldest that has proven nothing and whose time is over; else of those that hold more than the new
    /// one, or have its address.
    fn most_crowded(&self, now: Nanos, new: &Entrant, of: impl Fn(&Entrant) -> bool) -> Option<Id> {
        let late = |other: &Entrant| of(other) && now - other.since > self.limits.prove_within;
        if let Some(id) = self.oldest(late) {
            return Some(id);
        }
        let mut networks = BTreeMap::<u128, usize>::new();
        let mut addresses = BTreeMap::<u128, usize>::new();
        for entrant in self.entrants.values().filter(|entrant| !entrant.proven) {
            *networks.entry(entrant.network).or_default() += 1;
            *addresses.entry(entrant.address).or_default() += 1;
        }
        let held = |counts: &BTreeMap<u128, usize>, whose| counts.get(&whose).copied().unwrap_or(0);
        // Within one network addresses are compared, else networks: one with more than the newcomer has.
        let holds_more = |other: &Entrant| {
            if other.address == new.address {
                now - other.since >= self.limits.grace
            } else if other.network == new.network {
                held(&addresses, other.address) > held(&addresses, new.address)
            } else {
                held(&networks, other.network) > held(&networks, new.network)
            }
        };
        let crowd = |other: &Entrant| {
            (
                held(&networks, other.network),
                held(&addresses, other.address),
            )
        };
        let candidates = self
            .entrants
            .iter()
            .filter(|(_, entrant)| !entrant.proven && of(entrant) && holds_more(entrant));
        let victim = candidates
            .max_by_key(|(id, entrant)| (crowd(entrant), std::cmp::Reverse((entrant.since, **id))));
        victim.map(|(id, _)| *id)
    }
}

/// The network of an address, as a number: its /24, or its /48 of IPv6.
pub(crate) fn network_of(address: IpAddr) -> u128 {
    prefix_of(address, NETWORK)
}

fn entrant(now: Nanos, from: IpAddr) -> Entrant {
    Entrant {
        address: prefix_of(from, ADDRESS),
        network: network_of(from),
        since: now,
        proven: false,
    }
}

#[cfg(test)]
mod tests;
