//! Classes that do not arrive as they were sent: the DSCP that packets have at the reflector, and their replies here.
//!
//! A reflector that reports the DSCP of a request sends its reply with the same, so a reply that has another one was re-marked
//! on the way back. Where it reports none, the reply should have the class that the request was sent in; a server
//! chooses the class of its replies itself, so that nothing follows from it.

use delaylab_model::dscp::Dscp;
use delaylab_model::record::Record;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// Where a packet was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Leg {
    /// At the reflector.
    Out,
    /// The reply, here; the reflector had reported the class that the request had there.
    Back,
    /// The reply, here; the class that the request had there is not known.
    Both,
}

/// Packets of one class that arrived in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remarked {
    /// `out`: requests, at the reflector; `back`: replies, here; `both`: replies, of whose requests nothing is known.
    #[schemars(with = "String")]
    pub leg: Leg,
    /// DSCP with which they began.
    #[serde(serialize_with = "code_point")]
    #[schemars(with = "u8")]
    pub from: Dscp,
    /// DSCP with which they arrived.
    #[serde(serialize_with = "code_point")]
    #[schemars(with = "u8")]
    pub to: Dscp,
    /// How many.
    pub packets: u64,
    /// Of how many of that class.
    pub of: u64,
}

/// Programs read a class by its number.
fn code_point<S: Serializer>(class: &Dscp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u8(class.code_point())
}

/// For people: `ef (46) arrived as cs1 (8) in 200 of 200 packets`.
impl fmt::Display for Remarked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = [self.from, self.to].map(named);
        let (packets, of) = (self.packets, self.of);
        match self.leg {
            Leg::Out => write!(f, "{from} arrived as {to} in {packets} of {of} packets"),
            Leg::Back => write!(
                f,
                "replies in {from} arrived as {to} in {packets} of {of} packets"
            ),
            Leg::Both => write!(
                f,
                "replies to {from} arrived as {to} in {packets} of {of} packets: re-marked on the way, or the target \
                 answers in another class"
            ),
        }
    }
}

/// `ef (46)`; `46` where the code point has no name.
fn named(class: Dscp) -> String {
    let (name, number) = (class.to_string(), class.code_point().to_string());
    match name == number {
        true => name,
        false => format!("{name} ({number})"),
    }
}

/// Counts the classes in which packets arrive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remarks {
    /// By leg, class at its beginning and class at its end.
    seen: BTreeMap<(Leg, u8, u8), u64>,
}

impl Remarks {
    /// Takes a record.
    pub fn push(&mut self, record: &Record) {
        if let Some(there) = record.r_dscp {
            self.count(Leg::Out, record.dscp, there);
        }
        match (record.r_dscp, record.reply_dscp) {
            (Some(there), Some(here)) => self.count(Leg::Back, there, here),
            (None, Some(here)) if !record.method.asks_server() => {
                self.count(Leg::Both, record.dscp, here);
            }
            _ => {}
        }
    }

    /// Was the class of any packet known where a leg ends?
    pub fn is_known(&self) -> bool {
        !self.seen.is_empty()
    }

    fn count(&mut self, leg: Leg, from: u8, to: u8) {
        *self.seen.entry((leg, from, to)).or_default() += 1;
    }

    /// What was re-marked.
    pub fn found(&self) -> Vec<Remarked> {
        let of = |leg, from| {
            let same = self
                .seen
                .iter()
                .filter(|((l, f, _), _)| (*l, *f) == (leg, from));
            same.map(|(_, packets)| packets).sum()
        };
        let changed = self.seen.iter().filter(|((_, from, to), _)| from != to);
        let found = changed.filter_map(|(&(leg, from, to), &packets)| {
            Some(Remarked {
                leg,
                from: Dscp::new(from)?,
                to: Dscp::new(to)?,
                packets,
                of: of(leg, from),
            })
        });
        found.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::method::Method;

    fn found(method: Method, marks: &[(u8, Option<u8>, Option<u8>)]) -> Vec<String> {
        let mut remarks = Remarks::default();
        for &(sent, there, here) in marks {
            let mut record = Record::due(0, 0, 0, method, 0);
            (record.dscp, record.r_dscp, record.reply_dscp) = (sent, there, here);
            remarks.push(&record);
        }
        remarks.found().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_class_that_arrives_as_another_is_named() {
        assert!(found(Method::Udp, &[(46, Some(46), Some(46)), (46, None, None)]).is_empty());
        let out = [
            (46, Some(8), Some(8)),
            (46, Some(46), Some(46)),
            (46, Some(8), Some(8)),
        ];
        assert_eq!(
            found(Method::Udp, &out),
            ["ef (46) arrived as cs1 (8) in 2 of 3 packets"]
        );
        assert_eq!(
            found(Method::Udp, &[(46, Some(46), Some(0))]),
            ["replies in ef (46) arrived as be (0) in 1 of 1 packets"]
        );
    }

    #[test]
    fn of_a_reply_alone_less_is_known_and_of_a_servers_nothing() {
        let echo = found(Method::Icmp, &[(5, None, Some(0))]);
        assert!(
            echo[0].starts_with("replies to 5 arrived as be (0) in 1 of 1 packets"),
            "{echo:?}"
        );
        assert!(found(Method::TcpConnect, &[(46, None, Some(0))]).is_empty());
    }
}
