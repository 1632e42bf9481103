//! Which stamps this host delivers, found by probing itself: a flag that the kernel accepts is not a
//! stamp that it delivers.

use super::Probing;
use super::error::RunError;
use crate::doctor::MethodStamps;
use crate::reflect::bind::Bound;
use crate::reflect::serve;
use delaylab_model::method::{Method, Responder};
use delaylab_model::probe::{HostCondition, Pacing, Probe, WaitMode};
use delaylab_model::record::Record;
use delaylab_model::stop::Stop;
use delaylab_model::trial::{Delivery, ProbeRun, RecordFacts, StampPoint};
use delaylab_model::world::Sink;
use delaylab_model::{MILLISECOND, SECOND};
use delaylab_traffic::reflector::{Access, Policy};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

/// Packets a method and family.
const PACKETS: u64 = 20;
/// Room for every stamp of every method.
const PAYLOAD: u32 = 84;

/// Probes this host by each method over each IP version, against a reflector of its own.
pub fn delivered() -> Vec<MethodStamps> {
    let loopbacks: [(&str, IpAddr); 2] = [
        ("IPv4", Ipv4Addr::LOCALHOST.into()),
        ("IPv6", Ipv6Addr::LOCALHOST.into()),
    ];
    loopbacks
        .into_iter()
        .flat_map(|(family, address)| match over(address) {
            Ok(found) => found
                .into_iter()
                .map(|(method, result)| stamps(method, family, result))
                .collect(),
            Err(error) => every_method(family, &error),
        })
        .collect()
}

fn stamps(
    method: Method,
    family: &str,
    result: Result<Vec<(StampPoint, Delivery)>, String>,
) -> MethodStamps {
    MethodStamps {
        method,
        family: family.to_owned(),
        result,
    }
}

fn every_method(family: &str, error: &str) -> Vec<MethodStamps> {
    ours()
        .map(|method| stamps(method, family, Err(error.to_owned())))
        .collect()
}

/// Methods that a reflector or a kernel answers: of servers of any make there is none here.
fn ours() -> impl Iterator<Item = Method> {
    Method::asking().filter(|method| !method.asks_server())
}

type Found = Vec<(Method, Result<Vec<(StampPoint, Delivery)>, String>)>;

fn over(address: IpAddr) -> Result<Found, String> {
    let mut bound = Bound::default();
    let echo = bound
        .open_echo(&[address], 0..=0)
        .map_err(|error| error.to_string())?;
    let stamp = bound
        .open_stamp(&[address], 0)
        .map_err(|error| error.to_string())?;
    let (Some(&echo), Some(&stamp)) = (echo.first(), stamp.first()) else {
        return Err("no address".to_owned());
    };
    let over = AtomicBool::new(false);
    let stop = || over.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        let policy = Policy::new(Access::Open { allow: Vec::new() });
        scope.spawn(|| serve(bound, policy, WaitMode::Block, &stop));
        let found = ours().map(|method| {
            let target = match method.responder() {
                Some(Responder::Stamp) => stamp,
                _ => echo,
            };
            (
                method,
                probe(method, target).map_err(|error| error.to_string()),
            )
        });
        let found = found.collect();
        over.store(true, Ordering::Relaxed);
        Ok(found)
    })
}

fn probe(method: Method, target: SocketAddr) -> Result<Vec<(StampPoint, Delivery)>, RunError> {
    let mut probe = Probe::new("selfcheck", method);
    probe.payload = PAYLOAD;
    probe.pacing = Pacing::Every {
        interval_ns: MILLISECOND,
    };
    probe.count = Some(PACKETS);
    probe.timeout = SECOND / 2;
    let run = ProbeRun {
        trial: 0,
        index: 0,
        target,
        probe,
        host: HostCondition::Normal,
        seed: 1,
    };
    let probing = Probing::new(None, Stop::default());
    Ok(probing.run(&run, &mut Nowhere)?.stamps)
}

/// The records are of no interest, only which stamps they have.
struct Nowhere;

impl Sink for Nowhere {
    fn begin(&mut self, _: u16, _: &RecordFacts) -> io::Result<()> {
        Ok(())
    }

    fn record(&mut self, _: &Record) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_method_over_ipv4_loopback_delivers_its_stamps() {
        use StampPoint::{RRx, RTx, RUser, TRx, TSched, TTx};
        let found = over(Ipv4Addr::LOCALHOST.into()).unwrap();
        for (method, result) in found {
            let wanted: &[StampPoint] = match method {
                Method::Icmp => &[TSched, TTx, TRx],
                _ => &[TSched, TTx, RRx, RUser, RTx, TRx],
            };
            let stamps = match result {
                Ok(stamps) => stamps,
                // Without privilege and outside ping_group_range icmp says so.
                Err(error) if method == Method::Icmp => {
                    assert!(error.contains("ping_group_range"), "{error}");
                    continue;
                }
                Err(error) => panic!("{method}: {error}"),
            };
            for &point in wanted {
                assert!(
                    stamps.contains(&(point, Delivery::Delivered)),
                    "{method}: {stamps:?}"
                );
            }
        }
    }
}
