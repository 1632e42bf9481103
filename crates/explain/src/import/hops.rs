//! Hops on the way to a target: what routers do not answer is no loss of the path, so that they have to be told from the target.

use super::{Figure, Imported, ImportedStream};
use std::collections::BTreeMap;

/// Where on a way a stream's packets ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// How many hops from where they were sent.
    pub number: u64,
    /// Who sent them, where there are several.
    pub from: String,
    /// Where the way goes, as far as the file says it.
    pub to: String,
}

impl Hop {
    /// Of the only sender.
    pub fn new(number: u64, to: &str) -> Self {
        Self {
            number,
            from: String::new(),
            to: to.to_owned(),
        }
    }
}

impl Imported {
    /// Names of the streams that end at routers on the way, or behind the target.
    pub fn on_the_way(&self) -> Vec<&str> {
        // Of each route, the hops of each call: a further call begins with a nearer one.
        let mut routes: BTreeMap<[&str; 2], Vec<Vec<usize>>> = BTreeMap::new();
        for (at, stream) in self.streams.iter().enumerate() {
            if let Some(Hop { from, to, .. }) = &stream.hop {
                let calls = routes.entry([from, to]).or_default();
                let last = calls.last_mut().filter(|call| {
                    let farthest = call.last().map(|&at| number(&self.streams[at]));
                    farthest <= Some(number(stream))
                });
                match last {
                    Some(call) => call.push(at),
                    None => calls.push(vec![at]),
                }
            }
        }
        let mut names = Vec::new();
        let calls = routes
            .into_iter()
            .flat_map(|([_, to], calls)| calls.into_iter().map(move |call| (to, call)));
        for (to, streams) in calls {
            let target = self.target(to, &streams);
            let others = streams.iter().map(|&at| &self.streams[at]);
            let others = others.filter(|stream| number(stream) != target);
            names.extend(others.map(|stream| stream.name.as_str()));
        }
        names
    }

    /// The hop that is the target: the first one that has its address, and where the file has no address of it the last one that
    /// answered. mtr asks a few hops more at first; if one of these was asked as often, the target is there and never answered.
    fn target(&self, to: &str, streams: &[usize]) -> Option<u64> {
        let all = || streams.iter().map(|&at| (at, &self.streams[at]));
        let first_at = |address: &str| {
            let same = all().filter(|(_, stream)| stream.target == address);
            same.filter_map(|(_, stream)| number(stream)).min()
        };
        let by_address = Some(to).filter(|to| !to.is_empty()).and_then(first_at);
        if by_address.is_some() {
            return by_address;
        }
        let last = all().filter_map(|(_, stream)| number(stream)).max();
        let answered = all().filter(|(at, stream)| self.has_answered(*at, stream));
        let Some((at, nearest)) = answered.max_by_key(|(_, stream)| number(stream)) else {
            return last;
        };
        let enough = self.asked(at, nearest) / 2.0;
        let beyond = all().filter(|(_, stream)| number(stream) > number(nearest));
        let beyond = beyond.filter(|&(at, stream)| self.asked(at, stream) >= enough);
        let silent = beyond.filter_map(|(_, stream)| number(stream)).max();
        silent.or_else(|| match nearest.target.as_str() {
            "" | "???" => number(nearest),
            address => first_at(address),
        })
    }

    fn figure(&self, stream: usize, what: Figure) -> Option<f64> {
        let mut said = self.said.iter();
        let found = said.find(|said| said.stream == stream && said.what == what);
        found.map(|said| said.value)
    }

    fn asked(&self, at: usize, stream: &ImportedStream) -> f64 {
        let said = self.figure(at, Figure::Sent);
        said.unwrap_or(stream.records.len() as f64)
    }

    fn has_answered(&self, at: usize, stream: &ImportedStream) -> bool {
        let lost = self.figure(at, Figure::LossShare);
        stream.records.counts().answered() > 0 || lost.is_some_and(|lost| lost < 1.0)
    }
}

fn number(stream: &ImportedStream) -> Option<u64> {
    stream.hop.as_ref().map(|hop| hop.number)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::import;

    fn on_the_way(text: &str) -> Vec<String> {
        let imported = import::read(text.as_bytes(), None).unwrap();
        let names = imported.on_the_way().into_iter();
        names.map(str::to_owned).collect()
    }

    #[test]
    fn routers_are_all_but_the_target() {
        // mtr asked a third hop once, before it knew that the second one is the target.
        let mut raw = "x 0 1\nh 0 10.0.0.1\np 0 500 1\nx 1 2\nh 1 10.0.0.9\np 1 9000 2\n\
                       x 2 3\nh 2 10.0.0.9\np 2 9000 3\n"
            .to_owned();
        for seq in (4..60).step_by(2) {
            raw += &format!("x 0 {seq}\nx 1 {0}\np 1 9000 {0}\n", seq + 1);
        }
        assert_eq!(on_the_way(&raw), ["hop 1", "hop 3"]);
        // The only hop that answers is not the target, where the next one was asked as often.
        let silent = raw
            .replace("p 1 9000", "m 1 0")
            .replace("p 2 9000", "m 2 0");
        let silent = silent
            .replace("h 1 10.0.0.9\n", "")
            .replace("h 2 10.0.0.9\n", "");
        assert_eq!(on_the_way(&silent), ["hop 1", "hop 3"]);
        let trace = "traceroute to 10.0.0.9 (10.0.0.9), 30 hops max, 60 byte packets\n \
                     1  10.0.0.1  0.5 ms  0.4 ms  0.6 ms\n 2  * * *\n \
                     3  10.0.0.9  9.1 ms  9.2 ms  9.3 ms\n";
        let expected = ["hop 1 to 10.0.0.9", "hop 2 to 10.0.0.9"];
        assert_eq!(on_the_way(trace), expected);
        let ping = "64 bytes from 10.0.0.2: icmp_seq=1 ttl=57 time=10.5 ms\n";
        assert!(on_the_way(ping).is_empty());
    }

    /// Reports do not name their target, and ways get longer.
    #[test]
    fn each_report_has_its_target() {
        let report = |hops: u32| {
            let head = "Start: 2026-11-22T00:05:27+0000\nHOST: prober  Loss%   Snt   Last   Avg  Best  Wrst StDev\n";
            let hop =
                |hop| format!(" {hop:2}.|-- 10.77.{hop}.1  0.0%  10  0.1  0.1  0.1  0.1  0.0\n");
            head.to_owned() + &(1..=hops).map(hop).collect::<String>()
        };
        for [first, second] in [[2, 4], [4, 2]] {
            let routers = on_the_way(&(report(first) + &report(second))).len() as u32;
            assert_eq!(routers, first + second - 2);
        }
    }

    #[test]
    fn reports_of_mtr_have_routers() {
        let samples: [&str; 4] = [
            include_str!("../../tests/data/import/mtr.json"),
            include_str!("../../tests/data/import/mtr.csv"),
            include_str!("../../tests/data/import/mtr.xml"),
            include_str!("../../tests/data/import/mtr-report.txt"),
        ];
        for sample in samples {
            let names = on_the_way(sample);
            assert_eq!(names.len(), 1, "{names:?}");
            assert!(names[0].starts_with("hop 1"), "{names:?}");
        }
    }
}
