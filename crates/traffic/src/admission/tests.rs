//! Each rule, and that they hold whatever comes.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::prefix::masked;
use delaylab_model::SECOND;
use proptest::prelude::*;

fn limits() -> Limits {
    Limits {
        places: Share {
            all: 12,
            network: 8,
            address: 5,
        },
        unproven: Share {
            all: 8,
            network: 6,
            address: 3,
        },
        prove_within: 10 * SECOND,
        grace: 0,
    }
}

fn from(network: u8, host: u8) -> IpAddr {
    IpAddr::from([10, 0, network, host])
}

/// Makes room until nobody has to give way any more.
fn enter(
    admission: &mut Admission<u32>,
    now: Nanos,
    from: IpAddr,
    id: u32,
) -> Result<Vec<u32>, Full> {
    let mut gave_way = Vec::new();
    while let Some(other) = admission.make_room(now, from)? {
        gave_way.push(other);
    }
    admission.enter(now, from, id);
    Ok(gave_way)
}

#[test]
fn the_oldest_of_an_address_gives_way_to_the_next_of_it() {
    let mut admission = Admission::new(limits());
    for id in 0..3 {
        assert_eq!(enter(&mut admission, id.into(), from(1, 1), id), Ok(vec![]));
    }
    assert_eq!(enter(&mut admission, 3, from(1, 1), 3), Ok(vec![0]));
    let mut patient = Admission::new(Limits {
        grace: SECOND,
        ..limits()
    });
    for id in 0..3 {
        enter(&mut patient, 0, from(1, 1), id).unwrap();
    }
    assert_eq!(enter(&mut patient, 1, from(1, 1), 3), Err(Full::Address));
    assert_eq!(enter(&mut patient, SECOND, from(1, 1), 3), Ok(vec![0]));
}

#[test]
fn idle_entrants_of_many_addresses_keep_nobody_out() {
    let mut admission = Admission::new(limits());
    for id in 0..80 {
        let _ = enter(&mut admission, 0, from(1, (id % 8) as u8), id);
    }
    assert_eq!(admission.len(), 6);
    // Another network holds less; an address of the same network that holds none, too.
    assert_eq!(enter(&mut admission, 1, from(2, 1), 100), Ok(vec![]));
    assert_eq!(enter(&mut admission, 1, from(1, 99), 101).unwrap().len(), 1);
    // Those that hold no more do not give way to each other, before their time is over.
    let mut patient = Admission::new(Limits {
        grace: SECOND,
        ..limits()
    });
    for id in 0..6 {
        enter(&mut patient, 0, from(1, id as u8), id).unwrap();
    }
    assert_eq!(enter(&mut patient, 2, from(1, 5), 102), Err(Full::Network));
    assert!(enter(&mut patient, 11 * SECOND, from(1, 5), 102).is_ok());
}

#[test]
fn who_has_proven_itself_stays() {
    let mut admission = Admission::new(limits());
    for id in 0..5 {
        enter(&mut admission, 0, from(1, 1), id).unwrap();
        admission.proven(id);
    }
    assert_eq!(
        enter(&mut admission, 99 * SECOND, from(1, 1), 9),
        Err(Full::Address)
    );
    for id in 5..8 {
        enter(&mut admission, 0, from(1, 2), id).unwrap();
        admission.proven(id);
    }
    assert_eq!(
        enter(&mut admission, 99 * SECOND, from(1, 3), 9),
        Err(Full::Network)
    );
    for id in 8..12 {
        enter(&mut admission, 0, from(2, 1), id).unwrap();
        admission.proven(id);
    }
    assert_eq!(
        enter(&mut admission, 99 * SECOND, from(3, 3), 99),
        Err(Full::All)
    );
    admission.leave(0);
    assert_eq!(
        enter(&mut admission, 99 * SECOND, from(3, 3), 99),
        Ok(vec![])
    );
}

#[test]
fn a_v6_host_has_one_address() {
    let address = |last: u128| IpAddr::from((0x2001_0db8_u128 << 96 | last).to_be_bytes());
    let mut admission = Admission::new(limits());
    for id in 0..9 {
        enter(&mut admission, 0, address(id.into()), id).unwrap();
    }
    assert_eq!(admission.len(), 3);
}

proptest! {
    /// Whatever comes: no limit is exceeded, who has proven itself keeps its place, and nobody gives way to
    /// one of a more crowded network before its time.
    #[test]
    fn the_rules_hold(
        steps in proptest::collection::vec((0u8..4, 0u8..4, 0u8..3, 0i64..SECOND), 1..200)
    ) {
        let limits = limits();
        let mut admission = Admission::new(limits);
        let mut now = 0;
        for (id, (network, host, action, pause)) in steps.into_iter().enumerate() {
            now += pause;
            let id = id as u32;
            let held_before = admission.entrants.clone();
            let entered = enter(&mut admission, now, from(network, host), id);
            for gone in held_before.iter().filter(|(id, _)| !admission.entrants.contains_key(id)) {
                prop_assert!(!gone.1.proven);
            }
            match action {
                0 => admission.proven(id),
                1 => admission.leave(id.saturating_sub(3)),
                _ => {}
            }
            let all = admission.count(|_| true);
            prop_assert!(all.all <= limits.places.all && all.unproven <= limits.unproven.all);
            for entrant in admission.entrants.values() {
                let network = admission.count(|other| other.network == entrant.network);
                let address = admission.count(|other| other.address == entrant.address);
                prop_assert!(network.all <= limits.places.network);
                prop_assert!(network.unproven <= limits.unproven.network);
                prop_assert!(address.all <= limits.places.address);
                prop_assert!(address.unproven <= limits.unproven.address);
            }
            // A network that holds nothing always gets in, unless all have proven themselves.
            let held_none = !held_before.values().any(|other| other.network == masked(from(network, host), 24));
            let some_idle = held_before.values().any(|other| !other.proven);
            if held_none && some_idle {
                let crowded = held_before.values().filter(|other| !other.proven).count();
                prop_assert!(entered.is_ok() || crowded == 0);
            }
        }
    }
}
